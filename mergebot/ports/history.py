"""A trunk's past as a clone holds it, read without any network."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mergebot.domain.ids import Sha
from mergebot.domain.proving import Link
from mergebot.domain.receipts import Receipt


class History(Protocol):
    """A clone. Every method raises Refused with what to do where it does not hold what is asked."""

    def commit(self, name: str) -> Sha:
        """Return the commit that a person calls `name`."""
        ...

    def line(self, tip: Sha) -> Sequence[Link]:
        """Return the first-parent line that ends at `tip`, oldest first, down to its root."""
        ...

    def receipts(self) -> Mapping[Sha, Receipt]:
        """Return every receipt in the clone's notes, by the commit it was written for."""
        ...
