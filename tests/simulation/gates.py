"""Gate workers without processes: a run takes its time, beats meanwhile, and may be lost.

What is kept of earlier runs, in which order steps run, and waiting for others' checks are the
production services; only the steps themselves are made up.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from mergebot.adapters.memory.objects import Objects, Tree, tree_id
from mergebot.domain.gate import Failed, GateResult, NoVerdict, Passed, Step, StepResult
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import RunOrder, RunProgress
from mergebot.domain.limits import RUN_SILENT_S
from mergebot.domain.policy import StepOrder
from mergebot.domain.reasons import Reason
from mergebot.domain.steps import agenda, fail_first
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.external import Watch
from mergebot.services.gatekeeper import Source
from mergebot.services.keeping import Shelf
from mergebot.services.parts import Parts
from tests.simulation import truth
from tests.simulation.moods import Mood
from tests.simulation.stage import Job, Stage

BEAT_S = 8.0
PAUSES_S = (40.0, 300.0, 3600.0)

Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Gated:
    """What a gate found: for which order, and when."""

    at: float
    order: RunOrder
    result: GateResult


@dataclass(slots=True)
class Results:
    """What gates really found, by the tree that they found it in, whatever became of it then."""

    objects: Objects
    by_tree: dict[str, list[Gated]] = field(default_factory=dict)

    def add(self, gated: Gated) -> None:
        """Note what a gate found."""
        self.by_tree.setdefault(self._tree(gated.order.merged), []).append(gated)

    def passes(self, commit: Sha) -> list[Gated]:
        """Return the green runs on a commit, or on one with the very same tree, that asked anything."""
        found = self.by_tree.get(self._tree(commit), [])
        asked = [each for each in found if not each.order.spec.empty]
        return [each for each in asked if isinstance(each.result, Passed)]

    def _tree(self, commit: Sha) -> str:
        return tree_id(self.objects.commit(commit).tree)


@dataclass(slots=True)
class GateWorker:
    """One slot for gates on one host; it stands where production has its gatekeeper."""

    name: str
    stage: Stage
    mood: Mood
    parts: Parts
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
        visit = Visit(self, lane, taken.order, source, clock.now())
        found = visit.steps()
        if isinstance(found, NoVerdict):
            self.stage.later(1.0, lambda: visit.job("finish", lambda: visit.finish(found)))
        elif self.strikes("gate_paused"):
            self.stage.later(self.mood.rng.choice(PAUSES_S), lambda: visit.goes_on(found))
        elif self.strikes("gate_lost"):
            self.stage.tell(f"{self.name} dies while it gates {taken.order.merged[:7]}")
            self.stage.later(self.mood.rng.uniform(1.0, 60.0), self.free)
        else:
            ran = any(not each.kept for each in found.steps) if found.steps else False
            takes_s = self.mood.rng.uniform(4.0, 70.0) if ran else 1.0
            for place in range(1, int(takes_s // BEAT_S) + 1):
                self.stage.later(place * BEAT_S, lambda: visit.job("beat", visit.beat))
            self.stage.later(takes_s, lambda: visit.goes_on(found))
        return False

    def free(self) -> None:
        """Be there for the next run."""
        self.busy = False

    def strikes(self, kind: str) -> bool:
        """Tell whether a fault of this kind happens now, and count it."""
        struck = self.mood.strikes(kind)
        self.stage.tally[kind] += struck
        return struck


@dataclass(slots=True)
class Visit:
    """One gate on its way; `wanted` turns false once nobody wants its result."""

    worker: GateWorker
    lane: Lane
    order: RunOrder
    source: Source
    began: float
    wanted: bool = True

    def steps(self) -> Passed | Failed | NoVerdict:
        """Return what the steps of this installation find."""
        order, git = self.order, self.source.git
        try:
            if not git.has(order.merged) and self.source.rebuild(order) != order.merged:
                return NoVerdict("this host computed another commit")
        except (Unavailable, Refused) as error:
            return NoVerdict(str(error))
        tree = self.worker.results.objects.commit(order.merged).tree
        known = self._shelf().known(git, order, self._names())
        done: dict[str, StepResult] = {}
        for step in self._in_turn():
            ended = known.get(step.name) or self._run(step, tree)
            done[step.name] = ended
            if ended.exit_code:
                found = truth.fault(tree, step.run) or (Reason.GATE_FAILED, "E flaky")
                return Failed(found[0], tuple(done.values()), found[1], found[1])
        return Passed(tuple(done[each.name] for each in order.spec.steps))

    def goes_on(self, found: Passed | Failed) -> None:
        """Ask the repository's own CI where the gate wants that, and finish."""
        if isinstance(found, Failed) or not self.order.spec.external.checks:
            self.job("finish", lambda: self.finish(found))
            return
        trial = self._job_of("trial", lambda: self._trial(found))
        trial.sleeps, trial.plan = True, self.worker.mood.plan()
        self.worker.stage.start(trial)

    def _trial(self, inside: Passed) -> None:
        try:
            found = self.source.trial(self.order, Watch(self._pause, self._say))
        except (Unavailable, Refused) as error:
            found = NoVerdict(str(error))
        match found:
            case None:
                self.worker.free()
            case Failed():
                self.finish(replace(found, steps=(*inside.steps, *found.steps)))
            case NoVerdict():
                self.finish(found)
            case _:
                self.finish(Passed((*inside.steps, *found)))

    def _pause(self, seconds: float) -> bool:
        stage = self.worker.stage
        slept_from = stage.clock.now()
        stage.sleep(seconds)
        try:
            self.beat()
        except Unavailable:
            # Whoever could not be heard for so long gives up by itself.
            self.wanted = self.wanted and stage.clock.now() - slept_from < RUN_SILENT_S
        return self.wanted

    def _say(self, line: str) -> None:
        self.worker.stage.tell(line)

    def beat(self) -> None:
        """Say that the run goes on, and hear whether it is wanted; raises Unavailable."""
        worker = self.worker
        progress = RunProgress(worker.name, self.began, worker.stage.clock.now(), "test")
        self.wanted = worker.parts.runs.beat(self.lane, self.order.run, progress)

    def finish(self, result: GateResult) -> None:
        """Keep what is worth it, record the result and ring."""
        worker = self.worker
        worker.free()
        if not self.wanted:
            return
        runs, now = worker.parts.runs, worker.stage.clock.now()
        worker.results.add(Gated(now, self.order, result))
        if isinstance(result, Passed):
            self._shelf().keep(self.source.git, self.order, self._names(), result)
        if runs.finish(self.lane, self.order.run, result, now):
            worker.parts.doorbell.tick(self.lane)

    def job(self, name: str, work: Work) -> None:
        """Do a piece of work as a job of this worker; what is refused stays unheard."""
        self.worker.stage.start(self._job_of(name, work))

    def _job_of(self, name: str, work: Work) -> Job:
        worker = self.worker

        def told() -> None:
            try:
                work()
            except Unavailable as error:
                worker.stage.tell(f"{name} unheard: {error}")

        def ended(lived: bool) -> None:  # noqa: FBT001 - what a job tells of itself
            if not lived:
                worker.stage.later(worker.mood.rng.uniform(1.0, 60.0), worker.free)

        return Job(worker.name, name, told, ended)

    def _in_turn(self) -> tuple[Step, ...]:
        runs, steps = self.worker.parts.runs, self.order.spec.steps
        if self.order.order is StepOrder.FAIL_FIRST:
            with suppress(Unavailable):
                steps = fail_first(steps, runs.tallies(self.lane), runs.usual_seconds(self.lane))
        return agenda(steps).steps

    def _run(self, step: Step, tree: Tree) -> StepResult:
        """Run a step, now and then more often than once."""
        if truth.fault(tree, step.run):
            return truth.red(step.name, step.run)
        if not self.worker.strikes("gate_flaky"):
            return truth.passed(step.name, step.run)
        if step.retry:
            return truth.passed(step.name, step.run, tries=2)
        return truth.red(step.name, step.run)

    def _shelf(self) -> Shelf:
        parts = self.worker.parts
        return Shelf(parts.runs, parts.notary, self.lane, self.worker.name)

    def _names(self) -> Mapping[str, str]:
        return self._shelf().names(self.source.git, self.order, "")
