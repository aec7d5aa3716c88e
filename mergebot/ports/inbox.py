"""Verified deliveries, durable before they are answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Delivery:
    """A verified webhook: `guid` names the delivery, `body` is its JSON as received."""

    position: str
    guid: str
    event: str
    body: bytes


class Inbox(Protocol):
    """Verified deliveries, durable before they are answered, and handled at least once."""

    def put(self, guid: str, event: str, body: bytes) -> bool:
        """Keep a delivery; False when this GUID was kept within the last seven days."""
        ...

    def take(self, *, limit: int) -> Sequence[Delivery]:
        """Return deliveries that are not done yet, oldest first."""
        ...

    def done(self, delivery: Delivery) -> None:
        """Drop a delivery that was handled."""
        ...

    def begin(self, delivery: Delivery) -> int:
        """Count, before it runs, that a delivery is about to be handled; return how often so far."""
        ...

    def put_back(self, delivery: Delivery) -> None:
        """Leave a delivery for later without holding this attempt against it."""
        ...

    def set_aside(self, delivery: Delivery) -> None:
        """Take a delivery out that nobody can handle; the newest such ones are kept for a look."""
        ...

    def aside(self) -> int:
        """Return how many deliveries were set aside and are kept."""
        ...

    def depth(self) -> int:
        """Return how many deliveries wait."""
        ...
