"""Child processes that never outlive their parent, however it ends."""

import ctypes
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: signal.Signals) -> None:
    """Ask the kernel to send this process `number` when the thread that forked it ends.

    The wish survives exec. Safe between fork and exec: nothing is imported or allocated here.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def call_oneself(name: str) -> None:
    """Give this process a name of up to 15 bytes, which `top` and `ps -o comm` show."""
    _libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def in_a_thread(work: Callable[[], None]) -> None:
    """Run a piece of work without waiting for it."""
    Thread(target=work, daemon=True, name="aside").start()


def in_a_process(work: Callable[[], T]) -> T:
    """Run what computes for long in a fresh process that makes way for others, and wait for it."""
    context = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_make_way) as pool:
        return pool.submit(work).result()


def _make_way() -> None:
    die_with_parent(signal.SIGKILL)
    os.nice(10)


class Forked:
    """A copy of this process at work on a function; it has what everything that runs here imported.

    What the function returns is the exit code. Its output goes nowhere, its errors where ours go.
    """

    def __init__(self, work: Callable[[], int]) -> None:
        self._process = get_context("fork").Process(target=_work, args=(work,))
        self._process.start()

    def poll(self) -> int | None:
        """Return the exit code, or minus the signal that killed it; None while it runs."""
        return self._process.exitcode

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End it."""
        self._process.kill()


def _work(work: Callable[[], int]) -> None:
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    raise SystemExit(work())
