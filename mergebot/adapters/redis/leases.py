"""Leases on Redis: a key that expires, and a counter beside it that never goes back."""

from dataclasses import replace
from secrets import token_hex

from redis import Redis

from mergebot.adapters.redis.keys import LeaseKeys
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.ports.basics import Clock
from mergebot.ports.leases import HeldLease, LeaseLost

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

    def acquire(self, resource: str, *, ttl_s: float, purpose: str) -> HeldLease | None:
        """Take a lease; while somebody holds it, return None and note that it is wanted."""
        keys = LeaseKeys(resource)
        token = token_hex(16)
        until = self._clock.now() + ttl_s
        words: list[Word] = [token, _milliseconds(ttl_s), purpose]
        generation = self._server.run(_TAKE, [keys.holder, keys.generation], words)
        if generation is None:
            return None
        return HeldLease(resource, token, int(generation), until)

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
        keys = LeaseKeys(lease.resource)
        return bool(self._server.run(_RELEASE, [keys.holder], [lease.token]))


def _milliseconds(seconds: float) -> int:
    return max(1, int(seconds * 1000))
