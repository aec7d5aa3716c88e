"""How often one address may knock: a bucket of tokens each, in this process's memory.

It keeps a flood from costing more than the answer 429. What is refused here is not lost: a webhook
is a hint, and the reconciler looks by itself.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock

from starlette.requests import Request

from mergebot.web.problems import Problem

ADDRESSES_MAX = 10_000
"""Addresses remembered, the latest ones: a megabyte or two."""


FORGERY_COST = 20.0


@dataclass(slots=True)
class Buckets:
    """Buckets of `burst` tokens that fill by `per_s` a second."""

    burst: float
    per_s: float
    _levels: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, address: str, now: float, cost: float = 1.0) -> bool:
        """Take `cost` tokens of an address, if there is one at all; tell whether there was."""
        with self._lock:
            level, at = self._levels.pop(address, (self.burst, now))
            level = min(self.burst, level + max(now - at, 0.0) * self.per_s)
            allowed = level >= 1.0
            self._levels[address] = (level - cost if allowed else level, now)
            if len(self._levels) > ADDRESSES_MAX:
                self._levels.popitem(last=False)
            return allowed

    def fine(self, request: Request) -> None:
        """Charge an address for a forgery as much as for many genuine requests."""
        self.take(address_of(request), request.app.state.parts.clock.now(), FORGERY_COST)


def hook_buckets() -> Buckets:
    """Return those of the webhook receiver: a forge sends far less than 200 a second."""
    return Buckets(burst=2000, per_s=200)


def login_buckets() -> Buckets:
    """Return those of the sign-in form: ten tries, then one every six seconds."""
    return Buckets(burst=10, per_s=1 / 6)


def knock(request: Request, buckets: Buckets, cost: float = 1.0) -> None:
    """Let a request in, or raise Problem 429."""
    if not buckets.take(address_of(request), request.app.state.parts.clock.now(), cost):
        sentence = "too many requests from this address: wait a moment"
        raise Problem(HTTPStatus.TOO_MANY_REQUESTS, sentence)


def address_of(request: Request) -> str:
    """Return the address that a request came from; a proxy on this host names it."""
    return request.client.host if request.client else ""
