"""Checks of others on a commit: what the repository's own CI says about a merged commit.

A check is known by who reports it and by its name; every producer of a required name has to be
green. Of one producer only the newest run counts, so a re-run under way is waited for. What was
cancelled says nothing: somebody may run it again until the time is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mergebot.domain.gate import ExternalChecks

COMMAND = "external check"
"""What stands for the command of a check that others run."""


class Outcome(StrEnum):
    """What a check says now."""

    WAITING = "waiting"
    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckSeen:
    """A report on a commit; of two of one producer the one with the higher `id` is newer."""

    producer: str
    name: str
    id: int
    outcome: Outcome
    url: str = ""


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


def judge(required: ExternalChecks, seen: Sequence[CheckSeen]) -> Awaited | AllGreen | OneRed:
    """Return what the reports on one commit amount to."""
    newest: dict[tuple[str, str], CheckSeen] = {}
    for check in sorted(seen, key=lambda each: each.id):
        newest[check.producer, check.name] = check
    silent: list[str] = []
    pending: list[str] = []
    for name in required.checks:
        reports = [each for each in newest.values() if each.name == name]
        red = next((each for each in reports if _red(each, required)), None)
        if red is not None:
            return OneRed(red)
        if not reports:
            silent.append(name)
        elif not all(_green(each, required) for each in reports):
            pending.append(name)
    if silent or pending:
        return Awaited(tuple(silent), tuple(pending))
    return AllGreen()


def _green(check: CheckSeen, required: ExternalChecks) -> bool:
    skipped = check.outcome is Outcome.SKIPPED and check.name in required.skippable
    return skipped or check.outcome is Outcome.PASSED


def _red(check: CheckSeen, required: ExternalChecks) -> bool:
    skipped = check.outcome is Outcome.SKIPPED and check.name not in required.skippable
    return skipped or check.outcome in {Outcome.FAILED, Outcome.TIMED_OUT}
