"""The planner on simulated time, against an oracle that knows every outcome, and plain policies.

Nothing here runs a gate: arrivals, gate times and outcomes are drawn from seeds, so a row says the
same on every machine. Only the cost of a tick is measured.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

from mergebot.domain.candidate import Candidate
from mergebot.domain.decision import Decision
from mergebot.domain.ids import Sha
from mergebot.domain.lane import Red, Rules, Snapshot
from mergebot.domain.planning import plan
from mergebot.domain.policy import Hedging, QueuePolicy
from mergebot.domain.settling import settle
from mergebot.services.simulation import measuring, traces
from mergebot.services.simulation.baselines import (
    batches,
    group_chain,
    oracle,
    prefix_window,
    serial,
)
from mergebot.services.simulation.engine import Ledger
from mergebot.services.simulation.measuring import Measures, Ratio, ratio
from mergebot.services.simulation.production import production
from mergebot.services.simulation.world import Change, Conditions, World, draw
from tests.bench.report import Row, at_most
from tests.support.builders import NOW, POLICY, TIP, candidate, gating, sha, snapshot

PART = "policies"
POOLS = 30
CHANGES = 200
EACH = QueuePolicy()
GROUPS = QueuePolicy(batch=0)
FORESEEN = (0.8, 0.02)
TRACES = Path(os.environ.get("MERGEBOT_TRACES", "../shared/data"))
REAL = ("gastown_agents", "cargo_bors", "nova_zuul")
LEVERS = Conditions(rerun=0.4, stops=(0.05, 0.4))
PLAYS: dict[str, Callable[[World], Ledger]] = {
    "oracle": lambda world: oracle(world.again()),
    "each": lambda world: production(world, EACH),
    "groups": lambda world: production(world, GROUPS),
    "each, idle": lambda world: production(world, replace(EACH, hedge=Hedging.IDLE)),
    "groups, risky": lambda world: production(world, replace(GROUPS, hedge=Hedging.RISKY)),
    "window": lambda world: prefix_window(world, 2 * world.conditions.workers),
    "batches": lambda world: batches(world, 8),
    "group chain": lambda world: group_chain(world, 4),
    "serial": serial,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid: the world, the load (0: all at once), and where arrivals come from."""

    conditions: Conditions = field(default_factory=Conditions)
    load: float = 0.6
    trace: str = ""
    pools: int = POOLS
    changes: int = CHANGES

    @property
    def name(self) -> str:
        """Return what tells it from the others."""
        world = self.conditions
        parts = [f"{world.workers} workers", f"{world.fail:.0%} failing", f"load {self.load:g}"]
        parts += [f"gate {world.gate_s:g} s"] if world.gate_s != Conditions().gate_s else []
        parts += [f"clash {world.clash:.0%}"] if world.clash else []
        return ", ".join([*parts, *filter(None, [self.trace])])


Found = dict[str, list[Measures]]


def measure_cell(cell: Cell, names: Sequence[str]) -> Found:
    """Play the policies on every pool of a cell; the seeds are the numbers of the pools."""
    found: Found = {name: [] for name in names}
    for seed in range(cell.pools):
        world = draw(arrivals(cell, seed), cell.conditions, seed + 1000)
        for name in names:
            found[name].append(measuring.measure(world, PLAYS[name](world)))
    return found


def arrivals(cell: Cell, seed: int) -> tuple[Change, ...]:
    """Return the changes of one pool; drawn ones share files only where some of them clash."""
    if cell.trace:
        whole = trace(cell.trace)
        changes = traces.pool(whole, cell.changes, number=seed, of=cell.pools)
    else:
        changes = traces.poisson(cell.changes, seed)
        changes = changes if cell.conditions.clash else traces.apart(changes)
    return traces.paced(changes, traces.Load(cell.load), cell.conditions)


