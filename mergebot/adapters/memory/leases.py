"""Leases over dictionaries."""

from dataclasses import replace
from threading import RLock

from mergebot.ports.basics import Clock
from mergebot.ports.leases import HeldLease, LeaseLost


class MemoryLeases:
    """Exclusive rights; safe to use from several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = RLock()
        self._held: dict[str, HeldLease] = {}
        self._generations: dict[str, int] = {}
        self._wanted: set[str] = set()

    def _holder(self, resource: str) -> HeldLease | None:
        held = self._held.get(resource)
        return held if held and held.until > self._clock.now() else None

    def _owns(self, lease: HeldLease) -> bool:
        held = self._holder(lease.resource)
        return held is not None and held.token == lease.token

    def acquire(self, resource: str, *, ttl_s: float, purpose: str) -> HeldLease | None:
        """Take a lease; while somebody holds it, return None and note that it is wanted."""
        with self._lock:
            if self._holder(resource):
                self._wanted.add(resource)
                return None
            self._wanted.discard(resource)
            generation = self._generations.get(resource, 0) + 1
            self._generations[resource] = generation
            token = f"{purpose}-{generation:016x}"
            lease = HeldLease(resource, token, generation, self._clock.now() + ttl_s)
            self._held[resource] = lease
            return lease

    def raise_to(self, resource: str, generation: int) -> None:
        """Let every later holder have a generation above this one, whatever was lost."""
        with self._lock:
            known = self._generations.get(resource, 0)
            self._generations[resource] = max(known, generation)

    def extend(self, lease: HeldLease, *, ttl_s: float) -> HeldLease:
        """Keep it longer; raises LeaseLost."""
        with self._lock:
            if not self._owns(lease):
                raise LeaseLost(f"the lease on {lease.resource} ended; somebody else may hold it")
            longer = replace(lease, until=self._clock.now() + ttl_s)
            self._held[lease.resource] = longer
            return longer

    def release(self, lease: HeldLease) -> bool:
        """Give it back, and tell whether somebody wanted it meanwhile; False if it was lost."""
        with self._lock:
            if not self._owns(lease):
                return False
            del self._held[lease.resource]
            return lease.resource in self._wanted
