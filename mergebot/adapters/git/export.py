"""Writing a commit's tree to a directory, beside a repository that holds this commit alone."""

import os
from collections.abc import Sequence
from pathlib import Path

from mergebot.adapters.git.command import GitDir, argv, environment, one_line
from mergebot.adapters.git.process import Job, Limits, perform
from mergebot.domain.ids import Sha
from mergebot.ports.errors import Unavailable

_PACK = Limits(300.0)
_WRITE = Limits(600.0)
_SUBMODULE, _ABSENT = "160000", "000000"

# A tree that is seen through an overlay has other inodes and owners than the one that was written:
# they must not make git read every file again.
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tcheckStat = minimal
\ttrustctime = false
"""


def write(git: GitDir, sha: Sha, into: Path) -> None:
    """Write the tree of `sha` into the directory `into`; raises Unavailable.

    Line endings are those that the repository's attributes ask for; no filter, hook, LFS or
    submodule runs, and links are written as links.
    """
    own = into / ".git"
    (own / "objects" / "pack").mkdir(parents=True)
    (own / "refs" / "heads").mkdir(parents=True)
    (own / "config").write_text(_CONFIG)
    (own / "shallow").write_text(f"{sha}\n")
    (own / "HEAD").write_text(f"{sha}\n")
    _pack(git, sha, own, ("--revs", "--shallow"), f"--shallow {sha}\n{sha}\n")
    _own(own, f"--work-tree={into}", "read-tree", "-u", "--reset", "HEAD")


def renew(git: GitDir, base: Sha, sha: Sha, into: Path) -> Sequence[str]:
    """Turn what `write` wrote for `base` into the tree of `sha`; return the paths that changed.

    Nobody's code but git's has run there. Raises Unavailable.
    """
    if sha == base:
        return ()
    own = into / ".git"
    raw = git.run("diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", base, sha).out
    records = raw.split(b"\0")[:-1]
    rows = [row.decode("ascii").split(" ") for row in records[::2]]
    # A submodule's commit is another repository's, and what went away has no object.
    objects = [new for _, mode, _, new, _ in rows if mode not in (_SUBMODULE, _ABSENT)]
    root = git.run("rev-parse", f"{sha}^{{tree}}").text.strip()
    _pack(git, sha, own, (), "".join(f"{name}\n" for name in (sha, root, *objects)))
    (own / "shallow").write_text(f"{base}\n{sha}\n")
    (own / "HEAD").write_text(f"{sha}\n")
    # With both ends named, git looks at nothing but what differs.
    _own(own, f"--work-tree={into}", "read-tree", "-m", "-u", base, sha)
    return [os.fsdecode(path) for path in records[1::2]]


def _pack(git: GitDir, sha: Sha, own: Path, options: tuple[str, ...], wanted: str) -> None:
    """Give the repository `own` a pack of the mirror's objects that are `wanted`."""
    pack = own / "objects" / "pack" / f"pack-{sha}.pack"
    fixed = ("--stdout", "--quiet", "--delta-base-offset", "--threads=1")
    line = argv(git.path, (), ("pack-objects", *options, *fixed))
    with pack.open("wb") as out:
        job = Job(line, environment(), stdin=wanted.encode(), limits=_PACK, stdout=out.fileno())
        answer = perform(job)
    if answer.code:
        raise Unavailable(f"git pack-objects failed here: {one_line(answer.err)}")
    _own(own, "index-pack", str(pack))


def _own(own: Path, *arguments: str) -> None:
    # The copy is thrown away after its run, so nothing in it needs to survive a power cut.
    line = argv(own, ("core.fsync=none",), arguments)
    answer = perform(Job(line, environment(), limits=_WRITE))
    if answer.code:
        raise Unavailable(f"The tree cannot be written here: {one_line(answer.err)}")
