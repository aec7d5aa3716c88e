"""Running one gate, from taking its order to recording what came of it."""

import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from mergebot.domain import evidence, limits
from mergebot.domain.gate import (
    Failed,
    Gated,
    GateResult,
    Lack,
    NoVerdict,
    Passed,
    Step,
    StepResult,
    sealed_text,
)
from mergebot.domain.ids import Lane, Sha, short
from mergebot.domain.lane import RunOrder, RunProgress
from mergebot.domain.reasons import Reason
from mergebot.ports.basics import Clock
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.ports.runs import Logs, Runs
from mergebot.ports.sandbox import (
    Caches,
    Exited,
    OverLimit,
    Sandbox,
    SandboxFailed,
    StepEnd,
    StepOrder,
    Stopped,
    TimedOut,
    Unwanted,
    Workspaces,
)
from mergebot.ports.signing import VERDICTS, Seals
from mergebot.services.external import Watch
from mergebot.services.gatelog import GateLog, Redaction
from mergebot.services.heartbeat import Desk, Heartbeat

TrialEnd = tuple[StepResult, ...] | Failed | NoVerdict | None
SETUP = "setup"
SETUP_TIMEOUT_S = 3600.0
TIMED_OUT_CODE = 124
KILLED_CODE = 137


@dataclass(frozen=True, slots=True)
class Source:
    """Where a gate's commits come from.

    `rebuild` replays an order that this host's mirror does not hold and returns the commit that
    came of it. `setup_from` is the trunk's tip: the gate's setup never sees anything else.
    `trial` asks the repository's own CI, where the gate wants that too.
    """

    git: Git
    rebuild: Callable[[RunOrder], Sha]
    setup_from: Sha
    trial: Callable[[RunOrder, Watch], TrialEnd] = lambda _order, _watch: ()


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """Runs gates on this host, as `worker`; `redaction` takes what is secret out of output.

    `seals` marks what passed, so that nobody who can only write to Redis can say that it did.
    """

    runs: Runs
    logs: Logs
    sandbox: Sandbox
    workspaces: Workspaces
    caches: Caches
    clock: Clock
    redaction: Redaction
    seals: Seals
    worker: str

    def gate(self, lane: Lane, run: str, source: Source) -> bool:
        """Run the gate `run` of a lane; True when a result was recorded, so a tick is due.

        Raises Unavailable when the store does not answer; the run is then found silent later.
        """
        now = self.clock.now()
        taken = self.runs.take(lane, run, self.worker, now)
        if taken is None:
            return False
        log = GateLog(self.redaction)
        desk = Desk(self.runs, self.logs, self.clock)
        progress = RunProgress(worker=self.worker, started_at=now, beat=now)
        with Heartbeat(desk, lane, run, log, progress) as heartbeat:
            ends_at = now + taken.order.spec.timeout_s
            gate = _Gate(self, lane, taken.order, source, log, heartbeat, ends_at)
            result = gate.result()
        if result is None:
            return False
        return self.runs.finish(lane, run, result, self.clock.now())


class _Undecided(Exception):
    """Nothing is known about the candidate, for the reason given in one sentence."""


