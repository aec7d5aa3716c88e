"""Processes and the bell between them: who answers which ring, who dies and comes back."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from mergebot.adapters.memory.bell import Ring
from mergebot.domain.ids import Lane
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.gatekeeper import Gatekeeper
from mergebot.services.gating import gate
from mergebot.services.intake import drain
from mergebot.services.parts import Parts
from mergebot.services.publishing import publish
from mergebot.services.reconciling import nudge, reconcile
from mergebot.services.tick import tick
from tests.simulation.gates import GateWorker
from tests.simulation.moods import Mood
from tests.simulation.stage import Job, Stage

RECONCILE_S = 30.0
NUDGE_S = 1.0
IDLE_RECONCILE_S = 600.0
IDLE_NUDGE_S = 300.0


@dataclass(slots=True)
class Actor:
    """A process that does one job at a time."""

    name: str
    parts: Parts
    busy: bool = False
    dead: bool = False


@dataclass(slots=True)
class Office:
    """The workers of a lane. Idle rounds of the timers come apart, since they change nothing."""

    stage: Stage
    mood: Mood
    repo: str
    hands: list[Actor] = field(default_factory=list)
    gates: list[GateWorker] = field(default_factory=list)
    timers: list[Actor] = field(default_factory=list)
    tasks: deque[Ring] = field(default_factory=deque)
    idle: int = 0

    def ring(self, ring: Ring) -> None:
        """Pass a ring on, as unreliably as a broker may."""
        stage, mood = self.stage, self.mood
        if mood.strikes("ring_dropped"):
            stage.tally["ring_dropped"] += 1
            return
        self._send(ring)
        if mood.strikes("ring_doubled"):
            stage.tally["ring_doubled"] += 1
            self._send(ring)

    def _send(self, ring: Ring) -> None:
        delay_s = self.mood.rng.uniform(0.001, 0.2)
        if self.mood.strikes("ring_delayed"):
            self.stage.tally["ring_delayed"] += 1
            delay_s = self.mood.rng.uniform(0.5, 40.0)
        self.stage.later(delay_s, lambda: self._arrived(ring))

    def _arrived(self, ring: Ring) -> None:
        if ring not in self.tasks:
            self.tasks.append(ring)
        self.dispatch()

    def dispatch(self) -> None:
        """Give waiting rings to whoever is free."""
        for ring in list(self.tasks):
            free = self._free(ring)
            if free is not None and ring in self.tasks:
                self.tasks.remove(ring)
                free()

    def _free(self, ring: Ring) -> Callable[[], None] | None:
        if ring.task == "gate":
            worker = next((each for each in self.gates if not each.busy), None)
            return None if worker is None else (lambda: self._gate(worker, ring))
        hand = next((each for each in self.hands if not each.busy and not each.dead), None)
        return None if hand is None else (lambda: self._work(hand, ring))

    def _gate(self, worker: GateWorker, ring: Ring) -> None:
        worker.busy = True

        def work() -> None:
            worker.busy = False
            lane = _lane(worker.parts, ring.lane_key)
            if lane is not None:
                gate(worker.parts, cast("Gatekeeper", worker), lane, ring.run)

        self.stage.start(
            Job(worker.name, f"gate {ring.run}", _told(self.stage, work), lambda lived: None)
        )

    def _work(self, hand: Actor, ring: Ring) -> None:
        def work() -> None:
            if ring.task == "intake":
                drain(hand.parts)
                return
            lane = _lane(hand.parts, ring.lane_key)
            if lane is not None:
                (tick if ring.task == "tick" else publish)(hand.parts, lane)

        self._run(hand, ring.task, work)

    def _run(self, actor: Actor, name: str, work: Callable[[], None]) -> None:
        actor.busy = True

        def ended(lived: bool) -> None:  # noqa: FBT001 - what a job tells of itself
            actor.busy = False
            if not lived:
                actor.dead = True
                self.stage.later(self.mood.rng.uniform(0.5, 30.0), lambda: self._reborn(actor))
            if self.tasks:
                self.stage.later(0.0, self.dispatch)

        self.stage.start(Job(actor.name, name, _told(self.stage, work), ended, self.mood.plan()))

    def _reborn(self, actor: Actor) -> None:
        actor.dead = False
        self.dispatch()

    def open(self) -> None:
        """Start the timers."""
        reconciler, nudger = self.timers
        self._every(reconciler, RECONCILE_S, IDLE_RECONCILE_S, self._reconcile)
        self._every(nudger, NUDGE_S, IDLE_NUDGE_S, _nudge)

    def _reconcile(self, parts: Parts) -> None:
        reconcile(parts, [self.repo])

    def _every(
        self, actor: Actor, seconds: float, idle_s: float, work: Callable[[Parts], None]
    ) -> None:
        def again() -> None:
            if not actor.busy and not actor.dead:
                self._run(actor, work.__name__.strip("_<>"), lambda: work(actor.parts))
            self.idle += 1
            stretch = 2 ** max(0, min(self.idle - 3, 20))
            self.stage.later(min(seconds * stretch, idle_s), again)

        again()


def _nudge(parts: Parts) -> None:
    nudge(parts)


def _lane(parts: Parts, key: str) -> Lane | None:
    return next((each for each in parts.store.lanes() if each.key == key), None)


def _told(stage: Stage, work: Callable[[], None]) -> Callable[[], None]:
    """Do the work as a worker does: what the world refuses is told, and rung for again later."""

    def told() -> None:
        try:
            work()
        except (Unavailable, Refused) as error:
            stage.tell(f"gives up for now: {error}")

    return told
