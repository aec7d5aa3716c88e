"""The clock and the workers of a simulation: an event loop that any policy can be played on.

Workers take the ordered runs in order, those on the trunk first. A landing takes its time, during
which the policy does not decide; the workers go on meanwhile, as they do in production. Where more
gates run than there are cores, each goes on as slowly as its share of them lets it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Protocol

from mergebot.services.simulation.world import World


class Policy(Protocol):
    """What decides in a simulation: it hears of arrivals and ends, and then acts on the engine."""

    def arrive(self, change: int) -> None:
        """Hear that a change asks to land."""
        ...

    def ended(self, run: int, *, passed: bool) -> None:
        """Hear that a run came to its end."""
        ...

    def landed(self) -> None:
        """Hear that the landing under way is done."""
        ...

    def decide(self) -> None:
        """Order, stop, refuse and land, after everything that happened at this moment."""
        ...


@dataclass(slots=True)
class Ledger:
    """What came of a simulation: when each change landed or was refused, and what it cost."""

    landed: dict[int, float] = field(default_factory=dict)
    refused: dict[int, float] = field(default_factory=dict)
    busy_s: float = 0.0
    runs: int = 0


@dataclass(slots=True)
class _Run:
    node: int
    change: int
    starts_s: float = -1.0
    known: float = 0.0
    passes: bool = True
    done_s: float = 0.0
    whole_s: float = 0.0
    ends_s: float = -1.0


class Engine:
    """One policy's shop: its workers, its clock and its ledger."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.now = 0.0
        self.ledger = Ledger()
        self._flakes: random.Random = world.flakes()
        self._idle = world.conditions.workers
        self._waiting: list[tuple[int, int]] = []
        self._runs: dict[int, _Run] = {}
        self._events: list[tuple[float, int, str, int]] = []
        self._count = 0
        self._landing: tuple[int, ...] = ()
        self._known: dict[int, float] = {}
        self._shared_at = 0.0
        self._rate = 1.0

    def order(self, node: int, change: int, *, rank: int = 1) -> int:
        """Order the gate of `node`, whose newest change is `change`; lower ranks go first."""
        self._count += 1
        self._runs[self._count] = _Run(node, change)
        heappush(self._waiting, (rank, self._count))
        return self._count

    def stop(self, run: int) -> None:
        """Stop a run whose outcome nobody can use any more; one that ended is left alone."""
        gone = self._runs.pop(run, None)
        if gone is not None and gone.starts_s >= 0:
            self._free(gone)

    def land(self, changes: Sequence[int]) -> None:
        """Push these changes together; they have landed a landing's time from now."""
        self._landing = tuple(changes)
        self._event(self.now + self.world.conditions.landing_s, "landed", 0)

    def refuse(self, change: int) -> None:
        """Tell the change's author no."""
        self.ledger.refused[change] = self.now

    def wake(self, at_s: float) -> None:
        """Let the policy decide at this time, whatever else happens."""
        self._event(at_s, "wakes", 0)

    @property
    def landing(self) -> bool:
        """Tell whether a push is on the wire."""
        return bool(self._landing)

    @property
    def unfinished(self) -> int:
        """Return how many runs were ordered and have not ended."""
        return len(self._runs)

    def play(self, policy: Policy) -> Ledger:
        """Run the whole trace through a policy, until nothing can happen any more."""
        for change, each in enumerate(self.world.changes):
            self._event(each.arrives_s, "arrives", change)
        while self._events:
            self.now = self._events[0][0]
            self._go_on()
            while self._events and self._events[0][0] <= self.now:
                at, _, kind, subject = heappop(self._events)
                if kind != "ends" or self._ends(subject, at):
                    self._happen(policy, kind, subject)
            if not self._landing:
                policy.decide()
            self._start()
            self._share()
        return self.ledger

    def _happen(self, policy: Policy, kind: str, subject: int) -> None:
        if kind == "arrives":
            policy.arrive(subject)
        elif kind == "landed":
            self.ledger.landed.update(dict.fromkeys(self._landing, self.now))
            self._landing = ()
            policy.landed()
        elif kind == "ends" and (run := self._runs.pop(subject, None)):
            self._free(run)
            policy.ended(subject, passed=run.passes)

    def _start(self) -> None:
        while self._idle and self._waiting:
            _, name = heappop(self._waiting)
            run = self._runs.get(name)
            if run is not None:
                self._idle -= 1
                self.ledger.runs += 1
                run.starts_s = self.now
                run.whole_s = self._seconds(run)

    def _running(self) -> dict[int, _Run]:
        return {name: run for name, run in self._runs.items() if run.starts_s >= 0}

    def _go_on(self) -> None:
        """Take in what every running gate got done since anything changed."""
        for run in self._running().values():
            run.done_s += (self.now - max(self._shared_at, run.starts_s)) * self._rate
        self._shared_at = self.now

    def _share(self) -> None:
        """Divide the cores among what runs now, and say when each ends if nothing changes."""
        running = self._running()
        rate = min(1.0, self.world.conditions.at_once / max(len(running), 1))
        for name, run in running.items():
            if rate != self._rate or run.ends_s < 0:
                run.ends_s = self.now + (run.whole_s - run.done_s) / rate
                self._event(run.ends_s, "ends", name)
        self._rate = rate

    def _ends(self, name: int, at: float) -> bool:
        return name in self._runs and self._runs[name].ends_s == at

    def _seconds(self, run: _Run) -> float:
        """Decide how a run ends, and return how long it takes; known steps cost `rerun` of it."""
        world = self.world
        node = world.nodes[run.node]
        flake = world.conditions.flake
        run.passes = not (node.bad or (flake and self._flakes.random() < flake))
        stop = 1.0 if run.passes else (node.stop if node.bad else world.stops[run.change])
        run.known = self._known.get(run.change, 0.0)
        share = stop - (1.0 - world.conditions.rerun) * min(run.known, stop)
        return world.seconds[run.change] * share

    def _free(self, run: _Run) -> None:
        self._idle += 1
        spent = run.done_s
        self.ledger.busy_s += spent
        rerun = self.world.conditions.rerun
        if rerun < 1.0:
            share = spent / self.world.seconds[run.change]
            reached = run.known + max(0.0, share - rerun * run.known)
            self._known[run.change] = min(reached, 1.0)

    def _event(self, at: float, kind: str, subject: int) -> None:
        self._count += 1
        heappush(self._events, (at, self._count, kind, subject))
