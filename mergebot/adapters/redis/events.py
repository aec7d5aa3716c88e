"""News of lanes, for pages that follow them; only a hint that there is something to read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from redis import Redis

from mergebot.adapters.redis.keys import EVENTS
from mergebot.adapters.redis.server import sorted_errors


@dataclass(frozen=True, slots=True)
class Moved:
    """A lane changed: its record, at a new revision, or a run of it, at the same revision."""

    lane_key: str
    revision: int


class RedisEvents:
    """What every commit and every step of a run announces."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def listen(self, *, timeout_s: float) -> Iterator[Moved | None]:
        """Yield each change from now on, and None whenever nothing happened for `timeout_s`.

        Blocks, so it belongs in a thread of its own; closing the iterator ends the subscription.
        Raises Unavailable when the connection breaks: news in between is lost, so read again.
        """
        client: Any = self._client
        with sorted_errors(), client.pubsub(ignore_subscribe_messages=True) as subscription:
            subscription.subscribe(EVENTS)
            while True:
                message = subscription.get_message(timeout=timeout_s)
                yield _moved(message["data"]) if message else None


def _moved(data: bytes) -> Moved | None:
    key, _, revision = data.decode().rpartition(" ")
    return Moved(key, int(revision)) if key and revision.isdigit() else None
