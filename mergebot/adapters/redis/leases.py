"""Leases on Redis: a key that expires, and a counter beside it that never goes back.

A process that lives keeps its leases: a thread extends them, so that their time can be short and a
killed holder is replaced soon.
"""

import threading
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex

from redis import Redis

from mergebot.adapters.redis.keys import LeaseKeys
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.ports.basics import Clock
from mergebot.ports.errors import Unavailable
from mergebot.ports.leases import HeldLease, LeaseLost

KEPT_FROM_S = 10.0
"""A shorter lease is meant to end by itself."""

KEEP_EVERY_S = 4.0

_TAKE = Script("lease")
_RAISE = Script("lease_raise")
_EXTEND = Script("lease_extend")
_RELEASE = Script("lease_release")


class RedisLeases:
    """Exclusive rights. Its errors are Unavailable and LeaseLost.

    Redis's own clock ends a lease; `until` says when by the holder's clock.
    """

    def __init__(self, client: Redis, clock: Clock) -> None:
        self._server = Server(client)
        self._clock = clock
        self._guard = threading.Lock()
        self._held: dict[str, tuple[HeldLease, float]] = {}
        self._keeper: threading.Thread | None = None

    def acquire(self, resource: str, *, ttl_s: float, purpose: str) -> HeldLease | None:
        """Take a lease; while somebody holds it, return None and note that it is wanted."""
        keys = LeaseKeys(resource)
        token = token_hex(16)
        until = self._clock.now() + ttl_s
        words: list[Word] = [token, _milliseconds(ttl_s), purpose]
        generation = self._server.run(_TAKE, [keys.holder, keys.generation], words)
        if generation is None:
            return None
        lease = HeldLease(resource, token, int(generation), until)
        if ttl_s >= KEPT_FROM_S:
            self._keep(lease, ttl_s)
        return lease

    def raise_to(self, resource: str, generation: int) -> None:
        """Let every later holder have a generation above this one, whatever was lost."""
        self._server.run(_RAISE, [LeaseKeys(resource).generation], [generation])

    def extend(self, lease: HeldLease, *, ttl_s: float) -> HeldLease:
        """Keep it longer; raises LeaseLost."""
        until = self._clock.now() + ttl_s
        words: list[Word] = [lease.token, _milliseconds(ttl_s)]
        if not self._server.run(_EXTEND, [LeaseKeys(lease.resource).holder], words):
            raise LeaseLost(f"the lease on {lease.resource} ended; somebody else may hold it")
        return replace(lease, until=until)

    def release(self, lease: HeldLease) -> bool:
        """Give it back, and tell whether somebody wanted it meanwhile; False if it was lost."""
        self._forget(lease)
        keys = LeaseKeys(lease.resource)
        return bool(self._server.run(_RELEASE, [keys.holder], [lease.token]))

    def _keep(self, lease: HeldLease, ttl_s: float) -> None:
        with self._guard:
            self._held[lease.token] = lease, ttl_s
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._extend_all, daemon=True, name="leases")
                self._keeper.start()

    def _forget(self, lease: HeldLease) -> None:
        with self._guard:
            self._held.pop(lease.token, None)

    def _extend_all(self) -> None:
        """Extend what is held until nothing was for a while; the next lease starts this anew."""
        while True:
            threading.Event().wait(KEEP_EVERY_S)
            with self._guard:
                held = list(self._held.values())
                if not held:
                    self._keeper = None
                    return
            for lease, ttl_s in held:
                with suppress(Unavailable):
                    self._extend_one(lease, ttl_s)

    def _extend_one(self, lease: HeldLease, ttl_s: float) -> None:
        try:
            self.extend(lease, ttl_s=ttl_s)
        except LeaseLost:
            self._forget(lease)


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))
