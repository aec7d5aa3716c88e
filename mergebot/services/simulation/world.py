"""The world of a simulation: who arrives when, what is wrong with it, and how long its gate takes.

Everything is drawn before the first policy starts, so all policies see the same arrivals, gate
times and outcomes. Commits are numbers: a node is a change on top of another node.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log, sqrt

GATE_CV = 0.15
"""Spread of gate times around their mean, as a coefficient of variation."""

CLASH_REACH = 40
"""How far back a change can clash with another that shares a file with it."""

ROOT = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request of a trace: when it arrives, in seconds, and the files that it touches."""

    arrives_s: float
    paths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conditions:
    """How the simulated world behaves.

    `fail` is the share of changes that are bad, `clash` the share of file-overlapping pairs that
    cannot both land, `flake` the share of runs that fail for nothing. A failing run stops between
    the two shares of its time in `stops`. `rerun` is what finished steps cost again: 1.0 all. Gates
    compute, and share `cores` where more of them run; 0 is a core for each worker. `foreseen` is the
    share of the bad changes, and of the good ones, that were red before, as the planner knows.
    """

    workers: int = 8
    gate_s: float = 600.0
    landing_s: float = 6.0
    fail: float = 0.05
    clash: float = 0.0
    flake: float = 0.0
    rerun: float = 1.0
    stops: tuple[float, float] = (0.3, 1.0)
    cores: int = 0
    foreseen: tuple[float, float] = (0.0, 0.0)

    @property
    def at_once(self) -> int:
        """Return how many gates run at once without slowing each other down."""
        return min(self.workers, self.cores or self.workers)


@dataclass(frozen=True, slots=True)
class Node:
    """A commit: `change` on top of `parent`; `stop` is the share at which its gate fails."""

    parent: int
    change: int
    bad: bool
    stop: float
    clashing: frozenset[int]


NOTHING = Node(-1, -1, bad=False, stop=1.0, clashing=frozenset())


@dataclass(slots=True)
class World:
    """The drawn world of one pool of changes, and the commits that a policy made in it."""

    changes: Sequence[Change]
    conditions: Conditions
    seconds: list[float]
    bad: list[bool]
    stops: list[float]
    clashes: list[frozenset[int]]
    seed: int
    nodes: list[Node] = field(default_factory=lambda: [NOTHING])
    made: dict[tuple[int, int], int] = field(default_factory=dict)

    def on(self, base: int, change: int) -> int:
        """Return the node of a change on top of `base`; the same each time."""
        known = self.made.get((base, change))
        if known is not None:
            return known
        parent = self.nodes[base]
        rivals = self.clashes[change]
        bad = self.bad[change] or bool(rivals and rivals & parent.clashing)
        stop = min(parent.stop, self.stops[change]) if bad else parent.stop
        clashing = parent.clashing | {change} if rivals else parent.clashing
        self.nodes.append(Node(base, change, bad or parent.bad, stop, clashing))
        self.made[base, change] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def risky(self) -> frozenset[int]:
        """Return the changes that were red before."""
        dice = random.Random(self.seed + 2)  # noqa: S311  # a simulation, no secret
        bad, good = self.conditions.foreseen
        drawn = [(change, dice.random()) for change in range(len(self.bad))]
        return frozenset(
            change for change, roll in drawn if roll < (bad if self.bad[change] else good)
        )

    def flakes(self) -> random.Random:
        """Return the dice that say which runs fail for nothing."""
        return random.Random(self.seed + 1)  # noqa: S311  # a simulation, no secret

    def again(self) -> "World":
        """Return the same world for another policy, with no commits in it."""
        return World(
            self.changes,
            self.conditions,
            self.seconds,
            self.bad,
            self.stops,
            self.clashes,
            self.seed,
        )


def draw(changes: Sequence[Change], conditions: Conditions, seed: int) -> World:
    """Return the world that `seed` gives for these changes."""
    dice = random.Random(seed)  # noqa: S311  # a simulation, no secret
    sigma = sqrt(log(1 + GATE_CV**2))
    mean = log(conditions.gate_s) - sigma**2 / 2
    seconds = [exp(dice.gauss(mean, sigma)) for _ in changes]
    bad = [dice.random() < conditions.fail for _ in changes]
    stops = [dice.uniform(*conditions.stops) for _ in changes]
    clashes = _clashes(changes, conditions.clash, dice)
    return World(changes, conditions, seconds, bad, stops, clashes, seed)


def _clashes(changes: Sequence[Change], share: float, dice: random.Random) -> list[frozenset[int]]:
    """Return, for each change, the others with which it cannot both land."""
    found: list[set[int]] = [set() for _ in changes]
    if not share:
        return [frozenset() for _ in changes]
    for place, change in enumerate(changes):
        for before in range(max(0, place - CLASH_REACH), place):
            if dice.random() < share and change.paths & changes[before].paths:
                found[place].add(before)
                found[before].add(place)
    return [frozenset(each) for each in found]
