"""A gate's output on its way to people: redacted, hashed, kept in part, written in batches."""

import hashlib
from collections.abc import Callable
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


class StepLog:
    """One step's output on its way into the gate's log; `label` opens each line where steps mix."""

    def __init__(self, redaction: Redaction, sink: Callable[[bytes], None], label: str) -> None:
        self._redaction = redaction
        self._stream = redaction.stream()
        self._sink = sink
        self._label = label.encode()
        self._line = b""
        self.output = StepOutput()

    def write(self, data: bytes) -> None:
        """Take in what the step printed."""
        self._show(self._stream.feed(data))

    def end(self) -> None:
        """Hold nothing of the output back any longer: the step's process ended."""
        self._show(self._stream.close())
        self._stream = self._redaction.stream()
        if self._line:
            self._sink(self._label + self._line + b"\n")
            self._line = b""

    def again(self) -> None:
        """Begin with another try of the step."""
        self.output.again()

    def _show(self, shown: bytes) -> None:
        self.output.add(shown)
        if not self._label:
            self._sink(shown)
            return
        *lines, self._line = (self._line + shown).split(b"\n")
        self._sink(b"".join(self._label + line + b"\n" for line in lines))


class GateLog:
    """Collects a gate's output from its steps and hands it out in batches to another thread."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._waiting = bytearray()
        self._lock = Lock()

    def head(self, line: str) -> None:
        """Write a line of the gate's own between the steps' outputs."""
        shown = self._redaction.data(f"[mergebot] {line}\n".encode())
        with self._lock:
            fresh = not self._waiting or self._waiting.endswith(b"\n")
            self._waiting += shown if fresh else b"\n" + shown

    def step(self, label: str = "") -> StepLog:
        """Return the log of a step that begins."""
        return StepLog(self._redaction, self._keep, label)

    def _keep(self, shown: bytes) -> None:
        with self._lock:
            self._waiting += shown

    def take(self) -> bytes:
        """Return what was not handed out yet."""
        with self._lock:
            batch = bytes(self._waiting)
            self._waiting.clear()
        return batch
