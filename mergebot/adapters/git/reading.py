"""What a mirror knows of commits, trees and files, without any network."""

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence

from mergebot.adapters.git.command import GitDir, one_line
from mergebot.adapters.git.objects import (
    batch,
    changes,
    path_text,
    person,
    read_commits,
    read_objects,
)
from mergebot.adapters.git.process import Limits
from mergebot.domain.contracts import FileAt
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.limits import PATCH_BYTES_MAX
from mergebot.domain.scope import Mode
from mergebot.ports.errors import Refused, Unavailable

_PATCH = Limits(60.0, PATCH_BYTES_MAX)


def has(git: GitDir, sha: Sha) -> bool:
    """Tell whether a commit is in the mirror."""
    return git.ask("cat-file", "-e", f"{sha}^{{commit}}").code == 0


def is_ancestor(git: GitDir, older: Sha, newer: Sha) -> bool:
    """Tell whether `newer` contains `older`; raises Unavailable when either is missing."""
    answer = git.ask("merge-base", "--is-ancestor", older, newer)
    if answer.code not in (0, 1):
        raise Unavailable(f"git merge-base failed here: {one_line(answer.err)}")
    return answer.code == 0


def first_parents(git: GitDir, after: Sha, upto: Sha) -> Sequence[Sha]:
    """Return the first-parent commits after `after` up to and including `upto`, oldest first."""
    span = f"{after}..{upto}"
    listing = git.run("rev-list", "--first-parent", "--reverse", "--end-of-options", span)
    return tuple(parse_sha(line) for line in listing.text.split())


def between(git: GitDir, after: Sha, upto: Sha) -> Sequence[Sha]:
    """Return every commit that `upto` has and `after` has not, parents before their children."""
    span = f"{after}..{upto}"
    listing = git.run("rev-list", "--topo-order", "--reverse", "--end-of-options", span)
    return tuple(parse_sha(line) for line in listing.text.split())


def fork_point(git: GitDir, one: Sha, other: Sha) -> Sha | None:
    """Return the newest commit that both contain; raises Unavailable when either is missing."""
    answer = git.ask("merge-base", one, other)
    if answer.code > 1:
        raise Unavailable(f"git merge-base failed here: {one_line(answer.err)}")
    return parse_sha(answer.text.split()[0]) if answer.code == 0 else None


def committed_at(git: GitDir, sha: Sha) -> float:
    """Return when a commit was made, by its committer's clock."""
    (commit,) = read_commits(git, [sha])
    return float(person(commit, commit.committer).when.split()[0])


def files(git: GitDir, sha: Sha) -> Sequence[FileAt]:
    """Return every file of a commit, links and submodules too."""
    rows = git.run("ls-tree", "-r", "-z", "--full-tree", sha).out.split(b"\0")[:-1]
    found = []
    for row in rows:
        words, _, path = row.partition(b"\t")
        mode, _, name = words.decode("ascii").split(" ", 2)
        found.append(FileAt(path_text(path), mode, name))
    return found


def subject(git: GitDir, sha: Sha) -> str:
    """Return the first line of a commit's message."""
    (commit,) = read_commits(git, [sha])
    return commit.decoded(commit.message.lstrip(b"\n").partition(b"\n")[0]).strip()


def tree(git: GitDir, sha: Sha) -> str:
    """Return the id of a commit's tree."""
    (commit,) = read_commits(git, [sha])
    return commit.tree


def root_files(git: GitDir, sha: Sha) -> str:
    """Return a digest of the names and blob ids of the files in a commit's top directory."""
    rows = git.run("ls-tree", "-z", "--full-tree", sha).out.split(b"\0")
    files = [row for row in rows if b" blob " in row.partition(b"\t")[0]]
    return hashlib.sha256(b"\0".join(files)).hexdigest()


def read(git: GitDir, sha: Sha, path: str) -> bytes | None:
    """Return a file as of a commit, None where there is none; raises Unavailable."""
    commit, found = batch(git, [sha, f"{sha}:{path}"])
    if commit[1] != "commit":
        raise Unavailable(f"commit {sha} is not in this host's mirror")
    return found[2] if found[1] == "blob" else None


def blob(git: GitDir, blob_id: str) -> bytes:
    """Return a blob's bytes; raises Unavailable where it is missing and Refused over 64 MiB."""
    ((_, kind, content),) = read_objects(git, [parse_sha(blob_id)])
    if kind != "blob":
        raise Refused(f"{blob_id} is a {kind}, not a file")
    return content


def patch(git: GitDir, base: Sha, merged: Sha) -> str:
    """Return the diff as text for people, cut after a whole line."""
    options = ("-r", "-p", "-M", "-l400", "--no-color", "--no-ext-diff", "--no-textconv")
    answer = git.ask("diff-tree", *options, "--end-of-options", base, merged, limits=_PATCH)
    if answer.code and not answer.cut:
        raise Unavailable(f"git diff-tree failed here: {one_line(answer.err)}")
    kept = answer.out[: answer.out.rfind(b"\n") + 1] if answer.cut else answer.out
    return kept.decode("utf-8", "replace")


def twins(git: GitDir, merged: Sha, base: Sha) -> Sequence[tuple[str, str]]:
    """Return pairs of paths of `merged`, directories too, that some file systems take for one.

    They are equal under NFC and case folding. Pairs that `base` has already are left out.
    """
    if not any(change.old_mode == Mode.ABSENT for change in changes(git, base, merged)):
        return ()
    pairs = _pairs(_paths(git, merged))
    known = set(_pairs(_paths(git, base))) if pairs else set()
    return tuple(pair for pair in pairs if pair not in known)


def _paths(git: GitDir, sha: Sha) -> Iterable[str]:
    out = git.run("ls-tree", "-r", "-t", "-z", "--name-only", "--full-tree", sha).out
    return map(path_text, out.split(b"\0")[:-1])


def _pairs(paths: Iterable[str]) -> Sequence[tuple[str, str]]:
    alike: dict[str, list[str]] = {}
    for path in paths:
        alike.setdefault(_folded(path), []).append(path)
    return [
        (one, other)
        for group in alike.values()
        for place, one in enumerate(group)
        for other in group[place + 1 :]
    ]


def _folded(path: str) -> str:
    folded = unicodedata.normalize("NFC", path).casefold()
    return unicodedata.normalize("NFC", folded)
