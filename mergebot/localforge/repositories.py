"""Repositories: found by name, created, renamed, deleted, and who may do what in them."""

import json
import re
import shutil
import uuid
from http import HTTPStatus
from pathlib import Path

from mergebot.localforge import people
from mergebot.localforge.errors import ApiError, custom, not_found
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import Bare, GitError
from mergebot.localforge.store import Row, Store
from mergebot.localforge.times import later, now

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
ROLE_OF_WORD = {"pull": "read", "push": "write"} | {role: role for role in ROLES[1:]}
SETTINGS = {
    "allow_merge_commit": True,
    "allow_squash_merge": True,
    "allow_rebase_merge": True,
    "allow_auto_merge": False,
    "allow_update_branch": False,
    "delete_branch_on_merge": False,
    "has_wiki": True,
    "has_projects": True,
}
_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}\Z")


def by_id(store: Store, repo_id: int) -> Row | None:
    """Return the repository with this id, with its owner's login, or None."""
    return store.one(
        "SELECT repos.*, users.login AS owner FROM repos JOIN users ON users.id = owner_id"
        " WHERE repos.id = ?",
        repo_id,
    )


def fresh(store: Store, repo: Row) -> Row:
    """Return a repository as it is now; refuse when it is gone."""
    found = by_id(store, repo["id"])
    if found is None:
        raise not_found()
    return found


def by_name(store: Store, owner: str, name: str) -> Row | None:
    """Return the repository with this present name, or None."""
    return store.one(
        "SELECT repos.*, users.login AS owner FROM repos JOIN users ON users.id = owner_id"
        " WHERE login_key = ? AND name_key = ?",
        *(owner.lower(), name.lower()),
    )


def by_old_name(store: Store, owner: str, name: str) -> Row | None:
    """Return the repository that once had this name, or None."""
    row = store.one(
        "SELECT repo_id FROM renames JOIN users ON users.id = owner_id"
        " WHERE login_key = ? AND name_key = ?",
        *(owner.lower(), name.lower()),
    )
    return by_id(store, row["repo_id"]) if row else None


def full_name(repo: Row) -> str:
    """Return `owner/name`."""
    return f"{repo['owner']}/{repo['name']}"


def role(store: Store, repo: Row, user: Row | None) -> str:
    """Return the role a user has in a repository, `none` included."""
    least = "none" if repo["private"] else "read"
    if user is None:
        return least
    if user["id"] == repo["owner_id"] or user["site_admin"]:
        return "admin"
    row = store.one(
        "SELECT role FROM collaborators WHERE repo_id = ? AND user_id = ?", repo["id"], user["id"]
    )
    return str(row["role"]) if row else least


def allows(held: str, needed: str) -> bool:
    """Tell whether a role includes another."""
    return ROLES.index(held) >= ROLES.index(needed)


def settings(repo: Row) -> Row:
    """Return a repository's settings with the defaults filled in."""
    chosen: Row = json.loads(repo["settings"])
    return SETTINGS | chosen


def check_name(store: Store, owner_id: int, name: str) -> None:
    """Refuse a name that is malformed or taken."""
    if not _NAME.match(name):
        raise custom("Repository", "name is invalid", "name")
    if store.one(
        "SELECT id FROM repos WHERE owner_id = ? AND name_key = ?", owner_id, name.lower()
    ):
        raise ApiError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "Repository creation failed.",
            [
                {
                    "resource": "Repository",
                    "code": "custom",
                    "field": "name",
                    "message": "name already exists on this account",
                }
            ],
        )


def register(store: Store, owner_id: int, name: str, *, default_branch: str = "main") -> int:
    """Write a repository's row and return its id."""
    check_name(store, owner_id, name)
    at = now()
    made = store.run(
        "INSERT INTO repos (owner_id, name, name_key, default_branch, created_at, updated_at,"
        " pushed_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        *(owner_id, name, name.lower(), default_branch, at, at, at),
    )
    store.run("DELETE FROM renames WHERE owner_id = ? AND name_key = ?", *(owner_id, name.lower()))
    return made


def create(forge: Forge, owner: Row, name: str, *, default_branch: str = "main") -> Row:
    """Create an empty repository."""
    with forge.store.write():
        made = register(forge.store, owner["id"], name, default_branch=default_branch)
        shutil.rmtree(forge.bare(made).path, ignore_errors=True)
        forge.bare(made).create(default_branch)
    return fresh(forge.store, {"id": made})


def adopt(forge: Forge, owner: Row, name: str, source: Path) -> Row:
    """Create a repository from the branches and tags of an existing one on this machine."""
    check_name(forge.store, owner["id"], name)
    # Copied aside first: a long copy must keep nobody waiting who wants to write.
    aside = Bare(forge.root / "incoming" / uuid.uuid4().hex)
    try:
        aside.create("main")
        spec = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        aside.run("fetch", "-q", "--no-write-fetch-head", "--", str(source.resolve()), *spec)
        branch = _default_branch(aside, source)
        aside.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        with forge.store.write():
            made = register(forge.store, owner["id"], name, default_branch=branch)
            shutil.rmtree(forge.bare(made).path, ignore_errors=True)
            aside.path.rename(forge.bare(made).path)
    finally:
        shutil.rmtree(aside.path, ignore_errors=True)
    return fresh(forge.store, {"id": made})


