"""Which unprivileged user a step runs as, and giving it the tree that it may write.

Limits on processes mean nothing for root, and root inside a user namespace is still root to the
files outside. A worker that runs as root therefore gives each workspace to a user of its own, who
owns nothing else on the host; any other worker's steps run as the worker's own user.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path, PurePosixPath

from mergebot.ports.sandbox import SandboxFailed

FIRST_UID = 1_900_000_000
UIDS = 1 << 26
NOBODY = 65_534
"""Above what systemd gives to containers, below what old programs read as negative."""


def uid_for(workspace: str) -> int | None:
    """Return the user for steps in `workspace`; None where it must be the worker's own."""
    if os.geteuid() != 0:
        return None
    name = hashlib.sha256(os.fsencode(workspace)).digest()
    own = FIRST_UID + int.from_bytes(name[:8]) % UIDS
    return next((uid for uid in (own, NOBODY) if _is_mapped(uid)), None)


def _is_mapped(uid: int) -> bool:
    """Tell whether this user namespace knows the user; a container may have a handful only."""
    rows = [
        [int(number) for number in line.split()]
        for line in Path("/proc/self/uid_map").read_text().splitlines()
    ]
    return any(first <= uid < first + count for first, _, count in rows)


def threads_of_worker() -> int:
    """Return how many threads the worker's user runs: the kernel counts a step's with them."""
    threads = 0
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and process.stat().st_uid == os.geteuid():
                fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
                threads += int(fields[17])
    return threads


def hand_over(workspace: int, uid: int) -> None:
    """Give the tree at the open directory `workspace` to `uid`, once: its top is changed last.

    No link is followed. It must happen before any code of the candidate ran there.
    """
    if os.fstat(workspace).st_uid == uid:
        return
    for _, directories, files, here in os.fwalk(".", topdown=False, dir_fd=workspace):
        for name in (*directories, *files):
            os.chown(name, uid, uid, dir_fd=here, follow_symlinks=False)
    os.chown(workspace, uid, uid)


def inner_path(name: str) -> str:
    """Return the place of a cache in its workspace; raises SandboxFailed if it lies elsewhere."""
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or not inside.parts:
        raise SandboxFailed(f"a cache must lie inside the workspace, and {name!r} does not.")
    return str(inside)


def make_place(workspace: int, path: str, uid: int | None) -> bool:
    """Make the directory `path` in a workspace for a mount; False where the tree has its own.

    A candidate's file, link or filled directory of that name wins over the cache: what is gated
    is the commit.
    """
    here = os.dup(workspace)
    try:
        for name in path.split("/"):
            try:
                below = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            except FileNotFoundError:
                os.mkdir(name, 0o755, dir_fd=here)
                below = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                if uid is not None:
                    os.chown(below, uid, uid)
            except NotADirectoryError:
                return False
            os.close(here)
            here = below
        with os.scandir(here) as entries:
            return next(entries, None) is None
    finally:
        os.close(here)
