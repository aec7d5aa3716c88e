"""When each part last made progress, kept in Redis for everybody who watches it."""

from redis import Redis
from redis.exceptions import RedisError

from mergebot.ports.errors import Unavailable

RECONCILER, HANDS = "reconciler", "hands"
"""The parts that every host watches: who goes round, and who answers the doorbell."""

_KEY = "mb:pulse"


class RedisPulse:
    """The parts' signs of life. Its errors are Unavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def beat(self, now: float, part: str = RECONCILER) -> None:
        """Say that a part got something done."""
        try:
            self._client.hset(_KEY, part, repr(now))
        except RedisError as error:
            raise Unavailable("Redis cannot be reached.") from error

    def last(self, part: str = RECONCILER) -> float | None:
        """Return when a part last got something done, None before the first time."""
        try:
            found = self._client.hget(_KEY, part)
        except RedisError as error:
            raise Unavailable("Redis cannot be reached.") from error
        return float(found) if isinstance(found, bytes) else None
