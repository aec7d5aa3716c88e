"""Writing a commit's tree to a directory, beside a repository that holds this commit alone."""

from pathlib import Path

from mergebot.adapters.git.command import GitDir, argv, environment, one_line
from mergebot.adapters.git.process import Job, Limits, perform
from mergebot.domain.ids import Sha
from mergebot.ports.errors import Refused, Unavailable

_PACK = Limits(300.0)
_WRITE = Limits(600.0)

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
"""


def export(git: GitDir, sha: Sha, into: Path) -> None:
    """Write the tree of `sha` into the empty directory `into`; raises Refused or Unavailable.

    Line endings are those that the repository's attributes ask for; no filter, hook, LFS or
    submodule runs, and links are written as links.
    """
    if not into.is_dir() or any(into.iterdir()):
        raise Refused(f"{into} is not an empty directory")
    own = into / ".git"
    packs = own / "objects" / "pack"
    packs.mkdir(parents=True)
    (own / "refs" / "heads").mkdir(parents=True)
    (own / "config").write_text(_CONFIG)
    (own / "shallow").write_text(f"{sha}\n")
    (own / "HEAD").write_text(f"{sha}\n")
    pack = packs / f"pack-{sha}.pack"
    _pack(git, sha, pack)
    _own(own, "index-pack", str(pack))
    _own(own, f"--work-tree={into}", "read-tree", "-u", "--reset", "HEAD")


def _pack(git: GitDir, sha: Sha, pack: Path) -> None:
    """Write a pack of the commit without its history."""
    options = ("--revs", "--shallow", "--stdout", "--quiet", "--delta-base-offset", "--threads=1")
    line = argv(git.path, (), ("pack-objects", *options))
    with pack.open("wb") as out:
        stdin = f"--shallow {sha}\n{sha}\n".encode()
        answer = perform(Job(line, environment(), stdin=stdin, limits=_PACK, stdout=out.fileno()))
    if answer.code:
        raise Unavailable(f"git pack-objects failed here: {one_line(answer.err)}")


def _own(own: Path, *arguments: str) -> None:
    # The copy is thrown away after its run, so nothing in it needs to survive a power cut.
    line = argv(own, ("core.fsync=none",), arguments)
    answer = perform(Job(line, environment(), limits=_WRITE))
    if answer.code:
        raise Unavailable(f"The tree cannot be written here: {one_line(answer.err)}")
