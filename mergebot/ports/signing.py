"""Vouching: signing what leaves for good, and sealing what only this installation may have said."""

from typing import Protocol

VERDICTS = "verdict"
DELIVERIES = "delivery"
SESSIONS = "session"
KEPT = "kept"
CLAIMS = "claim"


class Seals(Protocol):
    """Marks text as this installation's own, by a key that is not in Redis.

    A seal is for one purpose: what was sealed as a verdict is no session.
    """

    def seal(self, purpose: str, text: str) -> str:
        """Return the seal of `text`, as hex digits."""
        ...

    def sealed(self, purpose: str, text: str, seal: str) -> bool:
        """Tell whether this installation sealed `text` for `purpose`."""
        ...


class Keys(Protocol):
    """Public keys that signatures are checked with."""

    def signed(self, key_id: str, message: bytes, signature: bytes) -> bool:
        """Tell whether the key called `key_id` is known here and signed `message`."""
        ...


class Notary(Seals, Keys, Protocol):
    """What holds the key of this installation: it seals, signs, and knows what it signed."""

    @property
    def key_id(self) -> str:
        """Return the name of the key: the SHA-256 of the public one, as hex digits."""
        ...

    def sign(self, message: bytes) -> bytes:
        """Return the signature of `message`."""
        ...
