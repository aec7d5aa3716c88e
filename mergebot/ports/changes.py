"""Hearing that a lane's record changed."""

from collections.abc import Iterator
from typing import Protocol


class Change(Protocol):
    """A lane moved: its record, at a new revision, or one of its runs, at the same revision."""

    @property
    def lane_key(self) -> str:
        """Return the key of the lane."""
        ...

    @property
    def revision(self) -> int:
        """Return the revision of its record."""
        ...


class Changes(Protocol):
    """Says which lanes changed. A lost or doubled word does no harm: who listens reads again."""

    def listen(self, *, timeout_s: float) -> Iterator[Change | None]:
        """Yield each change from now on, and None whenever nothing happened for `timeout_s`.

        Blocks, so it belongs in a thread of its own. Raises Unavailable when the connection
        breaks; what happened until the next call is lost.
        """
        ...
