"""When the reconciler last went round, kept in Redis for everybody who watches it."""

from redis import Redis
from redis.exceptions import RedisError

from mergebot.ports.errors import Unavailable

_KEY = "mb:reconciled"


class RedisPulse:
    """The reconciler's sign of life. Its errors are Unavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def beat(self, now: float) -> None:
        """Say that a round is done."""
        try:
            self._client.set(_KEY, repr(now))
        except RedisError as error:
            raise Unavailable("Redis cannot be reached.") from error

    def last(self) -> float | None:
        """Return when the last round was done, None before the first."""
        try:
            found = self._client.get(_KEY)
        except RedisError as error:
            raise Unavailable("Redis cannot be reached.") from error
        return float(found) if isinstance(found, bytes) else None
