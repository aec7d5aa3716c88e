"""Instants as GitHub writes them: UTC, whole seconds, a final Z."""

import datetime as dt
import time


def now() -> str:
    """Return the present instant."""
    return instant(time.time())


def instant(seconds: float) -> str:
    """Return an instant given in seconds since 1970."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def later(than: str) -> str:
    """Return the present instant, or the given one where the clock stands behind it."""
    return max(now(), than)
