"""Rendering what people read on the forge."""

from collections.abc import Mapping
from typing import Protocol


class Letters(Protocol):
    """Renders what people read on the forge."""

    def render(self, name: str, facts: Mapping[str, object]) -> str:
        """Return the Markdown of the notice called `name`, within the forge's length limit."""
        ...
