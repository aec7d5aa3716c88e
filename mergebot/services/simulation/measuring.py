"""What a simulation is measured by: turnaround, time to a no, throughput and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import fmean, stdev

from mergebot.services.simulation.engine import Ledger
from mergebot.services.simulation.world import World

Z95 = 1.96


@dataclass(frozen=True, slots=True)
class Measures:
    """One policy on one pool. Times are in seconds, from arrival; gate time is per landing.

    `waits` are the turnarounds of all that landed, shortest first.
    """

    mean_s: float
    p50_s: float
    p95_s: float
    no_s: float
    landings_per_hour: float
    gate_s_per_landing: float
    drained_s: float
    landed: int
    refused: int
    waits: tuple[float, ...]


FIELDS = (
    "mean_s",
    "p50_s",
    "p95_s",
    "no_s",
    "landings_per_hour",
    "gate_s_per_landing",
    "drained_s",
)


@dataclass(frozen=True, slots=True)
class Ratio:
    """The mean of paired ratios over pools, and half the width of its 95 % interval."""

    mean: float
    within: float


def measure(world: World, ledger: Ledger) -> Measures:
    """Return what a ledger says."""
    arrives = [each.arrives_s for each in world.changes]
    waits = sorted(at - arrives[change] for change, at in ledger.landed.items())
    noes = [at - arrives[change] for change, at in ledger.refused.items()]
    drained = max(ledger.landed.values(), default=0.0) - min(arrives, default=0.0)
    count = len(waits)
    return Measures(
        mean_s=fmean(waits) if waits else 0.0,
        p50_s=quantile(waits, 0.5),
        p95_s=quantile(waits, 0.95),
        no_s=fmean(noes) if noes else 0.0,
        landings_per_hour=3600.0 * count / drained if drained else 0.0,
        gate_s_per_landing=ledger.busy_s / count if count else 0.0,
        drained_s=drained,
        landed=count,
        refused=len(noes),
        waits=tuple(waits),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the ordered values lie, by nearest rank."""
    if not ordered:
        return 0.0
    return ordered[max(ceil(share * len(ordered)), 1) - 1]


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Return the mean ratio of paired values; pairs without a denominator are left out."""
    found = [value / against for value, against in pairs if against]
    if not found:
        return Ratio(0.0, 0.0)
    spread = stdev(found) if len(found) > 1 else 0.0
    return Ratio(fmean(found), Z95 * spread / sqrt(len(found)))


def average(pools: Sequence[Measures], field: str) -> float:
    """Return the mean of one measure over pools."""
    return fmean(getattr(each, field) for each in pools) if pools else 0.0
