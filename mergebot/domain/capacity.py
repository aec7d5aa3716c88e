"""How many slots count: gates that share cores are no faster than fewer that do not.

A gate asks for as many cores as it would keep busy with nobody beside it, which its runs tell: a
build that computes asks for one or more, and one that sleeps or waits for a network for hardly any.
As many gates as the cores of a host give room for run at once, at least one and at most its slots.
Nothing is concluded from a few runs, nor about a host that does not say how many cores it has.

    two cores, four slots, gates that ask for 1.0 core each: two slots count
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from mergebot.domain.wording import count, listed

SAMPLES = 9
"""Newest runs that a judgement rests on: enough that one odd run moves nothing."""

SAMPLES_MIN = 3
"""Runs before anything is concluded."""

SLACK = 0.75
"""How far the room must be from the number in force to change it: above 0.5, so that it rests."""


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores that the processes of a host may use: `count` of them, on the host called `host`.

    Workers with the same `key` share them.
    """

    key: str
    host: str
    count: float


UNKNOWN_CORES = Cores("", "", 0.0)


@dataclass(frozen=True, slots=True)
class Use:
    """What a step used: CPU seconds of its whole process tree, and the seconds that it took.

    In `alone_s` seconds it would have been done with as many cores as it could use.
    """

    cpu_s: float
    wall_s: float
    alone_s: float


@dataclass(frozen=True, slots=True)
class Host:
    """A worker host: its slots, its cores (0.0 where unknown), and what recent gates asked for."""

    key: str
    name: str
    slots: int
    cores: float = 0.0
    asks: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many gates slots were announced for, and how many count; `why` where those differ."""

    announced: int
    counted: int
    why: str = ""

    @property
    def shared(self) -> bool:
        """Tell whether slots share cores."""
        return self.counted < self.announced

    @property
    def text(self) -> str:
        """Return `why`, or what is to be said where every slot counts."""
        if self.why:
            return self.why[0].upper() + self.why[1:] + "."
        return f"{count(self.announced, 'gate slot')}, and no sign that cores are shared."


def asked(uses: Sequence[Use], stepped_s: float, waited_s: float) -> float | None:
    """Return the cores that a gate asked for, None where none of its steps tells.

    Its steps took `stepped_s` together, some at once perhaps; then it waited for others.
    """
    cpu_s = sum(each.cpu_s for each in uses)
    wall_s = sum(each.wall_s for each in uses)
    if wall_s <= 0.0:
        return None
    share = sum(each.alone_s for each in uses) / wall_s
    alone_s = min(stepped_s, wall_s) * share + waited_s
    return cpu_s / alone_s if alone_s > 0.0 else None


def room(host: Host, before: int | None) -> int:
    """Return how many gates at once the host has cores for; `before` is what it had room for."""
    if host.cores <= 0.0 or len(host.asks) < SAMPLES_MIN:
        return host.slots
    asks = median(host.asks[:SAMPLES])
    fits = host.cores / asks if asks > 0.0 else float(host.slots)
    fits = min(max(fits, 1.0), float(max(host.slots, 1)))
    if before is not None and before <= host.slots and abs(fits - before) < SLACK:
        return before
    return min(int(fits + 0.5), host.slots)


def rooms(hosts: Sequence[Host], before: Mapping[str, int]) -> dict[str, int]:
    """Return what every host has room for, by its key."""
    return {each.key: room(each, before.get(each.key)) for each in hosts}


def capacity(hosts: Sequence[Host], before: Mapping[str, int], announced: int) -> Capacity:
    """Return how many of the `announced` slots count, with the evidence in a sentence."""
    found = rooms(hosts, before)
    tight = [each for each in hosts if found[each.key] < each.slots]
    lost = sum(each.slots - found[each.key] for each in tight)
    if not lost:
        return Capacity(announced, announced)
    counted = max(announced - lost, 1)
    told = listed(tuple(_told(each) for each in tight))
    return Capacity(announced, counted, f"{counted} of {announced} slots count: {told}")


def _told(host: Host) -> str:
    asks = median(host.asks[:SAMPLES])
    cores = "1 core" if host.cores == 1.0 else f"{host.cores:g} cores"
    runs = min(len(host.asks), SAMPLES)
    return (
        f"the last {runs} gates on {host.name} could use {asks:.1f} cores each, and it has {cores}"
    )
