"""Commits, files of a change, refs, and the payload of a push."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mergebot.localforge import signatures
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ZERO, Bare, Update
from mergebot.localforge.shapes.issues import repo_url
from mergebot.localforge.shapes.people import user
from mergebot.localforge.store import Row

_FORMAT = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B%x00"
_FIELDS = 10
PATCH_CHARS_MAX = 100_000
PUSHED_COMMITS_MAX = 2048
_STATUS = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed"}


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as git tells it."""

    sha: str
    tree: str
    parents: list[str]
    author: dict[str, str]
    committer: dict[str, str]
    message: str


def log(bare: Bare, *span: str) -> list[Commit]:
    """Return commits, newest first, for arguments that are SHAs, spans of SHAs or counts."""
    values = bare.run("log", _FORMAT, *span, "--").split("\x00")
    found = []
    for start in range(0, len(values) - _FIELDS + 1, _FIELDS):
        sha, tree, parents, *people, message = values[start : start + _FIELDS]
        author = dict(zip(("name", "email", "date"), people[:3], strict=True))
        committer = dict(zip(("name", "email", "date"), people[3:], strict=True))
        text = message.rstrip("\n")
        found.append(Commit(sha.strip(), tree, parents.split(), author, committer, text))
    return found


def utc(person: dict[str, str]) -> dict[str, str]:
    """Return a signature with its date as GitHub writes it where it is in UTC already."""
    date = person["date"]
    return person | {"date": date[:-6] + "Z" if date.endswith("+00:00") else date}


def account(forge: Forge, person: dict[str, str]) -> dict[str, Any] | None:
    """Return the user whose login or name a signature carries, or None."""
    row = forge.store.one("SELECT * FROM users WHERE login_key = ?", person["name"].lower())
    return user(forge, row) if row else None


def git_commit(forge: Forge, repo: Row, found: Commit) -> dict[str, Any]:
    """Return a commit as the git database shows it."""
    base = repo_url(forge, repo)
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "url": f"{base}/git/commits/{found.sha}",
        "html_url": f"{forge.url}/{repo['owner']}/{repo['name']}/commit/{found.sha}",
        "author": utc(found.author),
        "committer": utc(found.committer),
        "message": found.message,
        "tree": {"sha": found.tree, "url": f"{base}/git/trees/{found.tree}"},
        "parents": [
            {
                "sha": sha,
                "url": f"{base}/git/commits/{sha}",
                "html_url": f"{forge.url}/{repo['owner']}/{repo['name']}/commit/{sha}",
            }
            for sha in found.parents
        ],
        "verification": _verification(forge, repo, found),
    }


def _verification(forge: Forge, repo: Row, found: Commit) -> dict[str, Any]:
    known = signatures.verify(forge.store, forge.bare(repo["id"]), found.sha)
    return {
        "verified": known.verified,
        "reason": known.reason,
        "signature": known.signature or None,
        "payload": known.payload or None,
        "verified_at": utc(found.committer)["date"] if known.verified else None,
    }


def commit(forge: Forge, repo: Row, found: Commit) -> dict[str, Any]:
    """Return a commit as lists show it."""
    base = repo_url(forge, repo)
    inner = git_commit(forge, repo, found)
    inner["comment_count"] = 0
    del inner["node_id"], inner["html_url"], inner["parents"], inner["sha"]
    page = f"{forge.url}/{repo['owner']}/{repo['name']}/commit"
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "commit": inner,
        "url": f"{base}/commits/{found.sha}",
        "html_url": f"{page}/{found.sha}",
        "comments_url": f"{base}/commits/{found.sha}/comments",
        "author": account(forge, found.author),
        "committer": account(forge, found.committer),
        "parents": [
            {"sha": sha, "url": f"{base}/commits/{sha}", "html_url": f"{page}/{sha}"}
            for sha in found.parents
        ],
    }


def files(forge: Forge, repo: Row, old: str, new: str) -> list[dict[str, Any]]:
    """Return the files that differ between two trees, with their patches."""
    bare = forge.bare(repo["id"])
    raw = bare.run("diff", "--raw", "-z", "--abbrev=40", "-M", old, new).split("\0")
    stats = bare.run("diff", "--numstat", "-z", "-M", old, new)
    counts = _counts(stats)
    found, rest = [], iter(raw)
    for head in rest:
        if not head:
            continue
        _, _, _, blob, status = head.split(" ")
        first = next(rest)
        name = next(rest) if status[0] in "RC" else first
        shown = _file(forge, repo, new, name, blob)
        added, removed = counts.get(name, ("-", "-"))
        shown |= {"status": _STATUS.get(status[0], "modified")}
        numbers = [int(n) if n != "-" else 0 for n in (added, removed)]
        shown |= {"additions": numbers[0], "deletions": numbers[1], "changes": sum(numbers)}
        if status[0] in "RC":
            shown["previous_filename"] = first
        if added != "-" and (patch := _patch(bare, old, new, {first, name})):
            shown["patch"] = patch
        found.append(shown)
    return found


