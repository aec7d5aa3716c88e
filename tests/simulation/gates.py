"""Gate workers without processes: a run takes its time, beats meanwhile, and may be lost."""

from dataclasses import dataclass, field

from mergebot.adapters.memory.objects import Objects
from mergebot.domain.gate import GateResult, NoVerdict
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import RunOrder, RunProgress
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.gatekeeper import Source
from mergebot.services.parts import Parts
from tests.simulation import truth
from tests.simulation.moods import Mood
from tests.simulation.stage import Job, Stage

BEAT_S = 8.0


@dataclass(slots=True)
class Gated:
    """A verdict that was recorded: for which commit, by which gate, and when."""

    at: float
    spec: str
    result: GateResult


@dataclass(slots=True)
class Results:
    """What gates really found, in the order it was recorded."""

    by_commit: dict[Sha, list[Gated]] = field(default_factory=dict)

    def add(self, order: RunOrder, gated: Gated) -> None:
        """Note a recorded verdict."""
        self.by_commit.setdefault(order.merged, []).append(gated)


@dataclass(slots=True)
class GateWorker:
    """One slot for gates on one host; it stands where production has its gatekeeper."""

    name: str
    stage: Stage
    mood: Mood
    parts: Parts
    objects: Objects
    results: Results
    busy: bool = False
    dead: bool = False

    def gate(self, lane: Lane, run: str, source: Source) -> bool:
        """Take a run and begin with it; its result comes later, so no tick is due now."""
        clock = self.stage.clock
        taken = self.parts.runs.take(lane, run, self.name, clock.now())
        if taken is None:
            return False
        self.busy = True
        order = taken.order
        result = self._result(order, source)
        takes_s = 1.0 if isinstance(result, NoVerdict) else self.mood.rng.uniform(4.0, 70.0)
        if isinstance(result, NoVerdict) is False and self.mood.strikes("gate_paused"):
            self.stage.tally["gate_paused"] += 1
            self._later(lane, order, result, self.mood.rng.choice((40.0, 300.0, 3600.0)))
            return False
        if self.mood.strikes("gate_lost"):
            self.stage.tally["gate_lost"] += 1
            self.stage.tell(f"{self.name} dies while it gates {order.merged[:7]}")
            self.stage.later(self.mood.rng.uniform(1.0, 60.0), self._reborn)
            return False
        self._later(lane, order, result, takes_s)
        return False

    def _reborn(self) -> None:
        self.busy = False

    def _result(self, order: RunOrder, source: Source) -> GateResult:
        try:
            if not source.git.has(order.merged) and source.rebuild(order) != order.merged:
                return NoVerdict("this host computed another commit")
        except (Unavailable, Refused) as error:
            return NoVerdict(str(error))
        found = truth.verdict(self.objects.commit(order.merged).tree)
        if isinstance(found, type(truth.PASSED)) and self.mood.strikes("gate_flaky"):
            self.stage.tally["gate_flaky"] += 1
            return truth.failed(Reason.GATE_FAILED, "E flaky")
        return found

    def _later(self, lane: Lane, order: RunOrder, result: GateResult, takes_s: float) -> None:
        """Beat while the run takes its time, then record what came of it."""
        stage = self.stage
        paused = takes_s > 100.0 or takes_s == 40.0
        beats = 0 if paused else int(takes_s // BEAT_S)
        ends_at = stage.clock.now() + takes_s
        state = {"wanted": True}

        def beat() -> None:
            progress = RunProgress(self.name, ends_at - takes_s, stage.clock.now(), "test")
            state["wanted"] = self.parts.runs.beat(lane, order.run, progress)

        def finish() -> None:
            self.busy = False
            if not state["wanted"]:
                return
            if self.parts.runs.finish(lane, order.run, result, stage.clock.now()):
                self.parts.doorbell.tick(lane)

        for place in range(1, beats + 1):
            stage.later(place * BEAT_S, lambda: self._job("beat", beat))
        stage.later(takes_s, lambda: self._job("finish", finish))

    def _job(self, name: str, work: object) -> None:
        def told() -> None:
            try:
                work()  # type: ignore[operator]  # one of the two closures above
            except Unavailable as error:
                self.stage.tell(f"{name} unheard: {error}")

        self.stage.start(Job(self.name, name, told, lambda lived: None))
