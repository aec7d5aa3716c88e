"""Short texts that all processes of one account share for a while; see adapters/github/shelf.py."""

from redis import Redis
from redis.exceptions import RedisError


class RedisShelf:
    """A shelf in Redis; one that cannot be reached is empty."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def get(self, name: str) -> str | None:
        """Return what was put there, None once its time is over."""
        try:
            found = self._client.get(_key(name))
        except RedisError:
            return None
        return found.decode() if isinstance(found, bytes) else None

    def put(self, name: str, text: str, ttl_s: float) -> None:
        """Keep a text for so many seconds."""
        try:
            self._client.set(_key(name), text, px=max(1, int(ttl_s * 1000)))
        except RedisError:
            return


def _key(name: str) -> str:
    return f"mb:{{forge}}:{name}"
