"""Rings as values, for whoever answers them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mergebot.domain.ids import Lane

Task = Literal["tick", "gate", "publish", "intake"]


@dataclass(frozen=True, slots=True)
class Ring:
    """One ring: what may have work, in which lane, and which run; "" where it names none."""

    task: Task
    lane_key: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class MemoryBell:
    """Hands each ring to whoever answers."""

    ring: Callable[[Ring], None]

    def tick(self, lane: Lane) -> None:
        """Say that a lane may have something to decide."""
        self.ring(Ring("tick", lane.key))

    def gate(self, lane: Lane, run: str) -> None:
        """Say that a gate run waits for a worker."""
        self.ring(Ring("gate", lane.key, run))

    def publish(self, lane: Lane) -> None:
        """Say that a lane has effects to write."""
        self.ring(Ring("publish", lane.key))

    def intake(self) -> None:
        """Say that the inbox has deliveries."""
        self.ring(Ring("intake"))