def _default_branch(bare: Bare, source: Path) -> str:
    """Return main or master where there is one, else the source's own HEAD, else any branch."""
    names = [ref.removeprefix("refs/heads/") for ref, _, _ in bare.refs("refs/heads/")]
    head = Bare(source).ask("symbolic-ref", "-q", "--short", "HEAD").text.strip()
    preferred = [name for name in ("main", "master", head) if name in names]
    return (preferred or names or ["main"])[0]


def seed(bare: Bare, name: str) -> None:
    """Give an empty repository its first commit, a README, as `auto_init` does."""
    blob = bare.run("hash-object", "-w", "--stdin", stdin=f"# {name}\n".encode()).strip()
    tree = bare.run("mktree", stdin=f"100644 blob {blob}\tREADME.md\n".encode()).strip()
    commit = bare.run("commit-tree", tree, "-m", "Initial commit").strip()
    bare.run("update-ref", "HEAD", commit)


def rename(forge: Forge, repo: Row, name: str) -> None:
    """Rename a repository; the old name leads to it until somebody takes that name."""
    if name.lower() != repo["name_key"]:
        check_name(forge.store, repo["owner_id"], name)
        forge.store.run(
            "INSERT OR REPLACE INTO renames VALUES (?, ?, ?)",
            *(repo["owner_id"], repo["name_key"], repo["id"]),
        )
    forge.store.run(
        "DELETE FROM renames WHERE owner_id = ? AND name_key = ?", repo["owner_id"], name.lower()
    )
    forge.store.run(
        "UPDATE repos SET name = ?, name_key = ? WHERE id = ?", name, name.lower(), repo["id"]
    )


def delete(forge: Forge, repo: Row) -> None:
    """Delete a repository; pull requests from it stay, without a head repository."""
    store = forge.store
    with store.write():
        store.run("UPDATE pulls SET head_repo_id = NULL WHERE head_repo_id = ?", repo["id"])
        store.run("UPDATE repos SET parent_id = NULL WHERE parent_id = ?", repo["id"])
        for statement in (
            "DELETE FROM pulls WHERE repo_id = ?",
            "DELETE FROM issues WHERE repo_id = ?",
            "DELETE FROM labels WHERE repo_id = ?",
            "DELETE FROM comments WHERE repo_id = ?",
            "DELETE FROM collaborators WHERE repo_id = ?",
            "DELETE FROM protections WHERE repo_id = ?",
            "DELETE FROM rulesets WHERE repo_id = ?",
            "DELETE FROM renames WHERE repo_id = ?",
            "DELETE FROM hooks WHERE repo_id = ?",
            "DELETE FROM repos WHERE id = ?",
        ):
            store.run(statement, repo["id"])
    shutil.rmtree(forge.bare(repo["id"]).path, ignore_errors=True)


def fork(forge: Forge, parent: Row, owner: Row, name: str) -> Row:
    """Copy branches and tags of a repository into another account."""
    existing = forge.store.one(
        "SELECT id FROM repos WHERE owner_id = ? AND parent_id = ?", owner["id"], parent["id"]
    )
    if existing:
        return fresh(forge.store, existing)
    with forge.store.write():
        made = register(forge.store, owner["id"], name, default_branch=parent["default_branch"])
        forge.store.run(
            "UPDATE repos SET parent_id = ?, private = ?, has_issues = 0 WHERE id = ?",
            *(parent["id"], parent["private"], made),
        )
    repo = fresh(forge.store, {"id": made})
    target = forge.bare(made).path
    try:
        forge.bare(parent["id"]).run("clone", "-q", "--bare", "--template=", ".", str(target))
    except GitError:
        delete(forge, repo)
        raise
    return repo


def adopt_first_branch(forge: Forge, repo: Row, branch: str) -> None:
    """Make a branch the default one where the present default does not exist yet."""
    bare = forge.bare(repo["id"])
    if bare.branch(repo["default_branch"]) is None:
        bare.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        forge.store.run("UPDATE repos SET default_branch = ? WHERE id = ?", branch, repo["id"])


def touch(store: Store, repo: Row) -> None:
    """Record that a repository was pushed to just now."""
    at = later(repo["pushed_at"])
    store.run("UPDATE repos SET pushed_at = ?, updated_at = ? WHERE id = ?", at, at, repo["id"])


def next_number(store: Store, repo: Row) -> int:
    """Take the next number of a repository; issues and pull requests share them."""
    number = store.count("SELECT next_number FROM repos WHERE id = ?", repo["id"])
    store.run("UPDATE repos SET next_number = ? WHERE id = ?", number + 1, repo["id"])
    return number


def set_role(store: Store, repo: Row, login: str, role_name: str) -> None:
    """Give a user a role in a repository."""
    user = people.by_login(store, login)
    if user is None:
        raise not_found()
    with store.write():
        store.run(
            "INSERT OR REPLACE INTO collaborators VALUES (?, ?, ?)",
            *(repo["id"], user["id"], role_name),
        )
