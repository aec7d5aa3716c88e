"""Waiting for a condition: the one place in the tests that lets time pass."""

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.02


def eventually(condition: Callable[[], T], *, within_s: float, what: str) -> T:
    """Call `condition` until its result is true and return that result.

    Raises AssertionError that names `what` and the last result once `within_s` seconds are over.
    An exception from `condition` passes through: only a false answer means "not yet".
    """
    deadline = monotonic() + within_s
    while True:
        result = condition()
        if result:
            return result
        if monotonic() >= deadline:
            message = f"still not so after {within_s:g} s: {what} (last seen: {result!r})"
            raise AssertionError(message)
        Event().wait(POLL_S)
