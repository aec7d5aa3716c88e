"""The inbox over dictionaries."""

from collections.abc import Sequence
from threading import RLock

from mergebot.adapters.record import GUID_KEEP_S
from mergebot.domain.limits import ASIDE_MAX
from mergebot.ports.basics import Clock
from mergebot.ports.inbox import Delivery


class MemoryInbox:
    """Verified deliveries; safe to use from several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = RLock()
        self._count = 0
        self._waiting: dict[str, Delivery] = {}
        self._seen: dict[str, float] = {}
        self._begun: dict[str, int] = {}
        self._aside: list[Delivery] = []

    def put(self, guid: str, event: str, body: bytes) -> bool:
        """Keep a delivery; False when this GUID was kept within the last seven days."""
        with self._lock:
            now = self._clock.now()
            if self._seen.get(guid, 0.0) > now:
                return False
            self._seen[guid] = now + GUID_KEEP_S
            self._count += 1
            position = f"0-{self._count}"
            self._waiting[position] = Delivery(position, guid, event, body)
            return True

    def take(self, *, limit: int) -> Sequence[Delivery]:
        """Return deliveries that are not done yet, oldest first."""
        with self._lock:
            return list(self._waiting.values())[: max(limit, 0)]

    def done(self, delivery: Delivery) -> None:
        """Drop a delivery that was handled."""
        with self._lock:
            self._waiting.pop(delivery.position, None)
            self._begun.pop(delivery.position, None)

    def begin(self, delivery: Delivery) -> int:
        """Count, before it runs, that a delivery is about to be handled; return how often so far."""
        with self._lock:
            self._begun[delivery.position] = self._begun.get(delivery.position, 0) + 1
            return self._begun[delivery.position]

    def put_back(self, delivery: Delivery) -> None:
        """Leave a delivery for later without holding this attempt against it."""
        with self._lock:
            self._begun.pop(delivery.position, None)

    def set_aside(self, delivery: Delivery) -> None:
        """Take a delivery out that nobody can handle; the newest such ones are kept for a look."""
        with self._lock:
            self.done(delivery)
            self._aside = [*self._aside, delivery][-ASIDE_MAX:]

    def aside(self) -> int:
        """Return how many deliveries were set aside and are kept."""
        with self._lock:
            return len(self._aside)

    def depth(self) -> int:
        """Return how many deliveries wait."""
        with self._lock:
            return len(self._waiting)
