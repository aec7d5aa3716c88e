"""Telling people outside the forge, and remembering what they were told."""

from typing import Protocol

from mergebot.domain.announcing import Happening
from mergebot.domain.ids import Lane


class Herald(Protocol):
    """One receiver of notifications."""

    def tell(self, lane: Lane, happening: Happening) -> None:
        """Tell it; raises Unavailable, and then nobody knows whether it was heard.

        It answers within seconds or not at all, and what it answers is nobody's business.
        """
        ...


class Notebook(Protocol):
    """Keeps short texts by name for a while; never raises."""

    def get(self, name: str) -> str | None:
        """Return what was put there, None once its time is over."""
        ...

    def put(self, name: str, text: str, ttl_s: float) -> None:
        """Keep a text for so many seconds."""
        ...
