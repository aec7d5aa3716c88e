"""Commits as bytes and raw diffs as records: read and written without losing one byte."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mergebot.adapters.git.command import GitDir
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.scope import Change
from mergebot.ports.errors import Unavailable

_PERSON = re.compile(rb"(?P<name>[^<\n]*)<(?P<email>[^>\n]*)>[ ]?(?P<when>\d+ [+-]\d{4})?")
_SIGNATURES = frozenset({b"gpgsig", b"gpgsig-sha256"})
_RECORD_FIELDS = 5
_TEXT_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as git stores it; `author` and `committer` are whole header values.

    `signed` tells that it carries a signature, of whomever.
    """

    id: Sha
    tree: str
    parents: tuple[Sha, ...]
    author: bytes
    committer: bytes
    encoding: bytes
    message: bytes
    signed: bool = False

    @property
    def merges(self) -> bool:
        """Tell whether it has more than one parent."""
        return len(self.parents) > 1

    def decoded(self, raw: bytes) -> str:
        """Return bytes of this commit as text, by the encoding that it names.

        Only the start of a long one, since the author chooses the codec and some are slow.
        """
        short = raw[:_TEXT_BYTES_MAX]
        try:
            return short.decode(self.encoding.decode("ascii") or "utf-8", "replace")
        except (LookupError, ValueError):
            return short.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Person:
    """Who and when, from an author or committer header."""

    name: str
    email: str
    when: bytes


def person(commit: Commit, header: bytes) -> Person:
    """Read a person from a commit's header; a malformed date is the epoch."""
    found = _PERSON.match(header)
    if found is None:
        return Person("", "", b"0 +0000")
    name = commit.decoded(found["name"]).strip()
    return Person(name, commit.decoded(found["email"]).strip(), found["when"] or b"0 +0000")


def parse_commit(sha: str, raw: bytes) -> Commit:
    """Read a commit object; of signatures only that there is one, other headers are left out."""
    head, _, message = raw.partition(b"\n\n")
    rows = [row.partition(b" ") for row in head.split(b"\n") if not row.startswith(b" ")]
    first = {name: value for name, _, value in reversed(rows)}
    return Commit(
        id=parse_sha(sha),
        tree=first[b"tree"].decode("ascii"),
        parents=tuple(parse_sha(v.decode("ascii")) for name, _, v in rows if name == b"parent"),
        author=first.get(b"author", b""),
        committer=first.get(b"committer", b""),
        encoding=first.get(b"encoding", b""),
        message=message,
        signed=not _SIGNATURES.isdisjoint(first),
    )


def read_commits(git: GitDir, ids: Sequence[str]) -> Sequence[Commit]:
    """Return the commits called `ids`, in that order; raises Unavailable when one is missing."""
    return [parse_commit(sha, raw) for sha, kind, raw in read_objects(git, ids) if kind == "commit"]


def read_objects(git: GitDir, names: Sequence[str]) -> Sequence[tuple[str, str, bytes]]:
    """Return (id, type, content) of objects; raises Unavailable when one is missing."""
    found = [(name, item) for name, item in zip(names, batch(git, names), strict=True)]
    gone = [name for name, item in found if not item[1]]
    if gone:
        raise Unavailable(f"{gone[0][:80]!r} is not in this host's mirror")
    return [item for _, item in found]


def batch(git: GitDir, names: Sequence[str]) -> Sequence[tuple[str, str, bytes]]:
    """Return (id, type, content) of each named object, with an empty type for a missing one."""
    if not names:
        return ()
    out = git.run("cat-file", "--batch", stdin="".join(f"{n}\n" for n in names).encode()).out
    found, at = [], 0
    for name in names:
        end = out.index(b"\n", at)
        words = out[at:end].decode("utf-8", "replace").rsplit(" ", 2)
        at = end + 1
        if words[-1] == "missing" or not words[-1].isdecimal():
            found.append((name, "", b""))
            continue
        sha, kind, size = words[0], words[1], int(words[2])
        found.append((sha, kind, out[at : at + size]))
        at += size + 1
    return found


def write_commit(git: GitDir, raw: bytes) -> Sha:
    """Store a commit and return its id; raises Unavailable."""
    return parse_sha(git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).text)


def raw_commit(commit: Commit) -> bytes:
    """Return a commit as git stores it, without a signature; its `id` is not looked at."""
    rows = [b"tree " + commit.tree.encode()]
    rows += [b"parent " + parent.encode() for parent in commit.parents]
    rows += [b"author " + commit.author, b"committer " + commit.committer]
    rows += [b"encoding " + commit.encoding] if commit.encoding else []
    return b"\n".join(rows) + b"\n\n" + commit.message


def changes(git: GitDir, base: str, merged: str) -> tuple[Change, ...]:
    """Return every record of the raw diff between two commits or trees."""
    out = git.run(
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "--ignore-submodules=none",
        "--end-of-options",
        base,
        merged,
    ).out
    fields = out.split(b"\0")[:-1]
    return tuple(_change(*pair) for pair in zip(fields[::2], fields[1::2], strict=True))


def _change(record: bytes, path: bytes) -> Change:
    words = record.decode("ascii").removeprefix(":").split(" ")
    if len(words) != _RECORD_FIELDS:
        raise Unavailable("git printed a raw diff that cannot be read")
    old_mode, new_mode, old_id, new_id, _ = words
    return Change(path_text(path), old_mode, new_mode, old_id, new_id)


def path_text(raw: bytes) -> str:
    """Return a path's bytes as text from which they can be had again."""
    return raw.decode("utf-8", "surrogateescape")