@dataclass(frozen=True, slots=True)
class _Gate:
    """One gate on its way; it must be over at `ends_at`."""

    keeper: Gatekeeper
    lane: Lane
    order: RunOrder
    source: Source
    log: GateLog
    heartbeat: Heartbeat
    ends_at: float

    def result(self) -> GateResult | None:
        """Run the gate; None once nobody wants it."""
        try:
            self._bring_in()
            with self._caches() as keep, self._workspace(self.order.merged) as workspace:
                return self._steps(workspace, keep)
        except Unwanted:
            return None
        except SandboxFailed as error:
            return NoVerdict(str(error), Lack.SANDBOX)
        except (_Undecided, Unavailable, Refused) as error:
            return NoVerdict(str(error))
        except OSError as error:
            return NoVerdict(_sentence(error))

    def _bring_in(self) -> None:
        merged = self.order.merged
        if self.source.git.has(merged):
            return
        computed = self.source.rebuild(self.order)
        if computed != merged:
            raise _Undecided(
                f"this host computed another commit ({short(computed)}) than the one that the"
                f" queue recorded ({short(merged)})"
            )

    @contextmanager
    def _workspace(self, sha: Sha) -> Iterator[str]:
        """Give a directory that holds a commit's tree, for as long as it is needed."""
        path = self.keeper.workspaces.create(self.order.run)
        try:
            self.source.git.export(sha, path)
            yield path
        finally:
            self.keeper.workspaces.destroy(path)

    @contextmanager
    def _caches(self) -> Iterator[Mapping[str, str]]:
        """Give what the setup left on the trunk for later gates; it runs first where needed."""
        spec, tip = self.order.spec, self.source.setup_from
        if not (spec.setup and spec.keep):
            yield {}
            return
        key = [spec.setup, spec.keep, spec.environment, self.source.git.root_files(tip)]
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        with ExitStack() as rooms:

            def fill() -> Mapping[str, str]:
                return self._set_up(rooms.enter_context(self._workspace(tip)))

            caches = self.keeper.caches
            with caches.held(self.lane, digest, fill, self.heartbeat.wanted) as keep:
                rooms.close()
                yield keep

    def _set_up(self, workspace: str) -> Mapping[str, str]:
        spec = self.order.spec
        step = Step(SETUP, spec.setup, SETUP_TIMEOUT_S)
        self._begin(step)
        end = self._run(replace(self._order(step, workspace, {}), network=True))
        if end != Exited(0, end.seconds):
            said = evidence.first_error(evidence.readable(self.log.step.kept))
            raise _Undecided(f"the gate's setup failed on the trunk: {_what(end)}\n{said}".strip())
        return {place: f"{workspace}/{place}" for place in spec.keep}

    def _steps(self, workspace: str, keep: Mapping[str, str]) -> GateResult:
        done: list[StepResult] = []
        for step in self.order.spec.steps:
            end, tries = self._tried(self._order(step, workspace, keep))
            code = _code(end)
            log = self.log.step
            tries += self.order.tried.get(step.name, 0)
            done.append(StepResult(step.name, step.run, code, end.seconds, log.digest, tries))
            if code:
                return _failed(end, tuple(done), evidence.readable(log.kept))
        order = self.order
        outside = self._outside()
        if not isinstance(outside, tuple):
            return (
                replace(outside, steps=(*done, *outside.steps))
                if isinstance(outside, Failed)
                else outside
            )
        done += outside
        gated = Gated(self.lane.key, order.run, order.merged, order.spec.digest)
        text = sealed_text(gated, tuple(done))
        return Passed(tuple(done), self.keeper.seals.seal(VERDICTS, text))

    def _outside(self) -> tuple[StepResult, ...] | Failed | NoVerdict:
        """Ask the repository's own CI where the gate wants that; raises Unwanted when stopped."""
        if not self.order.spec.external.checks:
            return ()
        self.heartbeat.step("external checks")
        self.log.start()
        end = self.source.trial(self.order, Watch(self.heartbeat.pause, self.log.head))
        if end is None:
            raise Unwanted(self.order.run)
        return end

    def _tried(self, order: StepOrder) -> tuple[StepEnd, int]:
        """Run a step as often as it may be run until it passes; return its end and the tries."""
        self._begin(order.step)
        for tries in range(1, order.step.retry + 1):
            end = self._run(order)
            if _code(end) == 0 or self.keeper.clock.now() >= self.ends_at:
                return end, tries
            self.log.again()
            self.log.head(f"{order.step.name}: once more, on the same commit")
        return self._run(order), order.step.retry + 1

    def _begin(self, step: Step) -> None:
        self.heartbeat.step(step.name)
        self.log.start()
        self.log.head(f"{step.name}: {step.run}")

    def _order(self, step: Step, workspace: str, keep: Mapping[str, str]) -> StepOrder:
        spec = self.order.spec
        pairs = (each.partition("=") for each in spec.environment)
        environment = {name: value for name, _, value in pairs}
        return StepOrder(step, workspace, environment, spec.network, step.timeout_s, keep)

    def _run(self, order: StepOrder) -> StepEnd:
        """Run a step within what is left of the gate's time; raises Unwanted when stopped."""
        left = max(0.0, self.ends_at - self.keeper.clock.now())
        order = replace(order, timeout_s=min(order.timeout_s, left))
        end = self.keeper.sandbox.run(order, self.log.write, self.heartbeat.wanted)
        self.log.end()
        if isinstance(end, Stopped):
            raise Unwanted(self.order.run)
        self.log.head(f"{order.step.name}: {_what(end)}")
        return end


def _failed(end: StepEnd, steps: tuple[StepResult, ...], text: str) -> Failed:
    """Return the failure with its evidence; a step that was killed opens it with the reason."""
    reason = Reason.GATE_TIMEOUT if isinstance(end, TimedOut) else Reason.GATE_FAILED
    first = evidence.first_error(text)
    if not isinstance(end, Exited):
        first = evidence.shorten_middle(f"{_what(end)}\n{first}", limits.FIRST_ERROR_CHARS).strip()
    return Failed(reason, steps, first, evidence.tail(text))


def _code(end: StepEnd) -> int:
    """Return the exit code that people are shown; a killed step has the one that shells give it."""
    match end:
        case Exited(code):
            return code
        case TimedOut():
            return TIMED_OUT_CODE
        case OverLimit() | Stopped():
            return KILLED_CODE


def _what(end: StepEnd) -> str:
    match end:
        case Exited(code, seconds):
            return f"exit code {code} after {seconds:.1f} s"
        case TimedOut(seconds):
            return f"still running after {seconds:.1f} s, and killed"
        case OverLimit(what, seconds):
            return f"{what}, and was killed after {seconds:.1f} s"
        case Stopped(seconds):
            return f"stopped after {seconds:.1f} s"


def _sentence(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "the disk of the host that runs the gate is full: free some space there"
    return f"the host that runs the gate failed: {error}"