def trace(name: str) -> tuple[Change, ...]:
    """Return a real queue's changes."""
    with (TRACES / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return traces.read_trace(lines, name)


def against(found: Found, one: str, other: str, what: str = "mean_s") -> Ratio:
    """Return the mean over pools of the ratio of two policies."""
    pairs = zip(found[one], found[other], strict=True)
    return ratio([(getattr(left, what), getattr(right, what)) for left, right in pairs])


def pooled_p95_s(found: Found, name: str) -> float:
    """Return the 95th percentile of the turnarounds of all pools together."""
    return measuring.quantile(sorted(wait for each in found[name] for wait in each.waits), 0.95)


def row(what: str, seen: Ratio, limit: float, note: str = "") -> Row:
    """Return a row for a ratio, with the half width of its 95 % interval in the note."""
    within = f"±{seen.within:.2f}, {POOLS} pools of {CHANGES}"
    return Row(PART, what, seen.mean, "x", at_most(limit), "; ".join(filter(None, [within, note])))


def measure() -> Iterator[Row]:
    """Yield every row in the order of the issue's table."""
    yield from _at_moderate_load()
    yield from _at_high_load()
    yield from _bursts()
    yield from _grid()
    yield from _ticks()


def _at_moderate_load() -> Iterator[Row]:
    found = measure_cell(Cell(), ["oracle", "each", "groups"])
    for how in ("each", "groups"):
        told = f"load 0.6, {'batch = 1' if how == 'each' else 'groups on'}"
        yield row(f"{told}: mean / oracle", against(found, how, "oracle"), 1.10)
        yield row(f"{told}: p95 / oracle", against(found, how, "oracle", "p95_s"), 1.35)
        cost = against(found, how, "oracle", "gate_s_per_landing")
        yield row(f"{told}: gate minutes a landing / oracle", cost, 1.10)
    yield from _hedged()
    levers = measure_cell(Cell(LEVERS), ["oracle", "each"])
    note = "finished steps cost 40 % again, failing gates stop in their first 5 to 40 %"
    seen = against(levers, "each", "oracle", "p95_s")
    yield row("load 0.6, batch = 1, with the levers: p95 / oracle", seen, 1.05, note)


def _hedged() -> Iterator[Row]:
    known = "80 % of the bad changes and 2 % of the good ones were red before"
    for how, told, foreseen, note in (
        ("each, idle", "load 0.6, batch = 1, idle slots hedge", (0.0, 0.0), "nothing is foreseen"),
        ("groups, risky", "load 0.6, groups on, risky ones hedged", FORESEEN, known),
    ):
        found = measure_cell(Cell(Conditions(foreseen=foreseen)), ["oracle", how])
        yield row(f"{told}: mean / oracle", against(found, how, "oracle"), 1.10, note)
        yield row(f"{told}: p95 / oracle", against(found, how, "oracle", "p95_s"), 1.20, note)
        cost = against(found, how, "oracle", "gate_s_per_landing")
        off = "hedges are off unless the rules switch them on"
        yield row(f"{told}: gate minutes a landing / oracle", cost, 1.10, off)


def _at_high_load() -> Iterator[Row]:
    names = ["oracle", "groups", "window"]
    found = measure_cell(Cell(load=0.9), names)
    seen = against(found, "groups", "oracle", "p95_s")
    yield row("load 0.9, groups on: p95 / oracle", seen, 1.25)
    seen = against(found, "groups", "window", "p95_s")
    why = "pools of 200 end before the window's queue is long; see the next rows"
    yield row("load 0.9, groups on: p95 / prefix window", seen, 0.7, why)
    pooled = pooled_p95_s(found, "groups") / pooled_p95_s(found, "window")
    note = f"one p95 of all changes of {POOLS} pools of {CHANGES}"
    yield Row(PART, "the same, all pools taken as one", pooled, "x", at_most(0.7), note)
    longer = measure_cell(Cell(load=0.9, pools=6, changes=900), names)
    seen = against(longer, "groups", "window", "p95_s")
    note = f"±{seen.within:.2f}, 6 pools of 900"
    yield Row(PART, "the same in longer pools", seen.mean, "x", at_most(0.7), note)
    levers = measure_cell(Cell(LEVERS, load=0.9), ["oracle", "groups"])
    seen = against(levers, "groups", "oracle", "p95_s")
    yield row("load 0.9, groups on, with the levers: p95 / oracle", seen, 0.95)


def _bursts() -> Iterator[Row]:
    if TRACES.is_dir():
        changes = traces.burst(traces.busiest(trace("gastown_agents"), 3600.0))
        found: Found = {name: [] for name in ("groups", "window", "serial")}
        for seed in range(POOLS):
            world = draw(changes, Conditions(gate_s=900.0), seed + 1000)
            for name, measures in found.items():
                measures.append(measuring.measure(world, PLAYS[name](world)))
        what = f"the fleet's busiest hour, {len(changes)} at once"
        seen = against(found, "groups", "window", "drained_s")
        yield row(f"{what}: time / prefix window", seen, 0.8)
        yield row(f"{what}: time / serial", against(found, "groups", "serial", "drained_s"), 0.125)
    lone = Conditions(workers=1, gate_s=2.0, landing_s=0.1, fail=0.0)
    for bad, limit in ((-1, 2), (9, 8)):
        world = draw(traces.apart(traces.burst(traces.poisson(20, 1))), lone, 1)
        world.bad[:] = [place == bad for place in range(20)]
        landed_s = max(production(world, GROUPS).landed.values())
        what = "twenty at once, one worker, groups on" + (", one failing" if bad >= 0 else "")
        yield Row(PART, f"{what}: last landing", landed_s / lone.gate_s, "gates", at_most(limit))


def grid() -> list[Cell]:
    """Return the cells: workers by load, failures by load, gate times, clashes, real traces."""
    cells = [
        Cell(Conditions(workers=workers), load)
        for workers in (1, 2, 4, 8, 16)
        for load in (0.3, 0.6, 0.9, 1.5)
    ]
    cells += [
        Cell(Conditions(fail=fail), load) for fail in (0.01, 0.15) for load in (0.3, 0.6, 0.9, 1.5)
    ]
    cells += [
        Cell(Conditions(gate_s=gate_s, landing_s=landing_s), load)
        for gate_s, landing_s in ((10.0, 0.2), (3600.0, 6.0))
        for load in (0.6, 0.9)
    ]
    cells += [Cell(Conditions(clash=0.02), load) for load in (0.6, 0.9)]
    if TRACES.is_dir():
        clashing = Conditions(clash=0.02)
        cells += [Cell(clashing, load, trace=name) for name in REAL for load in (0.6, 0.9)]
    return cells


def _grid() -> Iterator[Row]:
    cells = grid()
    with ProcessPoolExecutor(os.cpu_count()) as workers:
        every = list(workers.map(_worse, cells))
    ranked = sorted(zip(every, cells, strict=True), key=lambda pair: -pair[0][0].mean)
    (worst, rival), cell = ranked[0]
    what = f"grid of {len(cells)} cells, worst mean / the better of window and groups"
    yield row(what, worst, 1.05, f"{cell.name}, against the {rival}")
    for (seen, rival), cell in ranked[1:]:
        note = f"±{seen.within:.2f}, against the {rival}"
        yield Row(PART, f"grid: {cell.name}", seen.mean, "x", at_most(1.05), note)


def _worse(cell: Cell) -> tuple[Ratio, str]:
    """Return the ratio to the better of the window and the groups, and which one that was."""
    rivals = ["window", "batches", "group chain"]
    found = measure_cell(cell, ["groups", *rivals])
    best = min(rivals, key=lambda name: sum(each.mean_s for each in found[name]))
    return against(found, "groups", best), best


def _ticks() -> Iterator[Row]:
    spent = {count: _tick_s(count) for count in (10, 100, 1_000, 10_000)}
    shown = ", ".join(f"{count:,}: {seconds * 1e3:.2f} ms" for count, seconds in spent.items())
    note = f"the slower of a busy lane and one that turned red; {shown}"
    yield Row(PART, "a tick's decision at 1,000 entries", spent[1_000] * 1e3, "ms", at_most(200))
    growth = spent[10_000] / spent[1_000]
    yield Row(PART, "growth from 1,000 to 10,000 entries", growth, "x", at_most(12), note)


def _tick_s(entries: int) -> float:
    busy = [gating(1, TIP)]
    busy += [gating(pr, sha(f"m{pr - 1}")) for pr in range(2, min(entries, 16) + 1)]
    waiting = [candidate(pr) for pr in range(len(busy) + 1, entries + 1)]
    return max(_quickest_s(lane) for lane in _lanes([*busy, *waiting]))


def _lanes(queue: Sequence[Candidate]) -> Iterator[Snapshot]:
    rules = Rules(TIP, replace(POLICY, queue=GROUPS))
    for lane in (snapshot(*queue), snapshot(*queue, rules=rules)):
        yield replace(lane, slots=8)
    yield snapshot(*queue, health=Red(Sha(TIP), NOW, "r", "test", "make test", suspects=(TIP,)))


def _quickest_s(lane: Snapshot) -> float:
    """Return the least of several times: the rest is what else this machine does."""
    seconds = []
    for _ in range(7):
        begun = perf_counter()
        plan(settle(Decision(lane)).snapshot)
        seconds.append(perf_counter() - begun)
    return min(seconds)
