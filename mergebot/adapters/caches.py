"""What the gate's setup filled, one directory for each lane and digest, the last two kept.

A lock file beside each directory says who is at it: exclusively while it is filled or removed,
shared while gates use it. The kernel drops a lock with the process that held it.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from urllib.parse import quote, unquote

from mergebot.adapters.workspaces import FULL, full_disk, remove_tree
from mergebot.domain.ids import Lane
from mergebot.ports.errors import Unavailable
from mergebot.ports.sandbox import Unwanted

KEPT = 2
POLL_S = 0.1

Fill = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class DirectoryCaches:
    """The port Caches on directories under `root`."""

    root: Path

    def held(
        self, lane: Lane, digest: str, fill: Fill, wanted: Callable[[], bool]
    ) -> AbstractContextManager[Mapping[str, str]]:
        """Give the cache by place in the workspace, filled first where there is none."""
        return _held(self.root / lane.key / digest, fill, wanted)


@contextmanager
def _held(cache: Path, fill: Fill, wanted: Callable[[], bool]) -> Iterator[Mapping[str, str]]:
    cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(f"{cache}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not (_locked(lock, fcntl.LOCK_SH) and cache.is_dir()):
            # A shared lock cannot rise while others hold one too: let go, then try for the other.
            fcntl.flock(lock, fcntl.LOCK_UN)
            if _locked(lock, fcntl.LOCK_EX) and not cache.is_dir():
                _take_in(cache, fill())
                _prune(cache)
            elif not wanted():
                raise Unwanted(cache.name)
            else:
                Event().wait(POLL_S)
        os.utime(cache)
        yield {unquote(entry.name): str(entry) for entry in sorted(cache.iterdir())}
    finally:
        os.close(lock)


def _locked(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _take_in(cache: Path, directories: Mapping[str, str]) -> None:
    """Move the directories into the cache, which appears only once it is whole."""
    growing = cache.with_name(f"{cache.name}.new")
    try:
        remove_tree(growing)
        growing.mkdir(mode=0o755)
        for place, source in directories.items():
            if Path(source).is_dir() and not Path(source).is_symlink():
                shutil.move(source, growing / quote(place, safe=""))
        if os.geteuid() == 0:
            _let_all_read(growing)
        growing.rename(cache)
    except OSError as error:
        if error.errno in FULL:
            raise Unavailable(full_disk(cache)) from error
        raise


def _let_all_read(tree: Path) -> None:
    """Make the cache root's own and readable: each gate runs as another user."""
    for change in (["chown", "-hR", "0:0"], ["chmod", "-R", "a+rX"]):
        subprocess.run([*change, "--", str(tree)], check=True, capture_output=True)


def _prune(newest: Path) -> None:
    """Remove caches of the lane beyond the last used ones, unless a gate is using them."""
    others = [each for each in newest.parent.iterdir() if each.is_dir() and each != newest]
    others.sort(key=lambda each: each.stat().st_mtime, reverse=True)
    for cache in others[KEPT - 1 :]:
        lock = os.open(f"{cache}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if _locked(lock, fcntl.LOCK_EX):
                remove_tree(cache)
        finally:
            os.close(lock)
