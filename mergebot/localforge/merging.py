"""Whether a pull request can be merged, how big it is, and by which commit it was merged."""

import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mergebot.localforge import checks, protection
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ZERO, Bare
from mergebot.localforge.store import Row

UNKNOWN_ANSWERS = 5
POLLS_KEPT_MAX = 20_000
REV_LIST_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Mergeability:
    """What a GET says about merging; `mergeable` is None while it is being computed."""

    mergeable: bool | None
    state: str
    commit: str | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """The size of a pull request."""

    commits: int
    additions: int
    deletions: int
    changed_files: int


@lru_cache(maxsize=4096)
def statistics(path: str, base: str, head: str) -> Statistics:
    """Return the size of what lies between a base and a head."""
    bare = Bare(Path(path))
    commits = bare.ask("rev-list", "--count", f"{base}..{head}").text.strip()
    rows = bare.ask("diff", "--numstat", "--no-renames", f"{base}...{head}").text.splitlines()
    counts = [row.split("\t")[:2] for row in rows]
    added = sum(int(a) for a, _ in counts if a != "-")
    removed = sum(int(d) for _, d in counts if d != "-")
    return Statistics(int(commits or 0), added, removed, len(rows))


@lru_cache(maxsize=4096)
def test_merge(path: str, base: str, head: str) -> str | None:
    """Return a merge commit of base and head, or None where they conflict."""
    bare = Bare(Path(path))
    answer = bare.ask("merge-tree", "--write-tree", "--no-messages", base, head)
    if answer.code:
        return None
    tree = answer.text.split("\n", 1)[0]
    message = f"Merge {head} into {base}"
    return bare.run("commit-tree", tree, "-p", base, "-p", head, "-m", message).strip()


_polls: dict[tuple[str, str, str], int] = {}


def mergeability(forge: Forge, repo: Row, pull: Row) -> Mergeability:
    """Return what one GET of a pull request says; the first few after a change say nothing."""
    bare = forge.bare(repo["id"])
    base, head = bare.branch(pull["base_ref"]), pull["head_sha"]
    if pull["state"] == "closed" or base is None:
        return Mergeability(None, "unknown", None)
    key = (str(bare.path), base, head)
    if len(_polls) > POLLS_KEPT_MAX:
        _polls.clear()
    seen = _polls[key] = _polls.get(key, 0) + 1
    seeded = zlib.crc32(f"{pull['number']}{base}{head}".encode()) % UNKNOWN_ANSWERS
    if seen <= int(forge.store.switch("mergeable_nulls", seeded)):
        return Mergeability(None, "unknown", None)
    commit = test_merge(*key)
    if commit is None:
        return Mergeability(mergeable=False, state="dirty", commit=None)
    if bare.ref(f"refs/pull/{pull['number']}/merge") != commit:
        bare.set_ref(f"refs/pull/{pull['number']}/merge", commit)
    return Mergeability(mergeable=True, state=_state(forge, repo, pull, base), commit=commit)


def _state(forge: Forge, repo: Row, pull: Row, base: str) -> str:
    if pull["draft"]:
        return "draft"
    rules = protection.of_branch(forge.store, repo["id"], pull["base_ref"])
    required = protection.demanded_checks(rules)
    if checks.missing(forge.store, repo["id"], pull["head_sha"], required):
        return "blocked"
    bare = forge.bare(repo["id"])
    if protection.is_strict(rules) and not bare.contains(pull["head_sha"], base):
        return "behind"
    return "unstable" if checks.unfinished(forge.store, repo["id"], pull["head_sha"]) else "clean"


def reached(bare: Bare, old: str, new: str) -> frozenset[str]:
    """Return the commits that a move of a branch made reachable from it."""
    if new == ZERO:
        return frozenset()
    options = ("--max-count", str(REV_LIST_MAX))
    found = bare.ask("rev-list", *options, new, *([] if old == ZERO else [f"^{old}"]))
    return frozenset(found.text.split())


def merging_commit(bare: Bare, head: str, old: str, new: str) -> str:
    """Return the commit of a branch's first-parent line that brought a head in."""
    span = new if old == ZERO else f"{old}..{new}"
    line = bare.run("rev-list", "--first-parent", span).split()
    if head in line or not line:
        return head
    path = bare.run("rev-list", "--ancestry-path", f"{head}..{new}").split()
    carriers = [sha for sha in line if sha in set(path)]
    return carriers[-1] if carriers else new
