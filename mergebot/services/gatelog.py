"""A gate's output on its way to people: redacted, hashed, kept in part, written in batches."""

import hashlib
from collections.abc import Callable
from threading import Lock

from mergebot.domain import limits

Redact = Callable[[bytes], bytes]

HOLD_BYTES = 512
"""Held back of a line that is not complete: a secret may still be arriving. None is longer."""

LINE_BYTES_MAX = 64 * 1024
"""A line that grows beyond this is cut all the same."""


class RedactedStream:
    """Redacts a stream so that a secret split between two chunks is seen whole."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take more of the stream and return what can be shown by now."""
        self._held += data
        cut = self._held.rfind(b"\n") + 1
        if not cut and len(self._held) <= LINE_BYTES_MAX:
            cut = self._seam(len(self._held) - HOLD_BYTES)
        elif not cut:
            cut = self._seam(len(self._held) - HOLD_BYTES) or len(self._held)
        shown, self._held = self._held[:cut], self._held[cut:]
        return self._redact(shown) if shown else b""

    def end(self) -> bytes:
        """Return what was held back."""
        shown, self._held = self._held, b""
        return self._redact(shown) if shown else b""

    def _seam(self, cut: int) -> int:
        """Return `cut` where no secret lies across it, else 0."""
        if cut <= 0:
            return 0
        parts = self._redact(self._held[:cut]) + self._redact(self._held[cut:])
        return cut if parts == self._redact(self._held) else 0


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

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._stream = RedactedStream(redact)
        self._waiting = bytearray()
        self._lock = Lock()
        self.step = StepOutput()

    def head(self, line: str) -> None:
        """Write a line of the gate's own between the steps' outputs."""
        with self._lock:
            self._waiting += self._redact(f"\n[mergebot] {line}\n".encode())

    def start(self) -> None:
        """Begin with a new step."""
        self._stream = RedactedStream(self._redact)
        self.step = StepOutput()

    def again(self) -> None:
        """Begin with another try of the step."""
        self.step.again()

    def write(self, data: bytes) -> None:
        """Take in what the step printed."""
        self._keep(self._stream.feed(data))

    def end(self) -> None:
        """Hold nothing of the output back any longer: the step's process ended."""
        self._keep(self._stream.end())

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
