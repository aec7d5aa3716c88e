"""Kept trees for workspaces: a large commit is laid over one that was written before.

Writing 20,000 files takes seconds of a disk's time. A mirror therefore keeps one commit's whole
export, that nobody writes to again, and a workspace is an overlay over it in which git changes
only what differs. Where the host allows no overlay, and for small trees, an export is written.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from time import time

from mergebot.adapters import overlay
from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.export import renew, write
from mergebot.adapters.sandbox.ownership import uid_for
from mergebot.domain.ids import Sha, parse_sha
from mergebot.ports.errors import Refused, Unavailable

_PLACE = "layers"

FILES_MIN = 2000
"""Below, writing all files costs no more than the overlay and its git."""

RENEW_S = 24 * 3600.0
"""How long one tree is laid under: a day's changes are few against thousands of files."""

_RACY_S = 2
"""git takes files that are not older than its index for changed, and reads them all again."""


def export(git: GitDir, sha: Sha, into: Path) -> None:
    """Give the empty directory `into` the tree of `sha`; raises Refused or Unavailable."""
    if not into.is_dir() or any(into.iterdir()):
        raise Refused(f"{into} is not an empty directory")
    uid = uid_for(str(into))
    if uid is None or not _is_large(git, sha) or not _laid(git, sha, into, uid):
        write(git, sha, into)


def _laid(git: GitDir, sha: Sha, into: Path, uid: int) -> bool:
    """Lay the kept tree under `into` and turn it into that of `sha`; False where nothing was done."""
    with _kept(git, sha) as (base, tree):
        if not overlay.lay(tree, into, uid):
            return False
    _hand_over(into, uid, renew(git, base, sha, into))
    return True


def _hand_over(into: Path, uid: int, changed: Sequence[str]) -> None:
    """Give what git has just written to `uid`, who owns everything below it already."""
    for path in {into / name for name in changed}:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.chown(path, uid, uid, follow_symlinks=False)
    for here, directories, files in os.walk(into / ".git"):
        for name in (*directories, *files):
            os.chown(Path(here, name), uid, uid, follow_symlinks=False)


@contextmanager
def _kept(git: GitDir, sha: Sha) -> Iterator[tuple[Sha, Path]]:
    """Give the commit and the directory of the kept tree, made of `sha` where it is time to."""
    place = git.path / _PLACE
    place.mkdir(mode=0o700, exist_ok=True)
    with (place / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = _newest(place)
        if found is None or found.stat().st_mtime < time() - RENEW_S:
            found = _make(git, sha, place)
            _drop_others(place, found)
        yield parse_sha(found.name), found


def _newest(place: Path) -> Path | None:
    if not place.is_dir():
        return None
    made = [each for each in place.iterdir() if each.is_dir() and not each.name.startswith(".")]
    return max(made, key=lambda each: each.stat().st_mtime, default=None)


def _make(git: GitDir, sha: Sha, place: Path) -> Path:
    fresh = Path(mkdtemp(prefix=".new-", dir=place))
    try:
        write(git, sha, fresh)
        later = time() + _RACY_S
        os.utime(fresh / ".git" / "index", (later, later))
        os.utime(fresh)
        fresh.chmod(0o755)
        return fresh.rename(place / sha)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _drop_others(place: Path, newest: Path) -> None:
    """Remove trees that are under no workspace any more, and what a killed worker left."""
    with suppress(OSError):
        mounted = Path("/proc/self/mountinfo").read_text()
        for each in place.iterdir():
            if each.is_dir() and each != newest and f"/{each.name} " not in mounted:
                shutil.rmtree(each, ignore_errors=True)


def _is_large(git: GitDir, sha: Sha) -> bool:
    if _newest(git.path / _PLACE) is not None:
        return True
    answer = git.ask("ls-tree", "-r", "--name-only", "--full-tree", sha)
    if answer.code:
        raise Unavailable(f"{sha} is not in the mirror")
    return answer.out.count(b"\n") >= FILES_MIN
