"""Commands in comments: `@mergebot queue`, `/mergebot halt the deploy is broken`, and so on.

Only the first line of a comment counts, and only where the command starts it: a quoted reply, a
code block or a mention in the middle of a sentence asks for nothing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from mergebot.domain.limits import CLAIM_PATTERNS_MAX
from mergebot.domain.names import shown
from mergebot.domain.patterns import PatternFault, parse

REASON_CHARS_MAX = 300


class Plain(StrEnum):
    """Commands that take nothing after them."""

    QUEUE = "queue"
    CANCEL = "cancel"
    HOLD = "hold"
    UNHOLD = "unhold"
    STATUS = "status"
    EXPLAIN = "explain"
    UNPARK = "unpark"
    RELEASE = "release"


class Stance(StrEnum):
    """What an owner says to a contract that changed."""

    AGREE = "agree"
    DECLINE = "decline"
    REVALIDATE = "revalidate"
    REOPEN = "reopen"


@dataclass(frozen=True, slots=True)
class Retry:
    """Open the next attempt; the same head needs a reason, and it may be empty here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Halt:
    """Stop all landings."""

    reason: str


@dataclass(frozen=True, slots=True)
class Resume:
    """End a halt; the reason may be empty."""

    reason: str


@dataclass(frozen=True, slots=True)
class ExtendClaim:
    """Add patterns to the PR's claim."""

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Park:
    """Keep the PR's claim while nobody works on it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An owner's word on a contract."""

    stance: Stance
    contract: str


@dataclass(frozen=True, slots=True)
class NoCommand:
    """The comment asks for nothing."""


@dataclass(frozen=True, slots=True)
class CommandFault:
    """The comment is meant for the bot but says nothing it knows; one sentence for the author."""

    sentence: str


Command = Plain | Retry | Halt | Resume | ExtendClaim | Park | Answer

_CONTRACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_WORD = re.compile(r'"([^"]*)"(?!\S)|`([^`]+)`(?!\S)|(\S+)')
_LINE = re.compile(r"\r\n|\n|\r")


def parse_commands(text: str, handle: str) -> Command | NoCommand | CommandFault:
    """Return what the first line of a comment asks of the bot called `handle`; never raises."""
    line = _LINE.split(text, maxsplit=1)[0]
    called = re.match(
        rf" {{0,3}}(?:@{re.escape(handle)}(?:\[bot\])?|/mergebot)(?:[:,]?\s+|[:,]?$)",
        line,
        re.IGNORECASE,
    )
    if called is None:
        return NoCommand()
    verb, rest = (*line[called.end() :].split(maxsplit=1), "", "")[:2]
    rest = rest.strip()
    read = _VERBS.get(verb.lower())
    if read is not None:
        return read(rest)
    if not verb:
        return CommandFault(f"A command is missing; the commands are {_listed()}.")
    close = get_close_matches(verb[:40].lower(), list(_VERBS), n=1)
    hint = f", perhaps {close[0]} is meant" if close else ""
    return CommandFault(f"{shown(verb, 40)} is no command{hint}; the commands are {_listed()}.")


def _listed() -> str:
    return ", ".join(_VERBS)


def _plain(verb: Plain) -> Callable[[str], Command | CommandFault]:
    def read(rest: str) -> Command | CommandFault:
        if not rest:
            return verb
        return CommandFault(f"{verb} takes nothing after it, and {shown(rest)} follows.")

    return read


def _reasoned(
    make: Callable[[str], Command], *, needed_by: str = ""
) -> Callable[[str], Command | CommandFault]:
    def read(rest: str) -> Command | CommandFault:
        reason = " ".join("".join(c for c in rest if c.isprintable()).split())
        if not reason and needed_by:
            return CommandFault(f"{needed_by} needs a reason after it: {needed_by} <reason>.")
        if len(reason) > REASON_CHARS_MAX:
            return CommandFault(
                f"The reason has {len(reason)} characters; at most {REASON_CHARS_MAX} are allowed."
            )
        return make(reason)

    return read


def _extend(rest: str) -> Command | CommandFault:
    words = ["".join(one) for one in _WORD.findall(rest)]
    patterns = tuple(dict.fromkeys(words))
    if not 0 < len(patterns) <= CLAIM_PATTERNS_MAX:
        return CommandFault(
            f"claim needs 1 to {CLAIM_PATTERNS_MAX} patterns after it, and {len(patterns)} follow."
        )
    faults = [fault.sentence for fault in map(parse, patterns) if isinstance(fault, PatternFault)]
    return CommandFault(" ".join(faults)) if faults else ExtendClaim(patterns)


def _answer(stance: Stance) -> Callable[[str], Command | CommandFault]:
    def read(rest: str) -> Command | CommandFault:
        if _CONTRACT.fullmatch(rest):
            return Answer(stance, rest)
        what = f"{shown(rest)} follows" if rest else "nothing follows"
        return CommandFault(f"{stance} needs the name of one contract after it, and {what}.")

    return read


_VERBS: Mapping[str, Callable[[str], Command | CommandFault]] = {
    "queue": _plain(Plain.QUEUE),
    "cancel": _plain(Plain.CANCEL),
    "retry": _reasoned(Retry),
    "hold": _plain(Plain.HOLD),
    "unhold": _plain(Plain.UNHOLD),
    "status": _plain(Plain.STATUS),
    "explain": _plain(Plain.EXPLAIN),
    "halt": _reasoned(Halt, needed_by="halt"),
    "resume": _reasoned(Resume),
    "claim": _extend,
    "park": _reasoned(Park, needed_by="park"),
    "unpark": _plain(Plain.UNPARK),
    "release": _plain(Plain.RELEASE),
    "agree": _answer(Stance.AGREE),
    "decline": _answer(Stance.DECLINE),
    "revalidate": _answer(Stance.REVALIDATE),
    "reopen": _answer(Stance.REOPEN),
}
