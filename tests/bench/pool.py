"""A live pool at load 0.6: sixty changes that arrive one by one, eight workers, gates of 2 s.

Each turnaround runs from the label to the moment at which the trunk holds the change. The oracle
plays the same arrivals and outcomes on simulated time; it knows them all, and nothing costs it time.
"""

import random
from collections.abc import Iterator, Sequence
from time import monotonic

from mergebot.domain.policy import QueuePolicy
from mergebot.services.simulation import traces
from mergebot.services.simulation.baselines import oracle
from mergebot.services.simulation.measuring import Measures, quantile
from mergebot.services.simulation.measuring import measure as measures_of
from mergebot.services.simulation.production import production
from mergebot.services.simulation.world import Conditions, World
from tests.bench.fleet import LABEL, LAND_S, Fleet, check_landed, gate_of, git, make_fleet
from tests.bench.report import Row, at_most
from tests.bench.stack import Stack, stack, wait

SEED = 60
COUNT = 60
BROKEN = 3
CONDITIONS = Conditions(workers=8, gate_s=2.0, landing_s=0.0)
LOAD = 0.6
LOOK_S = 0.02


def measure() -> Iterator[Row]:
    """Measure turnarounds of the whole product, and set them beside the oracle's."""
    world = _world()
    known = measures_of(world, oracle(world.again()))
    alone = measures_of(world, production(world, QueuePolicy()))
    broken = [place for place, bad in enumerate(world.bad) if bad]
    with stack() as running:
        gate = gate_of(CONDITIONS.gate_s)
        fleet = make_fleet(running, "pool", gate, count=COUNT, broken=broken)
        running.bot([fleet.repo], workers=CONDITIONS.workers)
        waits = sorted(_play(running, fleet, [each.arrives_s for each in world.changes]))
        check_landed(running, fleet)
    yield from _rows(waits, known, alone)


def _world() -> World:
    dice = random.Random(SEED)  # a benchmark, no secret
    bad = set(dice.sample(range(COUNT), BROKEN))
    drawn = traces.apart(traces.poisson(COUNT, SEED))
    return World(
        changes=traces.paced(drawn, traces.Load(LOAD), CONDITIONS),
        conditions=CONDITIONS,
        seconds=[CONDITIONS.gate_s] * COUNT,
        bad=[place in bad for place in range(COUNT)],
        stops=[1.0] * COUNT,
        clashes=[frozenset()] * COUNT,
        seed=SEED,
    )


def _play(running: Stack, fleet: Fleet, arrivals: Sequence[float]) -> list[float]:
    """Label each pull request when its time has come; return the turnarounds of what landed."""
    since, begun = fleet.tip, monotonic()
    labelled: dict[str, float] = {}
    landed: dict[str, float] = {}
    left = list(enumerate(arrivals))
    seen = [since]

    def look() -> bool:
        now = monotonic() - begun
        if (tip := fleet.tip) != seen[-1]:
            titles = git(fleet.bare, "log", "--first-parent", "--format=%s", f"{seen[-1]}..{tip}")
            landed.update({title.partition(" (#")[0]: now for title in titles.splitlines()})
            seen.append(tip)
        if left and now >= left[0][1]:
            place, _ = left.pop(0)
            labelled[f"Change change-{place}"] = now
            running.hub.add_label(fleet.repo, running.owner, fleet.pulls[place], LABEL)
        return len(landed) == len(fleet.pulls) - len(fleet.broken)

    wait(look, "the last landing", within_s=LAND_S, every_s=LOOK_S)
    return [at - labelled[title] for title, at in landed.items()]


def _rows(waits: Sequence[float], known: Measures, alone: Measures) -> Iterator[Row]:
    mean_s, p95_s = sum(waits) / len(waits), quantile(waits, 0.95)
    took = f"seed {SEED}: {mean_s:.2f} s, the oracle {known.mean_s:.2f} s"
    told = f"{took}; the planner on simulated time {alone.mean_s / known.mean_s:.2f}"
    what = "8 workers, load 0.6, live"
    yield Row("pool", f"{what}: mean / oracle", mean_s / known.mean_s, "x", at_most(1.1), told)
    took = f"{p95_s:.2f} s, the oracle {known.p95_s:.2f} s"
    told = f"{took}; on simulated time {alone.p95_s / known.p95_s:.2f}"
    yield Row("pool", f"{what}: p95 / oracle", p95_s / known.p95_s, "x", at_most(1.35), told)
