"""What the planner is compared with: an oracle, a serial queue, fixed batches, a prefix window.

They are written as plainly as possible and share nothing with the planner.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapreplace

from mergebot.services.simulation.engine import Engine, Ledger, Policy
from mergebot.services.simulation.world import ROOT, World


def oracle(world: World) -> Ledger:
    """Play a queue that knows the outcomes: one run for each change, landed in order.

    Of changes that clash it lands the first, as every queue does that keeps its order.
    """
    ledger = Ledger()
    free = [0.0] * world.conditions.at_once
    front, tip = 0.0, ROOT
    for change, each in enumerate(world.changes):
        node = world.on(tip, change)
        bad = world.nodes[node].bad
        seconds = world.seconds[change] * (world.nodes[node].stop if bad else 1.0)
        ends = max(free[0], each.arrives_s) + seconds
        heapreplace(free, ends)
        ledger.busy_s += seconds
        ledger.runs += 1
        if bad:
            ledger.refused[change] = ends
            continue
        tip = node
        front = max(front, ends) + world.conditions.landing_s
        ledger.landed[change] = front
    return ledger


def serial(world: World) -> Ledger:
    """Play a queue that gates one change at a time on the tip."""
    return _played(world, lambda engine: Batches(engine, 1))


def batches(world: World, size: int) -> Ledger:
    """Play bors: up to `size` waiting changes in one gate on the tip, halved when it is red."""
    return _played(world, lambda engine: Batches(engine, size))


def prefix_window(world: World, depth: int) -> Ledger:
    """Play a chain over the first `depth` changes, each on the nearest ahead that is not failing."""
    return _played(world, lambda engine: PrefixWindow(engine, depth))


def group_chain(world: World, cap: int) -> Ledger:
    """Play a chain of groups, as many as there are workers."""
    workers = world.conditions.workers
    return _played(world, lambda engine: PrefixWindow(engine, workers, cap))


def _played(world: World, policy: Callable[[Engine], Policy]) -> Ledger:
    engine = Engine(world.again())
    return engine.play(policy(engine))


@dataclass(slots=True)
class Batches:
    """Batches on one runner; the halves of a red batch are gated before anything else."""

    engine: Engine
    size: int
    tip: int = ROOT
    waiting: list[int] = field(default_factory=list)
    halves: list[list[int]] = field(default_factory=list)
    batch: list[int] = field(default_factory=list)
    node: int = ROOT
    run: int = 0

    def arrive(self, change: int) -> None:
        """Queue it."""
        self.waiting.append(change)

    def ended(self, run: int, *, passed: bool) -> None:
        """Land a green batch; halve a red one, or refuse the change that is left of it."""
        self.run -= run
        if passed:
            self.engine.land(self.batch)
            return
        if len(self.batch) == 1:
            self.engine.refuse(self.batch[0])
        else:
            middle = len(self.batch) // 2
            self.halves = [self.batch[:middle], self.batch[middle:], *self.halves]
        self.batch = []

    def landed(self) -> None:
        """Go on from the new tip."""
        self.tip, self.batch = self.node, []

    def decide(self) -> None:
        """Gate the next half, or else the next batch."""
        if self.run or self.batch or not (self.halves or self.waiting):
            return
        if self.halves:
            self.batch = self.halves.pop(0)
        else:
            self.batch, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
        self.node = self.tip
        for change in self.batch:
            self.node = self.engine.world.on(self.node, change)
        self.run = self.engine.order(self.node, self.batch[-1])


@dataclass(slots=True)
class _Entry:
    changes: list[int]
    base: int = -1
    node: int = -1
    run: int = 0
    passed: bool | None = None


@dataclass(slots=True)
class PrefixWindow:
    """A chain over a fixed window, of single changes or of groups of up to `cap`.

    A group takes a worker's share of what waits; a red one goes behind the others, in halves.
    """

    engine: Engine
    depth: int
    cap: int = 1
    tip: int = ROOT
    waiting: list[int] = field(default_factory=list)
    chain: list[_Entry] = field(default_factory=list)
    by_run: dict[int, _Entry] = field(default_factory=dict)

    def arrive(self, change: int) -> None:
        """Queue it."""
        self.waiting.append(change)

    def ended(self, run: int, *, passed: bool) -> None:
        """Note how a run ended."""
        entry = self.by_run.pop(run, None)
        if entry is not None:
            entry.run, entry.passed = 0, passed

    def landed(self) -> None:
        """Go on from the new tip."""
        self.tip = self.chain.pop(0).node

    def decide(self) -> None:
        """Judge a red front, land a green one, and re-base everything else in the window."""
        while self.chain and self.chain[0].passed is False and self.chain[0].base == self.tip:
            self._judge(self.chain.pop(0).changes)
        self._form()
        base = self.tip
        for place, entry in enumerate(self.chain[: self.depth]):
            if entry.base != base:
                self._restart(entry, base)
            if entry.passed is False:
                continue
            if place == 0 and entry.passed:
                self.engine.land(entry.changes)
                return
            base = entry.node

    def _judge(self, changes: list[int]) -> None:
        middle = len(changes) // 2
        if middle:
            self.chain += [_Entry(changes[:middle]), _Entry(changes[middle:])]
        else:
            self.engine.refuse(changes[0])

    def _form(self) -> None:
        workers = self.engine.world.conditions.workers
        while self.waiting and len(self.chain) < self.depth:
            size = max(1, min(self.cap, -(-len(self.waiting) // workers)))
            self.chain.append(_Entry(self.waiting[:size]))
            del self.waiting[:size]

    def _restart(self, entry: _Entry, base: int) -> None:
        if entry.run:
            self.by_run.pop(entry.run, None)
            self.engine.stop(entry.run)
        entry.base, entry.node, entry.passed = base, base, None
        for change in entry.changes:
            entry.node = self.engine.world.on(entry.node, change)
        entry.run = self.engine.order(entry.node, entry.changes[-1])
        self.by_run[entry.run] = entry
