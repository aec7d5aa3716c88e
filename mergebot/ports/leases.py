"""Exclusive rights with a rising generation."""

from dataclasses import dataclass
from typing import Protocol

from mergebot.domain.ids import Lane


class LeaseLost(Exception):
    """The lease ended before the work did; a newer holder may be at work."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """Proof that this process holds a lane: functions that need it demand it in their signature."""

    resource: str
    token: str
    generation: int
    until: float


def lane_lease(lane: Lane) -> str:
    """Return the resource that whoever decides about a lane and lands on it holds."""
    return f"lane:{lane.key}"


class Leases(Protocol):
    """Exclusive rights with a rising generation. They save work; the git ref saves correctness."""

    def acquire(self, resource: str, *, ttl_s: float, purpose: str) -> HeldLease | None:
        """Take a lease; while somebody holds it, return None and note that it is wanted."""
        ...

    def raise_to(self, resource: str, generation: int) -> None:
        """Let every later holder have a generation above this one, whatever was lost."""
        ...

    def extend(self, lease: HeldLease, *, ttl_s: float) -> HeldLease:
        """Keep it longer; raises LeaseLost."""
        ...

    def release(self, lease: HeldLease) -> bool:
        """Give it back, and tell whether somebody wanted it meanwhile.

        One that is lost already is no error, and tells False.
        """
        ...
