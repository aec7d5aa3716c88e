"""A gate's output on its way to people: redacted, hashed, kept in part, written in batches."""

import hashlib
from threading import Lock
from typing import Protocol

from mergebot.domain import limits


class RedactedStream(Protocol):
    """Redacts one output that comes in chunks; it holds back what may be half a secret."""

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk and return what can be shown by now."""
        ...

    def close(self) -> bytes:
        """Return the rest."""
        ...


class Redaction(Protocol):
    """Takes what is secret out of what gates print."""

    def data(self, data: bytes) -> bytes:
        """Return whole data without its secrets."""
        ...

    def stream(self) -> RedactedStream:
        """Return what redacts one output."""
        ...


class StepOutput:
    """One step's output over all its tries: its digest, and its start and end for evidence."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._start = b""
        self._end = b""
        self._half = limits.LOG_BYTES_MAX // 2

    def add(self, data: bytes) -> None:
        """Take in redacted output."""
        self._digest.update(data)
        room = self._half - len(self._start)
        self._start += data[:room]
        if rest := data[room:]:
            self._end = (self._end + rest)[-self._half :]

    def again(self) -> None:
        """Start a new try: evidence is about the last one, the digest about all of them."""
        self._start = self._end = b""

    @property
    def digest(self) -> str:
        """Return the SHA-256 of everything so far."""
        return self._digest.hexdigest()

    @property
    def kept(self) -> bytes:
        """Return the start and the end of the last try's output."""
        return self._start + self._end


class GateLog:
    """Collects a gate's output from one thread and hands it out in batches to another."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._stream = redaction.stream()
        self._waiting = bytearray()
        self._lock = Lock()
        self.step = StepOutput()

    def head(self, line: str) -> None:
        """Write a line of the gate's own between the steps' outputs."""
        shown = self._redaction.data(f"[mergebot] {line}\n".encode())
        with self._lock:
            fresh = not self._waiting or self._waiting.endswith(b"\n")
            self._waiting += shown if fresh else b"\n" + shown

    def start(self) -> None:
        """Begin with a new step."""
        self.step = StepOutput()

    def again(self) -> None:
        """Begin with another try of the step."""
        self.step.again()

    def write(self, data: bytes) -> None:
        """Take in what the step printed."""
        self._keep(self._stream.feed(data))

    def end(self) -> None:
        """Hold nothing of the output back any longer: the step's process ended."""
        self._keep(self._stream.close())
        self._stream = self._redaction.stream()

    def _keep(self, shown: bytes) -> None:
        self.step.add(shown)
        with self._lock:
            self._waiting += shown

    def take(self) -> bytes:
        """Return what was not handed out yet."""
        with self._lock:
            batch = bytes(self._waiting)
            self._waiting.clear()
        return batch
