"""Arrivals for a simulation: read from a trace of a real queue, or drawn."""

import csv
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mergebot.ports.errors import Refused
from mergebot.services.simulation.world import Change, Conditions

COLUMNS = ("push_last", "merge", "files")
SHARED_PATHS = 10
"""Drawn changes touch one of so many files, so a tenth of their pairs overlap."""


@dataclass(frozen=True, slots=True)
class AsRecorded:
    """Keep the times of the trace."""


@dataclass(frozen=True, slots=True)
class Load:
    """Stretch the times so that the workers are busy for this share of the time."""

    share: float


Pace = AsRecorded | Load


def read_trace(lines: Iterable[str], name: str) -> tuple[Change, ...]:
    """Return a trace's changes by arrival, which is when their last commit was made.

    Raises Refused with one sentence that names the line and what is wrong with it.
    """
    rows = csv.DictReader(lines, strict=True)
    found: list[Change] = []
    try:
        missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
        if missing:
            raise Refused(
                f"{name} is no trace: its first line lacks the column {missing[0]} "
                f"(needed are {', '.join(COLUMNS)})."
            )
        found.extend(_change(row, f"{name}, line {rows.line_num}") for row in rows)
    except csv.Error as error:
        raise Refused(f"{name}, line {rows.reader.line_num}: {error}.") from None
    if not found:
        raise Refused(f"{name} holds no changes; a trace has one line for each.")
    return tuple(sorted(found, key=lambda each: each.arrives_s))


def _change(row: dict[str, str | None], where: str) -> Change:
    text = row["push_last"] or row["merge"] or ""
    try:
        at = float(text)
    except ValueError:
        raise Refused(f"{where}: push_last is {text[:40]!r}, not a time in seconds.") from None
    if not 0 <= at < 1e12:  # noqa: PLR2004  # seconds since 1970, not milliseconds, and no NaN
        raise Refused(f"{where}: push_last is {text[:40]!r}, not a time in seconds since 1970.")
    return Change(at, frozenset(filter(None, (row["files"] or "").split("|"))))


def poisson(count: int, seed: int) -> tuple[Change, ...]:
    """Return drawn changes, one a second on average; each touches one file of a few."""
    dice = random.Random(seed)  # noqa: S311  # a simulation, no secret
    at = 0.0
    found = []
    for _ in range(count):
        at += dice.expovariate(1.0)
        found.append(Change(at, frozenset({f"file-{dice.randrange(SHARED_PATHS)}"})))
    return tuple(found)


def burst(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the same changes, all arriving at once."""
    return tuple(Change(0.0, each.paths) for each in changes)


def apart(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the same changes, each touching a file of its own."""
    return tuple(
        Change(each.arrives_s, frozenset({f"own-{place}"})) for place, each in enumerate(changes)
    )


def busiest(changes: Sequence[Change], within_s: float) -> tuple[Change, ...]:
    """Return the changes of the span of `within_s` seconds in which most arrive."""
    best, start = (0, 0), 0
    for end, each in enumerate(changes):
        while each.arrives_s - changes[start].arrives_s > within_s:
            start += 1
        best = max(best, (end - start + 1, -start))
    count, first = best[0], -best[1]
    return tuple(changes[first : first + count])


def pool(changes: Sequence[Change], count: int, *, number: int, of: int) -> tuple[Change, ...]:
    """Return `count` consecutive changes; pools 0 to `of` - 1 are spread over the whole trace."""
    last = max(len(changes) - count, 0)
    start = last * number // max(of - 1, 1)
    return tuple(changes[start : start + count])


def paced(changes: Sequence[Change], pace: Pace, conditions: Conditions) -> tuple[Change, ...]:
    """Return the changes starting at 0 and stretched to the load that is asked for."""
    if not changes:
        return ()
    first = changes[0].arrives_s
    span = changes[-1].arrives_s - first
    stretch = 1.0
    if isinstance(pace, Load) and span > 0:
        needed = (len(changes) - 1) * conditions.gate_s / (conditions.at_once * pace.share)
        stretch = needed / span
    return tuple(Change((each.arrives_s - first) * stretch, each.paths) for each in changes)
