"""Policies side by side on the same pools of changes, each as a ratio to the oracle."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.policy import QueuePolicy
from mergebot.services.simulation.baselines import batches, oracle, prefix_window, serial
from mergebot.services.simulation.engine import Ledger
from mergebot.services.simulation.measuring import FIELDS, Measures, Ratio, average, measure, ratio
from mergebot.services.simulation.production import production, trusting
from mergebot.services.simulation.world import Change, Conditions, World, draw

ORACLE = "oracle"
MERGEBOT = "mergebot"
BATCH = 8
"""Of the fixed batches that the planner is compared with, where its own have no fixed size."""

Play = Callable[[World], Ledger]


@dataclass(frozen=True, slots=True)
class Played:
    """One policy on every pool, and its ratios to the oracle on the same pools."""

    name: str
    pools: tuple[Measures, ...]
    ratios: Mapping[str, Ratio]

    def mean(self, field: str) -> float:
        """Return one measure's mean over the pools."""
        return average(self.pools, field)


def policies(conditions: Conditions, queue: QueuePolicy) -> dict[str, Play]:
    """Return the planner under `queue` and what it is compared with, by name."""
    depth = queue.window or max(2, 2 * conditions.workers)
    size = queue.batch if queue.batch > 1 else BATCH
    unseen: dict[str, Play] = {"cores unseen": lambda world: trusting(world, queue)}
    return {
        ORACLE: lambda world: oracle(world.again()),
        MERGEBOT: lambda world: production(world, queue),
        **(unseen if conditions.at_once < conditions.workers else {}),
        f"prefix window of {depth}": lambda world: prefix_window(world, depth),
        f"batches of {size}": lambda world: batches(world, size),
        "serial": serial,
    }


def worlds(pools: Sequence[Sequence[Change]], conditions: Conditions, seed: int) -> Iterator[World]:
    """Yield one drawn world for each pool."""
    for number, changes in enumerate(pools):
        yield draw(changes, conditions, seed + 1_000 * (number + 1))


def compare(
    drawn: Sequence[World], plays: Mapping[str, Play], tell: Callable[[str, int], None]
) -> tuple[Played, ...]:
    """Play every policy on every world; `tell` hears which is played, and how many pools are done."""
    found: dict[str, list[Measures]] = {name: [] for name in plays}
    for number, world in enumerate(drawn):
        for name, play in plays.items():
            tell(name, number)
            found[name].append(measure(world, play(world)))
    against = found[ORACLE]
    return tuple(
        Played(name, tuple(pools), _ratios(pools, against)) for name, pools in found.items()
    )


def paired(policy: Played, against: Played, field: str) -> Ratio:
    """Return the ratio of two policies on the same pools."""
    pairs = zip(policy.pools, against.pools, strict=True)
    return ratio([(getattr(one, field), getattr(other, field)) for one, other in pairs])


def _ratios(pools: Sequence[Measures], against: Sequence[Measures]) -> dict[str, Ratio]:
    pairs = list(zip(pools, against, strict=True))
    return {
        field: ratio([(getattr(one, field), getattr(other, field)) for one, other in pairs])
        for field in FIELDS
    }
