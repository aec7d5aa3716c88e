"""What the forge says of a repository, remembered for a while to spare requests."""

import threading

from mergebot.domain.ids import Lane
from mergebot.domain.pulls import Repository
from mergebot.ports.git import Git
from mergebot.services.parts import Parts

KEEP_S = 600.0
PRIVATE_S = 60.0
"""How long a repository that was made private may go on being shown to everybody."""

_lock = threading.Lock()
_known: dict[tuple[int, str], tuple[float, Repository]] = {}


def repository_of(parts: Parts, name: str, *, keep_s: float = KEEP_S) -> Repository:
    """Return the repository called `name`, as it was at most `keep_s` seconds ago.

    Raises Missing, Unavailable, Refused.
    """
    key = (id(parts.forge), name)
    now = parts.clock.now()
    with _lock:
        at, known = _known.get(key, (0.0, None))
    if known is not None and now - at < keep_s:
        return known
    fresh = parts.forge.repository(name)
    with _lock:
        _known[key] = (now, fresh)
    return fresh


def forget(parts: Parts, name: str) -> None:
    """Ask again for the repository called `name` next time."""
    with _lock:
        _known.pop((id(parts.forge), name), None)


def git_of(parts: Parts, lane: Lane) -> Git:
    """Return this host's git of the lane's repository."""
    return parts.mirrors.of(repository_of(parts, lane.repo))
