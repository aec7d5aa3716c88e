"""Who may write a mirror's refs: one process or thread of this host at a time, for each area.

git's own lock files outlive a git that was killed. Whoever holds an area removes those he finds
there: nobody else could be writing.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import IO

from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.refs import MIRROR


class Area(StrEnum):
    """Refs that are written together: what was fetched, and notes that are not pushed yet."""

    FETCHED = "fetched"
    DRAFT = "draft"


_LEFT_BEHIND = {
    Area.FETCHED: ("trunk/*.lock", "pull/*.lock", "notes.lock"),
    Area.DRAFT: ("draft.lock",),
}


@contextmanager
def locked(git: GitDir, area: Area) -> Iterator[None]:
    """Hold an area alone, after waiting for whoever holds it."""
    with _file(git, area) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        _clear(git, area)
        yield


@contextmanager
def if_free(git: GitDir, area: Area) -> Iterator[bool]:
    """Hold an area alone where nobody does, and yield whether that was so."""
    with _file(git, area) as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            _clear(git, area)
            yield True


def _file(git: GitDir, area: Area) -> IO[bytes]:
    return (git.path / f"mergebot-{area}.lock").open("ab")


def _clear(git: GitDir, area: Area) -> None:
    for pattern in _LEFT_BEHIND[area]:
        for stale in (git.path / MIRROR).glob(pattern):
            stale.unlink(missing_ok=True)
