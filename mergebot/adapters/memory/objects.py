"""Commits as values: a tree is a mapping of paths to contents, and a merge looks at whole files.

Ids are the SHA-1 of what a commit holds, so they look real and are the same everywhere.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mergebot.domain.ids import Sha
from mergebot.domain.scope import Change, Mode

Tree = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `tree` maps each path to its whole content."""

    id: Sha
    parents: tuple[Sha, ...]
    tree: Tree
    subject: str


@dataclass(frozen=True, slots=True)
class Clash:
    """Two trees that do not merge: the files that both sides changed, and differently."""

    paths: tuple[str, ...]


class Objects:
    """Every commit of one repository, wherever it is; nothing is ever collected."""

    def __init__(self) -> None:
        self._commits: dict[Sha, Commit] = {}
        self._above: dict[Sha, frozenset[Sha]] = {}
        self._blobs: dict[str, str] = {}

    def write(self, tree: Tree, parents: Sequence[Sha], subject: str) -> Sha:
        """Store a commit and return its id; the same commit has the same id."""
        text = f"{tree_id(tree)} {' '.join(parents)}\n{subject}"
        sha = Sha(_sha1(text))
        if sha not in self._commits:
            self._commits[sha] = Commit(sha, tuple(parents), dict(tree), subject)
            above = [self._above[parent] for parent in parents]
            self._above[sha] = frozenset({sha}).union(*above)
            self._blobs.update({_sha1(content): content for content in tree.values()})
        return sha

    def commit(self, sha: Sha) -> Commit:
        """Return a commit; raises KeyError."""
        return self._commits[sha]

    def blob(self, blob_id: str) -> str:
        """Return a file's content by its id; raises KeyError."""
        return self._blobs[blob_id]

    def ancestors(self, sha: Sha) -> frozenset[Sha]:
        """Return the commit and everything it contains; raises KeyError."""
        return self._above[sha]

    def fork(self, one: Sha, other: Sha) -> Sha | None:
        """Return the newest commit that both contain, None where they share none."""
        shared = self._above[one] & self._above[other]
        return max(shared, key=lambda sha: (len(self._above[sha]), sha), default=None)

    def between(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return what `upto` has and `after` has not, parents before their children."""
        extra = self._above[upto] - self._above[after]
        return sorted(extra, key=lambda sha: (len(self._above[sha]), sha))

    def first_parents(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return the first-parent commits after `after` up to and including `upto`."""
        line: list[Sha] = []
        sha: Sha | None = upto
        while sha is not None and sha not in self._above[after]:
            line.append(sha)
            parents = self._commits[sha].parents
            sha = parents[0] if parents else None
        return line[::-1]

    def changes(self, old: Sha, new: Sha) -> tuple[Change, ...]:
        """Return a record for every path that differs between two commits."""
        before, after = self._commits[old].tree, self._commits[new].tree
        paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        return tuple(_change(path, before.get(path), after.get(path)) for path in paths)


def merge(base: Tree, ours: Tree, theirs: Tree) -> Tree | Clash:
    """Return the tree that has what either side changed since `base`, or where they clash."""
    merged = dict(ours)
    clashes = []
    for path in sorted({*base, *theirs}):
        before, mine, other = base.get(path), ours.get(path), theirs.get(path)
        if other in (before, mine):
            continue
        if mine != before:
            clashes.append(path)
        elif other is None:
            del merged[path]
        else:
            merged[path] = other
    return Clash(tuple(clashes)) if clashes else merged


def tree_id(tree: Tree) -> str:
    """Return the id of a tree."""
    return _sha1(repr(sorted(tree.items())))


def blob_id(content: str) -> str:
    """Return the id of a file's content."""
    return _sha1(content)


def _change(path: str, before: str | None, after: str | None) -> Change:
    return Change(
        path=path,
        old_mode=Mode.ABSENT if before is None else Mode.FILE,
        new_mode=Mode.ABSENT if after is None else Mode.FILE,
        old_id="0" * 40 if before is None else _sha1(before),
        new_id="0" * 40 if after is None else _sha1(after),
    )


@lru_cache(maxsize=4096)
def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
