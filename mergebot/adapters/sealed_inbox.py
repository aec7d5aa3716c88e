"""An inbox whose deliveries carry a seal: what somebody else wrote into Redis is no delivery.

The web door seals what it has verified; whoever reads checks that before anything else. What has
no seal of this installation is set aside, where a person may look at it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from mergebot.ports.inbox import Delivery, Inbox
from mergebot.ports.signing import DELIVERIES, Seals

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SealedInbox:
    """The port Inbox over another one."""

    inner: Inbox
    seals: Seals

    def put(self, guid: str, event: str, body: bytes) -> bool:
        """Keep a delivery; False when this GUID was kept within the last seven days."""
        seal = self.seals.seal(DELIVERIES, _text(guid, event, body))
        return self.inner.put(guid, event, seal.encode() + b"\n" + body)

    def take(self, *, limit: int) -> Sequence[Delivery]:
        """Return genuine deliveries that are not done yet, oldest first."""
        while True:
            found = self.inner.take(limit=limit)
            opened = [(each, self._open(each)) for each in found]
            strange = [each for each, genuine in opened if genuine is None]
            if not strange:
                return [genuine for _, genuine in opened if genuine is not None]
            for each in strange:
                log.error("delivery_unsealed", guid=each.guid, kind=each.event)
                self.inner.set_aside(each)

    def done(self, delivery: Delivery) -> None:
        """Drop a delivery that was handled."""
        self.inner.done(delivery)

    def begin(self, delivery: Delivery) -> int:
        """Count, before it runs, that a delivery is about to be handled."""
        return self.inner.begin(delivery)

    def put_back(self, delivery: Delivery) -> None:
        """Leave a delivery for later without holding this attempt against it."""
        self.inner.put_back(delivery)

    def set_aside(self, delivery: Delivery) -> None:
        """Take a delivery out that nobody can handle."""
        self.inner.set_aside(delivery)

    def aside(self) -> int:
        """Return how many deliveries were set aside and are kept."""
        return self.inner.aside()

    def depth(self) -> int:
        """Return how many deliveries wait."""
        return self.inner.depth()

    def _open(self, delivery: Delivery) -> Delivery | None:
        seal, _, body = delivery.body.partition(b"\n")
        text = _text(delivery.guid, delivery.event, body)
        if not self.seals.sealed(DELIVERIES, text, seal.decode("ascii", "replace")):
            return None
        return replace(delivery, body=body)


def _text(guid: str, event: str, body: bytes) -> str:
    return f"{guid}\n{event}\n{hashlib.sha256(body).hexdigest()}"
