"""Time that stands where it is put, and names that come in order."""

from dataclasses import dataclass


@dataclass(slots=True)
class ManualClock:
    """Time in Unix seconds, moved by hand, never back."""

    at: float

    def now(self) -> float:
        """Return the time."""
        return self.at

    def advance(self, to: float) -> None:
        """Move the time on to `to`, unless it is later already."""
        self.at = max(self.at, to)


@dataclass(slots=True)
class CountingTokens:
    """Names in order; two of them never share one `prefix` of hex digits."""

    prefix: str = ""
    count: int = 0

    def new(self) -> str:
        """Return a name that was never used before."""
        self.count += 1
        return f"{self.prefix}{self.count:x}".rjust(16, "0")