def _file(forge: Forge, repo: Row, at: str, name: str, blob: str) -> dict[str, Any]:
    page = f"{forge.url}/{repo['owner']}/{repo['name']}"
    return {
        "sha": blob if blob != ZERO else None,
        "filename": name,
        "blob_url": f"{page}/blob/{at}/{name}",
        "raw_url": f"{page}/raw/{at}/{name}",
        "contents_url": f"{repo_url(forge, repo)}/contents/{name}?ref={at}",
    }


def _counts(stats: str) -> dict[str, tuple[str, str]]:
    counts, fields = {}, iter(stats.split("\0"))
    for line in fields:
        if line.count("\t") >= 2:  # noqa: PLR2004 - added, removed, path
            added, removed, name = line.split("\t", 2)
            if not name:
                next(fields)
                name = next(fields)
            counts[name] = (added, removed)
    return counts


def _patch(bare: Bare, old: str, new: str, names: set[str]) -> str:
    paths = [f":(literal){name}" for name in sorted(names)]
    text = bare.run("diff", "-M", "--no-color", "--no-ext-diff", old, new, "--", *paths)
    _, mark, hunks = text.partition("\n@@ ")
    patch = ("@@ " + hunks).rstrip("\n") if mark else ""
    return patch if len(patch) <= PATCH_CHARS_MAX else ""


def ref(forge: Forge, repo: Row, name: str, sha: str, kind: str) -> dict[str, Any]:
    """Return a ref of the git database."""
    base = repo_url(forge, repo)
    return {
        "ref": name,
        "node_id": f"REF_{repo['id']}_{name}",
        "url": f"{base}/git/{name}",
        "object": {"sha": sha, "type": kind, "url": f"{base}/git/{kind}s/{sha}"},
    }


def _pushed(forge: Forge, repo: Row, bare: Bare, found: Commit) -> dict[str, Any]:
    listing = bare.run(
        "diff-tree",
        "--root",
        "--no-commit-id",
        "-r",
        "-z",
        "--name-status",
        "--no-renames",
        found.sha,
    ).split("\0")
    names: dict[str, list[str]] = {"A": [], "D": [], "M": []}
    for status, name in zip(listing[::2], listing[1::2], strict=False):
        names.get(status, names["M"]).append(name)
    return {
        "id": found.sha,
        "tree_id": found.tree,
        "distinct": True,
        "message": found.message,
        "timestamp": found.committer["date"],
        "url": f"{forge.url}/{repo['owner']}/{repo['name']}/commit/{found.sha}",
        "author": _person(found.author),
        "committer": _person(found.committer),
        "added": names["A"],
        "removed": names["D"],
        "modified": names["M"],
    }


def _person(signature: dict[str, str]) -> dict[str, str]:
    return {"name": signature["name"], "email": signature["email"], "username": signature["name"]}


def push_payload(forge: Forge, repo: Row, actor: Row, update: Update) -> dict[str, Any]:
    """Return what a `push` event tells about one ref."""
    bare = Bare(Path(forge.bare(repo["id"]).path))
    span = update.new if update.old == ZERO else f"{update.old}..{update.new}"
    made, gone = update.old == ZERO, update.new == ZERO
    listed, head = [], None
    if not gone and update.ref.startswith("refs/heads/"):
        known = f"^{bare.branch(repo['default_branch'])}" if made else ""
        others = [known] if known and update.new != known[1:] and "None" not in known else []
        limit = f"--max-count={PUSHED_COMMITS_MAX if not made or others else 1}"
        found = log(bare, limit, span, *others)
        listed = [_pushed(forge, repo, bare, c) for c in reversed(found)]
        head = listed[-1] if listed else _pushed(forge, repo, bare, log(bare, "-1", update.new)[0])
    forced = not made and not gone and not bare.contains(update.new, update.old)
    page = f"{forge.url}/{repo['owner']}/{repo['name']}/compare/"
    return {
        "ref": update.ref,
        "before": update.old,
        "after": update.new,
        "created": made,
        "deleted": gone,
        "forced": forced,
        "base_ref": None,
        "compare": f"{page}{update.old[:12]}...{update.new[:12]}",
        "commits": listed,
        "head_commit": head,
        "pusher": {"name": actor["login"], "email": f"{actor['login']}@users.noreply.localhost"},
    }
