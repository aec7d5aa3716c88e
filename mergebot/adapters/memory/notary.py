"""A notary without keys, for simulations: nobody forges there, so every empty seal is good."""


class MemoryNotary:
    """Vouches for everything."""

    key_id = "none"

    def sign(self, message: bytes) -> bytes:
        """Return a signature that says nothing but the length of the message."""
        return b"%d" % len(message)

    def signed(self, key_id: str, message: bytes, signature: bytes) -> bool:
        """Tell whether it was signed here."""
        return key_id == self.key_id and signature == self.sign(message)

    def seal(self, purpose: str, text: str) -> str:  # noqa: ARG002  # the port's signature
        """Return an empty seal."""
        return ""

    def sealed(self, purpose: str, text: str, seal: str) -> bool:  # noqa: ARG002  # as above
        """Tell whether it was sealed here."""
        return not seal
