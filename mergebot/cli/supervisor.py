"""Child processes as one: started in order, restarted when they fall, stopped in order.

Signals are read, not handled: they are blocked and waited for, so that nothing runs at an odd
moment. Every child sits in a process group of its own (a Ctrl-C in the terminal reaches only the
supervisor, which then stops the children in order) and dies with the supervisor however that ends.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import IO, Protocol, Self

from mergebot.adapters.processes import Forked, die_with_parent

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EARLY_S = 15.0
"""A child that ends this soon after its very first start has refused to start."""

POLL_S = 0.05
"""How often what is waited for is looked at."""

STEADY_S = 60.0
"""A child that ran this long starts without a wait again."""

BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class CannotStart(Exception):
    """A child ended as soon as it had been started; its own words are on stderr."""


class Interrupted(Exception):
    """A signal asked to stop before what was waited for became true."""


@dataclass(frozen=True, slots=True)
class Part:
    """A child to keep running: a program, or a function that a copy of this process calls.

    `stop_within_s` is how long it may take to finish its work. Parts of a lower `rank` are stopped
    first. What a program logs goes to `log`, or where ours goes; what it prints for people goes
    nowhere. `environment` and `log` are for programs.
    """

    name: str
    command: Sequence[str] | Callable[[], int]
    rank: int = 0
    stop_within_s: float = 10.0
    environment: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    kill_with_parent: signal.Signals = signal.SIGKILL


class _Process(Protocol):
    def poll(self) -> int | None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


@dataclass(slots=True)
class _Child:
    part: Part
    process: _Process | None = None
    since: float = 0.0
    falls: int = 0
    due: float = 0.0


class Supervisor:
    """Keeps parts running until a signal, or `stop`, ends them all."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._children: list[_Child] = []
        # One that is ignored (nohup, or a shell's background) stays ignored.
        heeded = [each for each in STOPPING if signal.getsignal(each) is not signal.SIG_IGN]
        self._watched = frozenset({*heeded, signal.SIGCHLD})
        self._mask: Iterable[int] = ()

    def __enter__(self) -> Self:
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def start(self, part: Part) -> None:
        """Start a part."""
        child = _Child(part)
        self._children.append(child)
        self._spawn(child)

    def watch(self, *, until: Callable[[], bool], within_s: float) -> bool:
        """Keep everything running until `until` is true or time is over; return whether it is.

        Raises CannotStart, and Interrupted when a signal asks to stop.
        """
        deadline = monotonic() + within_s
        while not until():
            if monotonic() > deadline:
                return False
            if self._turn(POLL_S):
                raise Interrupted
        return True

    def run(self, beside: Callable[[], object] = lambda: None) -> None:
        """Keep everything running until a signal asks to stop; do `beside` about every second.

        Raises CannotStart.
        """
        while not self._turn(1.0):
            beside()

    def restart(self, name: str) -> None:
        """Kill a part that runs and does nothing; it is started again as one that fell."""
        for child in self._children:
            if child.part.name == name and child.process is not None:
                self._tell(f"{name} is silent and is stopped")
                child.process.kill()

    def stop(self) -> None:
        """Stop rank by rank; a second signal cuts the patience short."""
        for rank in sorted({each.part.rank for each in self._children}):
            self._stop([each for each in self._children if each.part.rank == rank])
        self._children.clear()

    def _turn(self, wait_s: float) -> bool:
        """Wait for a signal at most `wait_s`, mend what fell; True when asked to stop."""
        heard = signal.sigtimedwait(self._watched, wait_s)
        if heard is not None and heard.si_signo in STOPPING:
            return True
        now = monotonic()
        for child in self._children:
            if child.process is None:
                if now >= child.due:
                    self._spawn(child)
            elif (code := child.process.poll()) is not None:
                self._fell(child, now, code)
        return False

    def _fell(self, child: _Child, now: float, code: int) -> None:
        child.process = None
        lived = now - child.since
        if child.falls == 0 and lived < EARLY_S and code > 0:
            raise CannotStart(f"{child.part.name} could not start.")
        child.falls = 1 if lived > STEADY_S else child.falls + 1
        wait = BACKOFF_S[min(child.falls, len(BACKOFF_S)) - 1]
        child.due = now + wait
        self._tell(f"{child.part.name} {_how(code)} and is started again in {wait:g} s")

    def _spawn(self, child: _Child) -> None:
        command = child.part.command
        child.since = monotonic()
        if callable(command):
            child.process = Forked(partial(_prepared, child.part, command))
        else:
            child.process = _program(child.part, command)

    def _stop(self, children: Sequence[_Child]) -> None:
        running = [each for each in children if each.process is not None]
        deadlines = {}
        for child in running:
            if child.process:
                child.process.terminate()
                deadlines[child.part.name] = monotonic() + child.part.stop_within_s
        hurry = False
        while left := [each for each in running if each.process and each.process.poll() is None]:
            for child in left:
                if child.process and (hurry or monotonic() > deadlines[child.part.name]):
                    child.process.kill()
            heard = signal.sigtimedwait(self._watched, 0.1)
            hurry = hurry or (heard is not None and heard.si_signo in STOPPING)


def _program(part: Part, command: Sequence[str]) -> subprocess.Popen[bytes]:
    output: IO[bytes] | None = part.log.open("ab") if part.log else None
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL,
            stderr=output,
            env={**os.environ, **part.environment},
            process_group=0,
            preexec_fn=lambda: _prepare(part),  # noqa: PLW1509  # no other thread runs here
        )
    finally:
        if output is not None:
            output.close()


def _prepared(part: Part, work: Callable[[], int]) -> int:
    _prepare(part)
    return work()


def _prepare(part: Part) -> None:
    die_with_parent(part.kill_with_parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*STOPPING, signal.SIGCHLD})


def _how(code: int) -> str:
    return f"ended with {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
