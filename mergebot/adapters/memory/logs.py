"""Gate output over dictionaries."""

from dataclasses import dataclass
from threading import RLock

from mergebot.adapters.record import log_view
from mergebot.domain.ids import Lane
from mergebot.domain.limits import LOG_BYTES_MAX


@dataclass(slots=True)
class _Log:
    head: bytes = b""
    tail: bytes = b""
    cut: int = 0


class MemoryLogs:
    """The output of gate runs; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._logs: dict[tuple[str, str], _Log] = {}

    def append(self, lane: Lane, run: str, data: bytes) -> None:
        """Add output; what exceeds the cap is dropped in the middle."""
        half = LOG_BYTES_MAX // 2
        with self._lock:
            log = self._logs.setdefault((lane.key, run), _Log())
            room = half - len(log.head)
            log.head += data[:room]
            tail = log.tail + data[room:]
            log.tail = tail[-half:]
            log.cut += len(tail) - len(log.tail)

    def read(self, lane: Lane, run: str, *, offset: int = 0) -> tuple[bytes, int]:
        """Return output from `offset` on, and the offset to go on from."""
        with self._lock:
            log = self._logs.get((lane.key, run), _Log())
            return log_view(log.head, log.tail, cut=log.cut, offset=offset)
