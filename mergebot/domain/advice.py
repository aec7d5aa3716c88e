"""Advice on how many should work at once, computed from what the queue has seen.

It is advice with its evidence, bounded to a few plain rules, and claims no optimum. From a few
changes nothing follows, so nothing is said.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from mergebot.domain.wording import count, duration

COLLISIONS_HIGH = 0.1
"""Of the attempts to claim: above it, workers wait for each other more than they gain."""

BACKLOG_MIN = 5
"""Queued changes below which a rate says nothing."""

ATTEMPTS_MIN = 5
"""Attempts to claim below which a share says nothing."""

SEEN_MIN = 5
"""Changes that arrived, and landed, below which their rates say nothing."""

CROWD_MIN = 3
"""Open pull requests that change one path before it is worth splitting: two are a coincidence."""

GROWTH = 1.1
"""How much more must arrive than lands before that counts as a trend."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What was seen in the last `hours`; `p95_s` are the queue's ages in windows, oldest first.

    `crowded` is the path that most open pull requests change, and how many.
    """

    hours: float
    arrived: int
    landed: int
    queued: int
    claimed: int
    collisions: int
    p95_s: tuple[float, ...]
    hottest: tuple[str, ...]
    free: int
    crowded: tuple[str, int] = ("", 0)

    @property
    def collision_rate(self) -> float:
        """Return the share of attempts to claim that met somebody else's claim."""
        attempts = self.claimed + self.collisions
        return self.collisions / attempts if attempts else 0.0


@dataclass(frozen=True, slots=True)
class Advice:
    """One suggestion and what it rests on."""

    text: str
    evidence: str


def advise(seen: Telemetry) -> list[Advice]:
    """Return what the numbers suggest; nothing where too little was seen to suggest anything."""
    found = [*_growing(seen), *_colliding(seen), *_crowded(seen)]
    if found or seen.arrived < SEEN_MIN or seen.landed < SEEN_MIN:
        return found
    found.extend(_idle(seen))
    return found or [Advice("Nothing here suggests another number of workers.", _rates(seen))]


def _growing(seen: Telemetry) -> list[Advice]:
    rising = len(seen.p95_s) >= 3 and _rises(seen.p95_s[-3:])  # noqa: PLR2004 - three windows in a row
    outrun = seen.queued >= BACKLOG_MIN and seen.arrived > GROWTH * max(seen.landed, 1)
    if not (rising or outrun):
        return []
    evidence = _rates(seen)
    if rising:
        ages = ", ".join(duration(each) for each in seen.p95_s[-3:])
        evidence += f"; 95 % of changes landed within {ages} in three windows in a row"
    text = "Fewer workers, or a faster gate: more arrives than can land."
    return [Advice(text, evidence)]


def _colliding(seen: Telemetry) -> list[Advice]:
    attempts = seen.claimed + seen.collisions
    if attempts < ATTEMPTS_MIN or seen.collision_rate <= COLLISIONS_HIGH:
        return []
    where = f" Split {', '.join(seen.hottest[:3])} first." if seen.hottest else ""
    evidence = (
        f"{seen.collisions} of {count(attempts, 'attempt')} to claim met somebody else's claim "
        f"in {seen.hours:g} h"
    )
    text = f"Fewer workers on the same files, or one who implements while others explore.{where}"
    return [Advice(text, evidence)]


def _crowded(seen: Telemetry) -> list[Advice]:
    path, pulls = seen.crowded
    if pulls < CROWD_MIN:
        return []
    evidence = f"{count(pulls, 'open pull request')} change it, and they land one after the other"
    return [Advice(f"Split {path}, or let one of them go first.", evidence)]


def _idle(seen: Telemetry) -> list[Advice]:
    room = seen.landed > GROWTH * seen.arrived or not seen.queued
    if not room or seen.queued >= BACKLOG_MIN or not seen.free:
        return []
    evidence = f"{_rates(seen)}; {count(seen.free, 'place')} of the pool free"
    return [Advice("There is room for more workers.", evidence)]


def _rises(values: Sequence[float]) -> bool:
    return all(early < late for early, late in itertools.pairwise(values))


def _rates(seen: Telemetry) -> str:
    return (
        f"{seen.arrived} arrived and {seen.landed} landed in {seen.hours:g} h, "
        f"{seen.queued} wait now"
    )
