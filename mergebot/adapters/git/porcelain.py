"""What `git push --porcelain` says became of each ref, and what that means for a landing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from mergebot.adapters.git.command import one_line
from mergebot.adapters.git.process import Answer

_STALE = re.compile(
    r"stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|"
    r"unable to lock|incorrect old value|reference already exists|needs force|remote ref updated",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"(?P<what>\[[^\]]*\]|\S+)(?: \((?P<why>.*)\))?")


class Fate(IntEnum):
    """What became of one ref: DONE, its lease lost, denied by the server, or refused for others."""

    DONE = 0
    STALE = 1
    DENIED = 2
    BYSTANDER = 3
    UNKNOWN = 4


@dataclass(frozen=True, slots=True)
class RefResult:
    """One ref's fate, and the server's words where it was denied."""

    fate: Fate
    why: str


UNKNOWN = RefResult(Fate.UNKNOWN, "")


def parse(answer: Answer) -> Mapping[str, RefResult]:
    """Return the result of each ref by its full name on the remote."""
    rows = [line.split("\t") for line in answer.out.decode("utf-8", "replace").split("\n")]
    found = [row for row in rows if len(row) == 3 and len(row[0]) == 1]  # noqa: PLR2004 - flag, refs, summary
    return {pair.rpartition(":")[2]: _result(flag, text) for flag, pair, text in found}


def _result(flag: str, summary: str) -> RefResult:
    if flag != "!":
        return RefResult(Fate.DONE, "")
    match = _SUMMARY.fullmatch(summary)
    what, why = (match["what"], match["why"] or "") if match else ("", summary)
    if "rejected" not in what:
        return UNKNOWN
    if "atomic" in why:
        return RefResult(Fate.BYSTANDER, why)
    if _STALE.search(why):
        return RefResult(Fate.STALE, why)
    return RefResult(Fate.DENIED, why) if what == "[remote rejected]" else UNKNOWN


def refusal(answer: Answer, result: RefResult) -> str:
    """Return what the server said about a push that it denied, and its word for the ref."""
    said = (line.removeprefix("remote:").strip() for line in _remote_lines(answer.err))
    text = " ".join(line.removeprefix("error: ") for line in said if line)
    return f"{one_line(text)} ({result.why})" if text else result.why


def _remote_lines(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.startswith("remote:")]
