"""In which order the steps of a gate run, and which may run at once.

Where no step says what it needs, each waits for the one before it. Where one does, a step starts
as soon as those that it needs are done. `order = "fail-first"` puts in front what is likeliest to
fail for the time it takes, and never a step before one that it needs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.gate import Step

QUICK_S = 0.1
"""Steps that take less are alike: what is measured there is noise."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a step passed and failed."""

    passes: int = 0
    failures: int = 0

    @property
    def risk(self) -> float:
        """Return how likely it fails, one half for a step that nobody knows."""
        return (self.failures + 1) / (self.passes + self.failures + 2)


@dataclass(frozen=True, slots=True)
class Agenda:
    """The steps in the order they should start, and what each waits for."""

    steps: tuple[Step, ...]
    needs: Mapping[str, frozenset[str]]

    @property
    def parallel(self) -> bool:
        """Tell whether two steps may ever run at once."""
        return any(len(self.before(each.name)) < at for at, each in enumerate(self.steps))

    def startable(self, done: Collection[str], running: Collection[str]) -> list[Step]:
        """Return the steps that may start now."""
        return [
            each
            for each in self.steps
            if each.name not in done
            and each.name not in running
            and self.needs[each.name].issubset(done)
        ]

    def before(self, name: str) -> frozenset[str]:
        """Return every step that has to be done before this one."""
        found: set[str] = set()
        ahead = list(self.needs[name])
        while ahead:
            each = ahead.pop()
            if each not in found:
                found.add(each)
                ahead += self.needs[each]
        return frozenset(found)


def agenda(steps: Sequence[Step]) -> Agenda:
    """Return what waits for what, of steps in the order that they should start."""
    if any(each.needs for each in steps):
        return Agenda(tuple(steps), {each.name: frozenset(each.needs) for each in steps})
    names = [each.name for each in steps]
    needs = {name: frozenset(names[at - 1 : at] if at else ()) for at, name in enumerate(names)}
    return Agenda(tuple(steps), needs)


def fail_first(
    steps: Sequence[Step], tallies: Mapping[str, Tally], usual_s: Mapping[str, float]
) -> tuple[Step, ...]:
    """Return the steps by how likely they fail for the time they take, each after its needs."""

    def gain(step: Step) -> float:
        return tallies.get(step.name, Tally()).risk / max(usual_s.get(step.name, 1.0), QUICK_S)

    left, ordered = list(steps), []
    placed: set[str] = set()
    while left:
        able = [each for each in left if placed.issuperset(each.needs)] or left
        best = max(able, key=gain)
        left.remove(best)
        ordered.append(best)
        placed.add(best.name)
    return tuple(ordered)
