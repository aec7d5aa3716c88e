"""Checks of others on a commit: what the repository's own CI says about a merged commit.

A check is known by who reports it and by its name; every producer of a required name has to be
green. Where a pin says who reports it, nobody else's word counts; where none does, the word of the
change's own author does not. Of one producer only the newest run counts, so a re-run under way is
waited for. What was cancelled says nothing: somebody may run it again until the time is over.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mergebot.domain.branch_rules import BranchRules
from mergebot.domain.gate import ExternalChecks
from mergebot.domain.ids import Actor

COMMAND = "external check"
"""What stands for the command of a check that others run."""

FORGES_CI = "github-actions"
"""It runs what the repository holds, and opens changes for it: the one App that may do both."""


class Outcome(StrEnum):
    """What a check says now."""

    WAITING = "waiting"
    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class App:
    """A GitHub App that reports; `id` is 0 where the forge does not tell its number."""

    slug: str
    id: int


@dataclass(frozen=True, slots=True)
class Account:
    """A person's or machine's account that reports."""

    login: str
    id: int


@dataclass(frozen=True, slots=True)
class CheckSeen:
    """A report on a commit; of two of one producer the one with the higher `id` is newer.

    `by` is whose report it is, None where the forge does not say.
    """

    producer: str
    name: str
    id: int
    outcome: Outcome
    url: str = ""
    by: App | Account | None = None


@dataclass(frozen=True, slots=True)
class Awaited:
    """Nothing is decided: `silent` checks were never reported, `pending` ones not to their end."""

    silent: tuple[str, ...]
    pending: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllGreen:
    """Every required check passed, or was skipped where that is allowed."""


@dataclass(frozen=True, slots=True)
class OneRed:
    """A required check failed."""

    check: CheckSeen


def demanded(external: ExternalChecks, rules: BranchRules) -> ExternalChecks:
    """Return the checks with the pins of the forge's own rules beside those of the file."""
    pinned = [each for each in rules.pins if each.check in external.checks]
    return replace(external, pins=tuple(dict.fromkeys((*external.pins, *pinned))))


def judge(
    required: ExternalChecks, seen: Sequence[CheckSeen], *, authors: Collection[Actor] = ()
) -> Awaited | AllGreen | OneRed:
    """Return what the reports on one commit of a change by `authors` amount to."""
    newest = _newest(seen)
    silent: list[str] = []
    pending: list[str] = []
    for name in required.checks:
        for reports in _heard(required, name, newest, authors):
            red = next((each for each in reports if _red(each, required)), None)
            if red is not None:
                return OneRed(red)
            if not reports:
                silent.append(name)
            elif not all(_green(each, required) for each in reports):
                pending.append(name)
    if silent or pending:
        return Awaited(tuple(dict.fromkeys(silent)), tuple(dict.fromkeys(pending)))
    return AllGreen()


def unheard(
    required: ExternalChecks, seen: Sequence[CheckSeen], *, authors: Collection[Actor] = ()
) -> tuple[CheckSeen, ...]:
    """Return the newest reports under required names that count for nothing, by who made them."""
    newest = [each for each in _newest(seen) if each.name in required.checks]
    return tuple(each for each in newest if not _counts(required, each, authors))


def red_check(seen: Sequence[CheckSeen]) -> str:
    """Return the name of a check whose newest run is red, "" where none is."""
    red = (
        each.name for each in _newest(seen) if each.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
    )
    return next(red, "")


def awaited_from(required: ExternalChecks, check: str) -> str:
    """Return from whom a check is awaited, in words, "" where anybody may report it."""
    return " and ".join(_producer(each) for each in required.producers(check))


def _newest(seen: Sequence[CheckSeen]) -> list[CheckSeen]:
    newest: dict[tuple[str, str], CheckSeen] = {}
    for check in sorted(seen, key=lambda each: each.id):
        newest[check.producer, check.name] = check
    return list(newest.values())


def _heard(
    required: ExternalChecks, name: str, newest: Sequence[CheckSeen], authors: Collection[Actor]
) -> Iterator[list[CheckSeen]]:
    """Yield the reports that count, those of each pinned producer by themselves."""
    named = [each for each in newest if each.name == name]
    producers = required.producers(name)
    for producer in producers:
        yield [each for each in named if _is(each.by, producer)]
    if not producers:
        yield [each for each in named if not _own_word(each, authors)]


def _counts(required: ExternalChecks, check: CheckSeen, authors: Collection[Actor]) -> bool:
    producers = required.producers(check.name)
    if producers:
        return any(_is(check.by, each) for each in producers)
    return not _own_word(check, authors)


def _own_word(check: CheckSeen, authors: Collection[Actor]) -> bool:
    """Tell whether an author vouches for the own change."""
    match check.by:
        case Account(id=number):
            return number in {each.id for each in authors}
        case App(slug) if slug != FORGES_CI:
            return f"{slug}[bot]" in {each.login for each in authors}
        case _:
            return False


def _is(by: App | Account | None, producer: str) -> bool:
    match by:
        case App(_, number) if producer.isdecimal():
            return number == int(producer)
        case App(slug):
            return slug.casefold() == producer.casefold()
        case Account(login):
            return f"@{login}".casefold() == producer.casefold()
        case None:
            return False


def _producer(producer: str) -> str:
    return f"`{producer}`" if producer.startswith("@") else f"the App `{producer}`"


def _green(check: CheckSeen, required: ExternalChecks) -> bool:
    skipped = check.outcome is Outcome.SKIPPED and check.name in required.skippable
    return skipped or check.outcome is Outcome.PASSED


def _red(check: CheckSeen, required: ExternalChecks) -> bool:
    skipped = check.outcome is Outcome.SKIPPED and check.name not in required.skippable
    return skipped or check.outcome in {Outcome.FAILED, Outcome.TIMED_OUT}
