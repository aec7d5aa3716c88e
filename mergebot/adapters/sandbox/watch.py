"""The worker's end of a step: its output as it comes, its limits of time and size, its end."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Self

from mergebot.adapters.sandbox.bounds import MIB, Bounds
from mergebot.domain import limits
from mergebot.domain.capacity import Use
from mergebot.ports.sandbox import OverLimit, SandboxFailed, StepEnd, Stopped, TimedOut

SUPERVISOR = Path(__file__).with_name("supervisor.py")
ASK_S = 0.1
CHUNK_BYTES = 64 * 1024
DRAIN_S = 1.0
KILL_WAIT_S = 10.0
SAID_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Launch:
    """What the supervisor starts; `fds` stay open for it, `uid` is None to stay who we are.

    With a `uid`, the directories in `stage` are shown to it as /tmp/0, /tmp/1 and so on. Where it
    has to kill, it runs the command `after` then, for what is not below it. What is left below it
    once the step ended by itself is killed after `grace_s`.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str
    workspace: str
    bounds: Bounds
    uid: int | None = None
    fds: tuple[int, ...] = ()
    stage: tuple[str, ...] = ()
    rlimits: Mapping[str, int] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    grace_s: float = 0.0

    def order(self) -> bytes:
        """Return the line that the supervisor reads."""
        document = {
            "argv": self.argv,
            "environment": dict(self.environment),
            "cwd": self.cwd,
            "workspace": self.workspace,
            "uid": self.uid,
            "stage": self.stage,
            "rlimits": dict(self.rlimits),
            "after": self.after,
            "grace_s": self.grace_s,
            "memory_bytes": self.bounds.memory_bytes,
            "disk_bytes": self.bounds.disk_bytes,
            "processes": self.bounds.processes,
        }
        return json.dumps(document).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Ended:
    """The step's process ended by itself; `said` is the end of what it printed."""

    code: int
    seconds: float
    said: bytes
    use: Use


class _Asker:
    """Asks in a thread of its own whether the step is still wanted, so that output never waits."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._over = Event()
        self._thread = Thread(target=self._ask, daemon=True, name="sandbox-wanted")
        self.wake, self._ring = os.pipe()
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        os.close(self.wake)
        os.close(self._ring)

    def _ask(self) -> None:
        try:
            while not self._over.wait(ASK_S):
                if not self._wanted():
                    break
        except BaseException as error:  # noqa: BLE001  it is raised again in the thread that runs the step
            self.error = error
        if not self._over.is_set():
            os.write(self._ring, b"x")


@dataclass(slots=True)
class Watcher:
    """One step under watch; `output` gets at most limits.OUTPUT_BYTES_MAX."""

    output: Callable[[bytes], None]
    timeout_s: float
    output_bytes_max: int = limits.OUTPUT_BYTES_MAX
    _printed: int = 0
    _said: bytes = b""
    _report: bytes = b""
    _reason: Callable[[float], StepEnd] | None = None
    _give_up_at: float = field(default=float("inf"))

    def run(self, launch: Launch, wanted: Callable[[], bool]) -> StepEnd | Ended:
        """Run `launch` to its end; nothing of it is alive when this returns or raises."""
        started = monotonic()
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", SUPERVISOR],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            bufsize=0,
            pass_fds=launch.fds,
            start_new_session=True,
        )
        try:
            with _Asker(wanted) as asker:
                _give(supervisor, launch.order())
                self._listen(supervisor, asker, deadline=started + self.timeout_s)
                if asker.error:
                    raise asker.error
        finally:
            _finish(supervisor)
        return self._end(monotonic() - started)

    def _listen(
        self, supervisor: subprocess.Popen[bytes], asker: _Asker, *, deadline: float
    ) -> None:
        out, report = _fd(supervisor.stdout), _fd(supervisor.stderr)
        with selectors.DefaultSelector() as selector:
            for fd in (out, report, asker.wake):
                selector.register(fd, selectors.EVENT_READ)
            while {out, report} & set(selector.get_map()):
                until = deadline if self._reason is None else self._give_up_at
                ready = selector.select(max(0.0, min(until, self._give_up_at) - monotonic()))
                if not ready and monotonic() >= self._give_up_at:
                    return
                if not ready and report in selector.get_map():
                    self._kill(supervisor, TimedOut)
                for key, _ in ready:
                    if key.fd == asker.wake:
                        selector.unregister(asker.wake)
                        self._kill(supervisor, Stopped)
                    elif not self._hear(supervisor, key.fd, key.fd == out):
                        selector.unregister(key.fd)

    def _hear(self, supervisor: subprocess.Popen[bytes], fd: int, printed: bool) -> bool:  # noqa: FBT001  private, one call
        data = os.read(fd, CHUNK_BYTES)
        if not printed:
            self._report += data
            if not data:
                self._give_up_at = monotonic() + DRAIN_S
            return bool(data)
        room = self.output_bytes_max - self._printed
        self._printed += len(data)
        if room > 0 and data:
            self._said = (self._said + data[:room])[-SAID_BYTES:]
            self.output(data[:room])
        if self._printed > self.output_bytes_max and self._reason is None:
            what = f"the step printed more than {self.output_bytes_max // MIB} MiB"
            self._kill(supervisor, lambda seconds: OverLimit(what, seconds))
        return bool(data)

    def _kill(
        self, supervisor: subprocess.Popen[bytes], reason: Callable[[float], StepEnd]
    ) -> None:
        if self._reason is None:
            self._reason = reason
            self._give_up_at = monotonic() + KILL_WAIT_S
        if supervisor.stdin:
            supervisor.stdin.close()

    def _end(self, seconds: float) -> StepEnd | Ended:
        if self._reason:
            return self._reason(seconds)
        if not self._report:
            raise SandboxFailed("the process that supervises the step was killed")
        report = json.loads(self._report)
        if "over" in report:
            return OverLimit(report["over"], seconds)
        code = os.waitstatus_to_exitcode(report["status"])
        return Ended(code if code >= 0 else 128 - code, seconds, self._said, _use(report))


def _use(report: Mapping[str, float]) -> Use:
    """Return what the step used, by the supervisor's report.

    With a core for each of its threads, the same work would have taken as many times less as were
    ready on average; the time in which none of them was ready stays.
    """
    cpu_s, wall_s, still_s = report["cpu_s"], report["wall_s"], report["still_s"]
    looked_s = report["busy_s"] + still_s
    if not report["busy_s"] or not looked_s:
        return Use(cpu_s, wall_s, wall_s)
    at_once = report["ready_s"] / report["busy_s"]
    return Use(cpu_s, wall_s, cpu_s / at_once + wall_s * still_s / looked_s)


def _fd(pipe: object) -> int:
    return int(pipe.fileno())  # type: ignore[attr-defined]  # Popen gives a file for each PIPE


def _give(supervisor: subprocess.Popen[bytes], order: bytes) -> None:
    try:
        if supervisor.stdin and supervisor.stdin.write(order) == len(order):
            return
    except BrokenPipeError:
        pass
    raise SandboxFailed("the process that supervises the step did not start")


def _finish(supervisor: subprocess.Popen[bytes]) -> None:
    """End the supervisor, and with it whatever is left of the step."""
    if supervisor.stdin:
        supervisor.stdin.close()
    try:
        supervisor.wait(timeout=KILL_WAIT_S)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()
    for pipe in (supervisor.stdout, supervisor.stderr):
        if pipe:
            pipe.close()
