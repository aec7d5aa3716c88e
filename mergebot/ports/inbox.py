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

    def depth(self) -> int:
        """Return how many deliveries wait."""
        ...
