"""Running one program inside bounds: time, output and memory, its whole process group killed."""

import os
import resource
import selectors
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import IO

from mergebot.ports.errors import Unavailable

MEMORY_BYTES_MAX = 4 * 1024**3
"""Of one process: a hostile pack or a merge of a million paths stops here, not at the host."""

STDERR_BYTES_MAX = 64 * 1024
"""Nobody reads more of what a failing program says."""

_CHUNK_BYTES = 1 << 16
_GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one program may run and how much it may print."""

    time_s: float
    output_bytes: int = 64 * 1024 * 1024


LOCAL = Limits(60.0)


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run; `stdout` is a file descriptor to write to, or PIPE to collect it."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdin: bytes = b""
    limits: Limits = LOCAL
    pass_fds: tuple[int, ...] = ()
    stdout: int = subprocess.PIPE


@dataclass(slots=True)
class _Collected:
    limit: int
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, chunk: bytes) -> None:
        self.parts.append(chunk[: max(0, self.limit - self.size)])
        self.size += len(chunk)

    @property
    def full(self) -> bool:
        return self.size > self.limit


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program returned; `cut` says that it printed too much and was stopped for that."""

    code: int
    out: bytes
    err: str
    cut: bool

    @property
    def text(self) -> str:
        """Return the output as text without its last newline, no byte lost."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")

    @property
    def lines(self) -> list[str]:
        """Return the output's lines; names may hold what Python, too, takes for the end of one."""
        return self.text.split("\n") if self.text else []


def perform(job: Job) -> Answer:
    """Run a job to its end; raises Unavailable when its time is over."""
    with _stdin(job.stdin) as stdin:
        process = subprocess.Popen(
            job.argv,
            stdin=stdin,
            stdout=job.stdout,
            stderr=subprocess.PIPE,
            env=dict(job.env),
            pass_fds=job.pass_fds,
            start_new_session=True,
        )
    try:
        _bound_memory(process.pid)
        out, err = _collect(process, job.limits)
    finally:
        _end(process)
    said = b"".join(err.parts).decode("utf-8", "replace")
    return Answer(process.returncode, b"".join(out.parts), said, out.full)


def _stdin(content: bytes) -> IO[bytes]:
    if not content:
        return open(os.devnull, "rb")  # noqa: PTH123 - a device, not a path
    held = os.fdopen(os.memfd_create("stdin"), "w+b")
    held.write(content)
    held.seek(0)
    return held


def _bound_memory(pid: int) -> None:
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))


def _collect(process: subprocess.Popen[bytes], limits: Limits) -> tuple[_Collected, _Collected]:
    deadline = monotonic() + limits.time_s
    out, err = _Collected(limits.output_bytes), _Collected(STDERR_BYTES_MAX)
    with selectors.DefaultSelector() as ready:
        for stream, into in ((process.stdout, out), (process.stderr, err)):
            if stream is not None:
                ready.register(stream, selectors.EVENT_READ, into)
        while ready.get_map() and not out.full:
            events = ready.select(max(0.0, deadline - monotonic()))
            if not events and monotonic() >= deadline:
                raise _late(limits)
            for key, _ in events:
                chunk = os.read(key.fd, _CHUNK_BYTES)
                key.data.add(chunk)
                if not chunk:
                    ready.unregister(key.fileobj)
    if not out.full and not _ends(process, max(0.0, deadline - monotonic())):
        raise _late(limits)
    return out, err


def _ends(process: subprocess.Popen[bytes], within_s: float) -> bool:
    """Wait for the end itself: Popen.wait looks for it, at first every millisecond."""
    end = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(end, selectors.EVENT_READ)
            if not ready.select(within_s):
                return False
    finally:
        os.close(end)
    process.wait()
    return True


def _late(limits: Limits) -> Unavailable:
    return Unavailable(f"git did not end within {limits.time_s:g} seconds")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop what still runs, politely first: git then removes its lock files."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, sign)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
