"""Running one gate, from taking its order to recording what came of it."""

import errno
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace

from mergebot.domain import evidence
from mergebot.domain.capacity import UNKNOWN_CORES, Cores, asked
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
from mergebot.domain.policy import StepOrder as Order
from mergebot.domain.steps import Agenda, agenda, fail_first
from mergebot.ports.basics import Clock
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.ports.runs import Logs, Runs
from mergebot.ports.sandbox import Caches, Exited, Sandbox, SandboxFailed, Unwanted, Workspaces
from mergebot.ports.signing import VERDICTS, Seals
from mergebot.services.external import Watch
from mergebot.services.gatelog import GateLog, Redaction
from mergebot.services.heartbeat import Desk, Heartbeat
from mergebot.services.keeping import Shelf
from mergebot.services.stepping import Bench, Room, Stepping, what

TrialEnd = tuple[StepResult, ...] | Failed | NoVerdict | None
SETUP = "setup"
SETUP_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Source:
    """Where a gate's commits come from.

    `rebuild` replays an order that this host's mirror does not hold and returns the commit that
    came of it. `setup_from` is the trunk's tip: the gate's setup never sees anything else.
    `trial` asks the repository's own CI, where the gate wants that too. `ended` is called once a
    result is on record: a tick is due.
    """

    git: Git
    rebuild: Callable[[RunOrder], Sha]
    setup_from: Sha
    trial: Callable[[RunOrder, Watch], TrialEnd] = lambda _order, _watch: ()
    ended: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """Runs gates on the `cores` of this host, as `worker`; `redaction` takes what is secret out of output.

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
    cores: Cores = UNKNOWN_CORES

    def gate(self, lane: Lane, run: str, source: Source) -> bool:
        """Run the gate `run` of a lane; True when a result was recorded, and `source` heard of it.

        Raises Unavailable when the store does not answer; the run is then found silent later.
        """
        now = self.clock.now()
        taken = self.runs.take(lane, run, self.worker, now)
        if taken is None:
            return False
        log = GateLog(self.redaction)
        desk = Desk(self.runs, self.logs, self.clock)
        progress = RunProgress(worker=self.worker, started_at=now, beat=now)
        # The workspace is removed last: nobody who waits for the verdict waits for that.
        with ExitStack() as rooms:
            with Heartbeat(desk, lane, run, log, progress) as heartbeat:
                ends_at = now + taken.order.spec.timeout_s
                gate = _Gate(self, lane, taken.order, source, log, heartbeat, rooms, ends_at)
                result = gate.result()
            if result is None or not self.runs.finish(lane, run, result, self.clock.now()):
                return False
            source.ended()
            return True


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
    rooms: ExitStack
    ends_at: float

    def result(self) -> GateResult | None:
        """Run the gate; None once nobody wants it."""
        try:
            self._bring_in()
            with self._caches() as keep:
                workspace = self.rooms.enter_context(self._workspace(self.order.merged))
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
        spec = self.order.spec
        if not (spec.setup and spec.keep):
            yield {}
            return
        digest = self._caches_key()
        with ExitStack() as rooms:

            def fill() -> Mapping[str, str]:
                return self._set_up(rooms.enter_context(self._workspace(self.source.setup_from)))

            caches = self.keeper.caches
            with caches.held(self.lane, digest, fill, self.heartbeat.wanted) as keep:
                rooms.close()
                yield keep

    def _caches_key(self) -> str:
        """Return the identity of what the setup leaves: it sees the trunk's top files alone."""
        spec, tip = self.order.spec, self.source.setup_from
        key = [spec.setup, spec.keep, spec.environment, self.source.git.root_files(tip)]
        key += [spec.image] if spec.image else []
        return hashlib.sha256(json.dumps(key).encode()).hexdigest()

    def _set_up(self, workspace: str) -> Mapping[str, str]:
        spec = self.order.spec
        step = Step(SETUP, spec.setup, SETUP_TIMEOUT_S)
        self.heartbeat.step(SETUP)
        self.log.head(f"{SETUP}: {spec.setup}")
        log = self.log.step()
        room = Room(spec, workspace, {}, {})
        end = self._bench().run(replace(room.order(step), network=True), log)
        if end != Exited(0, end.seconds):
            said = evidence.first_error(evidence.readable(log.output.kept))
            raise _Undecided(f"the gate's setup failed on the trunk: {what(end)}\n{said}".strip())
        self.heartbeat.done(SETUP)
        return {place: f"{workspace}/{place}" for place in spec.keep}

    def _steps(self, workspace: str, keep: Mapping[str, str]) -> GateResult:
        order, keeper, git = self.order, self.keeper, self.source.git
        shelf = Shelf(keeper.runs, keeper.seals, self.lane, keeper.worker)
        names = shelf.names(git, order, self._caches_key() if keep else "")
        room = Room(order.spec, workspace, keep, order.tried)
        bench, begun = self._bench(), keeper.clock.now()
        inside = Stepping(bench, room, self._agenda(), shelf.known(git, order, names)).run()
        if isinstance(inside, Failed):
            return inside
        stepped = keeper.clock.now()
        outside = self._outside()
        if isinstance(outside, Failed):
            return replace(outside, steps=(*inside, *outside.steps))
        if isinstance(outside, NoVerdict):
            return outside
        done = (*inside, *outside)
        gated = Gated(self.lane.key, order.run, order.merged, order.spec.digest)
        passed = Passed(done, keeper.seals.seal(VERDICTS, sealed_text(gated, done)))
        shelf.keep(git, order, names, passed)
        self._note_use(asked(bench.uses, stepped - begun, keeper.clock.now() - stepped))
        return passed

    def _note_use(self, asks: float | None) -> None:
        """Note which share of this host's cores the gate could use, where that is known."""
        if asks is not None and self.keeper.cores.key:
            with suppress(Unavailable):
                self.keeper.runs.note_use(self.lane, self.keeper.cores, asks)

    def _agenda(self) -> Agenda:
        steps = self.order.spec.steps
        if self.order.order is Order.FAIL_FIRST:
            runs = self.keeper.runs
            steps = fail_first(steps, runs.tallies(self.lane), runs.usual_seconds(self.lane))
        return agenda(steps)

    def _bench(self) -> Bench:
        keeper = self.keeper
        return Bench(keeper.sandbox, keeper.clock, self.log, self.heartbeat, self.ends_at)

    def _outside(self) -> tuple[StepResult, ...] | Failed | NoVerdict:
        """Ask the repository's own CI where the gate wants that; raises Unwanted when stopped."""
        if not self.order.spec.external.checks:
            return ()
        self.heartbeat.step("external checks")
        end = self.source.trial(self.order, Watch(self.heartbeat.pause, self.log.head))
        if end is None:
            raise Unwanted(self.order.run)
        return end


def _sentence(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "the disk of the host that runs the gate is full: free some space there"
    return f"the host that runs the gate failed: {error}"
