"""Time and unguessable names."""

from typing import Protocol


class Clock(Protocol):
    """Time, as Unix seconds."""

    def now(self) -> float:
        """Return the time."""
        ...


class Tokens(Protocol):
    """Unguessable names."""

    def new(self) -> str:
        """Return a name that was never used before: lower-case hex, at least 16 digits."""
        ...
