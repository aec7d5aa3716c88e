"""Running the steps of one gate: what may run at once does, what is known is not run again.

The first red step stops all others. Where it may have missed what a reused step would have left in
the workspace, that step runs after all, and the red one once more, before anything is concluded.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import Event

from mergebot.domain import evidence, limits
from mergebot.domain.capacity import Use
from mergebot.domain.gate import Failed, GateSpec, Step, StepResult
from mergebot.domain.reasons import Reason
from mergebot.domain.steps import Agenda
from mergebot.ports.basics import Clock
from mergebot.ports.sandbox import (
    Exited,
    OverLimit,
    Sandbox,
    StepEnd,
    StepOrder,
    Stopped,
    TimedOut,
    Unwanted,
)
from mergebot.services.gatelog import GateLog, StepLog
from mergebot.services.heartbeat import Heartbeat

TIMED_OUT_CODE = 124
KILLED_CODE = 137


@dataclass(frozen=True, slots=True)
class Bench:
    """What steps are run with; the gate must be over at `ends_at`. `uses` is what they used."""

    sandbox: Sandbox
    clock: Clock
    log: GateLog
    heartbeat: Heartbeat
    ends_at: float
    halted: Event = field(default_factory=Event)
    uses: list[Use] = field(default_factory=list)

    def wanted(self) -> bool:
        """Tell whether anybody still wants the results; answers at once."""
        return self.heartbeat.wanted() and not self.halted.is_set()

    def run(self, order: StepOrder, log: StepLog) -> StepEnd:
        """Run a step within what is left of the gate's time; raises Unwanted when stopped."""
        left = max(0.0, self.ends_at - self.clock.now())
        order = replace(order, timeout_s=min(order.timeout_s, left))
        end = self.sandbox.run(order, log.write, self.wanted)
        log.end()
        if isinstance(end, Stopped):
            raise Unwanted(order.step.name)
        if isinstance(end, Exited) and end.use is not None:
            self.uses.append(end.use)
        self.log.head(f"{order.step.name}: {what(end)}")
        return end

    def tried(self, order: StepOrder, log: StepLog) -> tuple[StepEnd, int]:
        """Run a step as often as it may be run until it passes; return its end and the tries."""
        for tries in range(1, order.step.retry + 1):
            end = self.run(order, log)
            if code_of(end) == 0 or self.clock.now() >= self.ends_at:
                return end, tries
            log.again()
            self.log.head(f"{order.step.name}: once more, on the same commit")
        return self.run(order, log), order.step.retry + 1


@dataclass(frozen=True, slots=True)
class Room:
    """Where steps run, and how often each ran on this commit before."""

    spec: GateSpec
    workspace: str
    keep: Mapping[str, str]
    tried: Mapping[str, int]

    def order(self, step: Step) -> StepOrder:
        """Return the order for one step."""
        pairs = (each.partition("=") for each in self.spec.environment)
        environment = {name: value for name, _, value in pairs}
        return StepOrder(
            step=step,
            workspace=self.workspace,
            environment=environment,
            network=self.spec.network,
            timeout_s=step.timeout_s,
            keep=self.keep,
            image=self.spec.image,
        )


Ended = StepResult | Failed


@dataclass(slots=True)
class Stepping:
    """The steps of one gate on their way; `known` are results that stand for a run."""

    bench: Bench
    room: Room
    agenda: Agenda
    known: dict[str, StepResult]
    _done: dict[str, StepResult] = field(default_factory=dict)
    _red: set[str] = field(default_factory=set)

    def run(self) -> tuple[StepResult, ...] | Failed:
        """Run all steps; raises Unwanted when stopped, and SandboxFailed."""
        running: dict[Future[Ended], Step] = {}
        with ThreadPoolExecutor(max(1, len(self.agenda.steps))) as pool:
            try:
                while self._start(pool, running):
                    ended, _ = wait(running, return_when=FIRST_COMPLETED)
                    for each in ended:
                        failed = self._conclude(running.pop(each), each.result())
                        if failed is not None:
                            return failed
            finally:
                self.bench.halted.set()
        return self._in_order()

    def _start(self, pool: ThreadPoolExecutor, running: dict[Future[Ended], Step]) -> bool:
        """Start what may start; False once nothing runs any more."""
        while True:
            names = [each.name for each in running.values()]
            able = self.agenda.startable(self._done, names)
            reused = [each for each in able if each.name in self.known]
            if not reused:
                break
            for step in reused:
                self._reuse(step)
        for step in able:
            running[pool.submit(self._step, step)] = step
        return bool(running)

    def _reuse(self, step: Step) -> None:
        result = self.known[step.name]
        self._done[step.name] = result
        self.bench.log.head(f"{step.name}: kept, its inputs passed in run {result.kept}")
        self.bench.heartbeat.step(step.name)
        self.bench.heartbeat.done(step.name)

    def _step(self, step: Step) -> Ended:
        bench = self.bench
        log = bench.log.step(f"{step.name} | " if self.agenda.parallel else "")
        bench.heartbeat.step(step.name)
        bench.log.head(f"{step.name}: {step.run}")
        end, tries = bench.tried(self.room.order(step), log)
        tries += self.room.tried.get(step.name, 0)
        code = code_of(end)
        digest = log.output.digest
        result = StepResult(step.name, step.run, code, end.seconds, digest, tries)
        if code:
            return failed_by(end, (result,), evidence.readable(log.output.kept))
        bench.heartbeat.done(step.name)
        return result

    def _conclude(self, step: Step, ended: Ended) -> Failed | None:
        """Take in how a step ended; return the gate's failure where that is one."""
        if isinstance(ended, StepResult):
            self._done[step.name] = ended
            return None
        missed = [name for name in self.agenda.before(step.name) if name in self.known]
        if missed and step.name not in self._red:
            self._red.add(step.name)
            self._run_after_all(step, missed)
            return None
        return replace(ended, steps=(*self._in_order(), ended.step))

    def _run_after_all(self, step: Step, missed: Sequence[str]) -> None:
        for name in missed:
            del self.known[name]
            self._done.pop(name, None)
        names = ", ".join(sorted(missed))
        self.bench.log.head(f"{step.name}: once more, after {names}, which was kept and not run")

    def _in_order(self) -> tuple[StepResult, ...]:
        steps = self.room.spec.steps
        return tuple(self._done[each.name] for each in steps if each.name in self._done)


def failed_by(end: StepEnd, steps: tuple[StepResult, ...], text: str) -> Failed:
    """Return the failure with its evidence; a step that was killed opens it with the reason."""
    reason = Reason.GATE_TIMEOUT if isinstance(end, TimedOut) else Reason.GATE_FAILED
    first = evidence.first_error(text)
    if not isinstance(end, Exited):
        first = evidence.shorten_middle(f"{what(end)}\n{first}", limits.FIRST_ERROR_CHARS).strip()
    return Failed(reason, steps, first, evidence.tail(text))


def code_of(end: StepEnd) -> int:
    """Return the exit code that people are shown; a killed step has the one that shells give it."""
    match end:
        case Exited(code):
            return code
        case TimedOut():
            return TIMED_OUT_CODE
        case OverLimit() | Stopped():
            return KILLED_CODE


def what(end: StepEnd) -> str:
    """Say how a step ended."""
    match end:
        case Exited(code, seconds):
            return f"exit code {code} after {seconds:.1f} s"
        case TimedOut(seconds):
            return f"still running after {seconds:.1f} s, and killed"
        case OverLimit(what_for, seconds):
            return f"{what_for}, and was killed after {seconds:.1f} s"
        case Stopped(seconds):
            return f"stopped after {seconds:.1f} s"
