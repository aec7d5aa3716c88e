"""The system's clock, and names that nobody can guess."""

import secrets
import time


class SystemClock:
    """Time as the system says."""

    def now(self) -> float:
        """Return the Unix time in seconds."""
        return time.time()


class RandomTokens:
    """Names from the system's source of randomness."""

    def new(self) -> str:
        """Return 32 hex digits."""
        return secrets.token_hex(16)
