"""A queue's own past played again, with another number of workers.

Every change comes when it came and ends as it ended; what differs is how many gates run at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from mergebot.domain.policy import QueuePolicy
from mergebot.services.simulation.measuring import Measures, measure
from mergebot.services.simulation.production import production
from mergebot.services.simulation.world import Change, Conditions, World

LANDING_S = 1.0
"""A push and what is read before it: gates are what takes time."""

GATE_S_MIN = 1.0


@dataclass(frozen=True, slots=True)
class Past:
    """A change as it was: when it was queued, how long its last gate ran, and whether that was red."""

    at: float
    gate_s: float
    red: bool
    paths: tuple[str, ...]


def play_all(
    past: Sequence[Past], numbers: Sequence[int], queue: QueuePolicy
) -> Mapping[int, Measures]:
    """Return what each of these numbers of workers makes of the same changes."""
    return {number: play_again(past, number, queue) for number in numbers}


def play_again(past: Sequence[Past], workers: int, queue: QueuePolicy) -> Measures:
    """Return what the planner makes of these changes with so many workers, under these rules."""
    ordered = sorted(past, key=lambda each: each.at)
    usual_s = _usual_s(ordered)
    first = ordered[0].at if ordered else 0.0
    conditions = Conditions(workers=workers, gate_s=usual_s, landing_s=LANDING_S)
    world = World(
        changes=[Change(each.at - first, frozenset(each.paths)) for each in ordered],
        conditions=conditions,
        seconds=[usual_s if each.red else max(each.gate_s, GATE_S_MIN) for each in ordered],
        bad=[each.red for each in ordered],
        stops=[min(max(each.gate_s / usual_s, 0.01), 1.0) for each in ordered],
        clashes=[frozenset[int]() for _ in ordered],
        seed=0,
    )
    return measure(world, production(world, queue))


def _usual_s(past: Sequence[Past]) -> float:
    """Return what a green gate takes: a red one stops at some step."""
    green = [each.gate_s for each in past if not each.red]
    known = green or [each.gate_s for each in past]
    return max(median(known) if known else 0.0, GATE_S_MIN)
