"""What a machine has of a repository that no remote has: its worktrees and its local branches."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from mergebot.adapters.git.command import environment
from mergebot.domain.audit import Worktree
from mergebot.ports.errors import Refused

ANSWER_S = 60.0
LEDGER_NAMES = ("claims.md", "CLAIMS.md", "claims.txt", ".claims")
"""Files in which plain setups keep their claims; a copy in a worktree is no ledger."""


def worktrees(directory: Path) -> list[Worktree]:
    """Return the worktrees of the clone around `directory`, and its branches that none shows.

    Raises Refused where there is no clone.
    """
    shown = list(_checked_out(directory))
    known = {tree.branch for tree in shown}
    rows = _git(directory, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads/")
    others = []
    for row in filter(None, rows.split("\n")):
        head, _, ref = row.partition(" ")
        branch = ref.removeprefix("refs/heads/")
        ahead = 0 if branch in known else _ahead(directory, head)
        if ahead:
            others.append(Worktree(str(directory), branch, head, dirty=False, ahead=ahead))
    return shown + others


def stray_ledgers(trees: list[Worktree]) -> list[str]:
    """Return the claims files that lie in worktrees, where nobody else would read them."""
    paths = [Path(tree.path, name) for tree in trees for name in LEDGER_NAMES]
    return sorted({str(path) for path in paths if path.is_file()})


def branch_of(directory: Path) -> str:
    """Return the branch that is checked out, "" where none is."""
    try:
        return _git(directory, "symbolic-ref", "--short", "--quiet", "HEAD").strip()
    except Refused:
        return ""


def _checked_out(directory: Path) -> Iterator[Worktree]:
    listing = _git(directory, "worktree", "list", "--porcelain", "-z")
    for record in listing.split("\0\0"):
        fields = dict(line.partition(" ")[::2] for line in record.split("\0") if line)
        path, head = fields.get("worktree", ""), fields.get("HEAD", "")
        if "bare" in fields or not head.strip("0") or not Path(path).is_dir():
            continue
        where = Path(path)
        yield Worktree(
            path=path,
            branch=fields.get("branch", "").removeprefix("refs/heads/"),
            head=head,
            dirty=bool(_git(where, "status", "--porcelain", "-z")),
            ahead=_ahead(where, head),
        )


def _ahead(directory: Path, head: str) -> int:
    return int(_git(directory, "rev-list", "--count", head, "--not", "--remotes"))


def _git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", *arguments],
        cwd=directory,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=ANSWER_S,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Refused(f"{directory} cannot be read with git: {said[0] if said else 'no answer'}")
    return done.stdout.decode("utf-8", "surrogateescape")
