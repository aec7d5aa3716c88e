"""Throw-away directories for gates, below one directory that only the worker's user may enter."""

import errno
import secrets
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import time

from mergebot.adapters import overlay
from mergebot.ports.errors import Unavailable

NEW_S = 120.0
FULL = (errno.ENOSPC, errno.EDQUOT)


def full_disk(path: str | Path) -> str:
    """Return what to say when the disk that holds `path` is full."""
    return f"the disk of this host is full ({path}): free some space, then it goes on by itself"


@dataclass(frozen=True, slots=True)
class DirectoryWorkspaces:
    """The port Workspaces on directories under `root`, named after their run and a random part."""

    root: Path

    def create(self, run: str) -> str:
        """Return a new empty directory; raises Unavailable when the disk is full."""
        path = self.root / f"{_tidy(run)}.{secrets.token_hex(16)}"
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
        except OSError as error:
            if error.errno in FULL:
                raise Unavailable(full_disk(self.root)) from error
            raise Unavailable(f"a workspace could not be made: {error}") from error
        return str(path)

    def destroy(self, path: str) -> None:
        """Remove a workspace and everything in it; one that is gone is no error."""
        remove_tree(Path(path))

    def sweep(self, keep: Iterable[str]) -> None:
        """Remove workspaces of runs that are not in `keep`.

        One that is younger than two minutes stays: its run may be newer than the list.
        """
        kept = {_tidy(run) for run in keep}
        if not self.root.is_dir():
            return
        for entry in self.root.iterdir():
            old = entry.lstat().st_mtime < time() - NEW_S
            if old and entry.name.rpartition(".")[0] not in kept:
                remove_tree(entry)


def remove_tree(path: Path) -> None:
    """Remove a tree, whatever its depth, permissions and owners, and what an overlay laid over it.

    What cannot be removed for other reasons stays for the next sweep.
    """
    overlay.lift(path)
    remove = ["rm", "-rf", "--", str(path)]
    subprocess.run(remove, check=False, capture_output=True)
    if path.is_symlink() or not path.exists():
        return
    subprocess.run(["chmod", "-R", "u+rwX", "--", str(path)], check=False, capture_output=True)
    subprocess.run(remove, check=False, capture_output=True)


def _tidy(run: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "-" for char in run)[:64]
