"""Saying that there may be work."""

from typing import Protocol

from mergebot.domain.ids import Lane


class Doorbell(Protocol):
    """Says that there may be work. Rings may be lost, doubled or reordered without harm."""

    def tick(self, lane: Lane) -> None:
        """Say that a lane may have something to decide."""
        ...

    def gate(self, lane: Lane, run: str) -> None:
        """Say that a gate run waits for a worker."""
        ...

    def publish(self, lane: Lane) -> None:
        """Say that a lane has effects to write."""
        ...

    def intake(self) -> None:
        """Say that the inbox has deliveries."""
        ...
