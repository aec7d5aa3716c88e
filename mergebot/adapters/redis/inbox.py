"""The inbox on Redis: a stream that is read from its start until a delivery is done."""

from collections.abc import Sequence

from redis import Redis

from mergebot.adapters.record import GUID_KEEP_S
from mergebot.adapters.redis.keys import ASIDE, BEGUN, INBOX, seen
from mergebot.adapters.redis.server import Script, Server
from mergebot.domain.limits import ASIDE_MAX
from mergebot.ports.inbox import Delivery

_PUT = Script("inbox_put")


class RedisInbox:
    """Verified deliveries. Its errors are Unavailable.

    There are no consumers to lose anything: a delivery stays where it is until it is done.
    """

    def __init__(self, client: Redis) -> None:
        self._server = Server(client)

    def put(self, guid: str, event: str, body: bytes) -> bool:
        """Keep a delivery; False when this GUID was kept within the last seven days."""
        return bool(self._server.run(_PUT, [INBOX, seen(guid)], [guid, event, body, GUID_KEEP_S]))

    def take(self, *, limit: int) -> Sequence[Delivery]:
        """Return deliveries that are not done yet, oldest first."""
        if limit < 1:
            return []
        found = self._server.ask(lambda client: client.xrange(INBOX, count=limit))
        return [
            Delivery(
                position.decode(), each[b"guid"].decode(), each[b"event"].decode(), each[b"body"]
            )
            for position, each in found
        ]

    def done(self, delivery: Delivery) -> None:
        """Drop a delivery that was handled."""
        self._server.ask(
            lambda client: (
                client.pipeline()
                .xdel(INBOX, delivery.position)
                .hdel(BEGUN, delivery.position)
                .execute()
            )
        )

    def begin(self, delivery: Delivery) -> int:
        """Count, before it runs, that a delivery is about to be handled; return how often so far."""
        return int(self._server.ask(lambda client: client.hincrby(BEGUN, delivery.position, 1)))

    def put_back(self, delivery: Delivery) -> None:
        """Leave a delivery for later without holding this attempt against it."""
        self._server.ask(lambda client: client.hdel(BEGUN, delivery.position))

    def set_aside(self, delivery: Delivery) -> None:
        """Take a delivery out that nobody can handle; the newest such ones are kept for a look."""
        fields = {"guid": delivery.guid, "event": delivery.event, "body": delivery.body}
        self._server.ask(
            lambda client: (
                client.pipeline()
                .xadd(ASIDE, fields, maxlen=ASIDE_MAX)
                .xdel(INBOX, delivery.position)
                .hdel(BEGUN, delivery.position)
                .execute()
            )
        )

    def aside(self) -> int:
        """Return how many deliveries were set aside and are kept."""
        return int(self._server.ask(lambda client: client.xlen(ASIDE)))

    def depth(self) -> int:
        """Return how many deliveries wait."""
        return int(self._server.ask(lambda client: client.xlen(INBOX)))
