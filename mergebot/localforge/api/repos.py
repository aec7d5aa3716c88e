"""A repository itself, its collaborators and its forks."""

import json
from http import HTTPStatus
from typing import Any

from mergebot.localforge import activity, news, people, repositories
from mergebot.localforge.errors import forbidden, invalid, not_found
from mergebot.localforge.git import GitError
from mergebot.localforge.routing import Call, Reply, endpoint, no_content, ok
from mergebot.localforge.shapes.people import user
from mergebot.localforge.shapes.repositories import for_caller, permissions, repository
from mergebot.localforge.store import Row

REPO = "/repos/{owner}/{repo}"


@endpoint("GET", REPO, "read")
def get(call: Call) -> Reply:
    """Return a repository."""
    return ok(for_caller(call.forge, call.repo, call.caller))


@endpoint("PATCH", REPO, "admin", "administration:write")
def edit(call: Call) -> Reply:
    """Change a repository: name, description, default branch, archived, settings."""
    repo, body = call.repo, call.body
    if repo["archived"] and body.get("archived") is not False:
        raise forbidden("Repository was archived so is read-only.")
    with call.store.write():
        _set_columns(call, body)
        _set_default_branch(call, body.get("default_branch"))
        name = body.get("name")
        if isinstance(name, str) and name != repo["name"]:
            repositories.rename(call.forge, repo, name)
            changes = {"repository": {"name": {"from": repo["name"]}}}
            _tell(call, "renamed", changes=changes)
        archived = body.get("archived")
        if archived is not None and bool(archived) != bool(repo["archived"]):
            _tell(call, "archived" if archived else "unarchived")
    return ok(for_caller(call.forge, repositories.fresh(call.store, repo), call.caller))


def _set_columns(call: Call, body: dict[str, Any]) -> None:
    repo = call.repo
    settings = json.loads(repo["settings"])
    settings |= {k: bool(v) for k, v in body.items() if k in repositories.SETTINGS}
    private = body.get("private", body.get("visibility", "") == "private" or repo["private"])
    call.store.run(
        "UPDATE repos SET description = ?, private = ?, archived = ?, has_issues = ?, settings = ?"
        " WHERE id = ?",
        *(body.get("description", repo["description"]), int(bool(private))),
        *(int(bool(body.get("archived", repo["archived"]))),),
        *(int(bool(body.get("has_issues", repo["has_issues"]))), json.dumps(settings), repo["id"]),
    )


def _set_default_branch(call: Call, branch: object) -> None:
    if not isinstance(branch, str) or branch == call.repo["default_branch"]:
        return
    if call.bare.branch(branch) is None:
        raise invalid("Repository", "default_branch")
    try:
        call.bare.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    except GitError as error:
        raise invalid("Repository", "default_branch") from error
    call.store.run("UPDATE repos SET default_branch = ? WHERE id = ?", branch, call.repo["id"])


def _tell(call: Call, action: str, **more: Any) -> None:
    repo = repositories.fresh(call.store, call.repo)
    news.tell(call.forge, repo, "repository", call.user, lambda: {"action": action, **more})


@endpoint("DELETE", REPO, "admin", "administration:write")
def delete(call: Call) -> Reply:
    """Delete a repository for good."""
    with call.store.write():
        _tell(call, "deleted")
    repositories.delete(call.forge, call.repo)
    return no_content()


@endpoint("GET", f"{REPO}/collaborators", "write", "metadata:read")
def collaborators(call: Call) -> Reply:
    """List who may do more than read, the owner included."""
    rows = call.store.all(
        "SELECT users.* FROM users WHERE id = ? OR id IN"
        " (SELECT user_id FROM collaborators WHERE repo_id = ?) ORDER BY id",
        *(call.repo["owner_id"], call.repo["id"]),
    )
    return ok([_collaborator(call, row) for row in call.page(rows)])


def _collaborator(call: Call, row: Row) -> dict[str, Any]:
    held = repositories.role(call.store, call.repo, row)
    words = {"admin": "admin", "maintain": "maintain", "push": "write"}
    words |= {"triage": "triage", "pull": "read"}
    may = {word: repositories.allows(held, needed) for word, needed in words.items()}
    return {**user(call.forge, row), "permissions": may, "role_name": held}


@endpoint("GET", f"{REPO}/collaborators/{{login}}", "write", "metadata:read")
def is_collaborator(call: Call) -> Reply:
    """Answer 204 when a user is a collaborator, 404 otherwise."""
    row = people.by_login(call.store, call.params["login"])
    held = call.store.one(
        "SELECT 1 FROM collaborators WHERE repo_id = ? AND user_id = ?",
        *(call.repo["id"], row["id"] if row else 0),
    )
    if row is None or not (held or row["id"] == call.repo["owner_id"]):
        raise not_found()
    return no_content()


@endpoint("PUT", f"{REPO}/collaborators/{{login}}", "admin", "administration:write")
def invite(call: Call) -> Reply:
    """Give a user a role; nobody has to accept it here."""
    asked = str(call.body.get("permission", "push"))
    role = repositories.ROLE_OF_WORD.get(asked)
    if role is None:
        raise invalid("RepositoryInvitation", "permissions")
    repositories.set_role(call.store, call.repo, call.params["login"], role)
    return no_content()


@endpoint("DELETE", f"{REPO}/collaborators/{{login}}", "admin", "administration:write")
def expel(call: Call) -> Reply:
    """Take a user's role away."""
    row = people.by_login(call.store, call.params["login"])
    with call.store.write():
        call.store.run(
            "DELETE FROM collaborators WHERE repo_id = ? AND user_id = ?",
            *(call.repo["id"], row["id"] if row else 0),
        )
    return no_content()


LEGACY = {"maintain": "write", "triage": "read"}


@endpoint("GET", f"{REPO}/collaborators/{{login}}/permission", "user", "metadata:read")
def permission(call: Call) -> Reply:
    """Return what a user may do, in the old four words and by the name of the role."""
    row = people.by_login(call.store, call.params["login"])
    if row is None:
        raise not_found()
    held = repositories.role(call.store, call.repo, row)
    shown = _collaborator(call, row)
    return ok({"permission": LEGACY.get(held, held), "role_name": held, "user": shown})


@endpoint("POST", f"{REPO}/forks", "user")
def fork(call: Call) -> Reply:
    """Copy a repository into the caller's account."""
    name = str(call.body.get("name") or call.repo["name"])
    if call.repo["owner_id"] == call.user["id"]:
        raise forbidden("A repository cannot be forked into the account that owns it.")
    made = repositories.fork(call.forge, call.repo, call.user, name)
    return Reply(HTTPStatus.ACCEPTED, for_caller(call.forge, made, call.caller))


@endpoint("GET", f"{REPO}/forks", "read")
def forks(call: Call) -> Reply:
    """List a repository's forks."""
    rows = call.store.all(
        "SELECT repos.*, users.login AS owner FROM repos JOIN users ON users.id = owner_id"
        " WHERE parent_id = ? ORDER BY repos.id",
        call.repo["id"],
    )
    shown = [repository(call.forge, row) for row in call.page(rows)]
    for row, item in zip(rows, shown, strict=False):
        item["permissions"] = permissions(call.forge, row, call.caller)
    return ok(shown)


@endpoint("GET", f"{REPO}/activity", "read", "contents:read")
def activities(call: Call) -> Reply:
    """List the moves of branches, the newest first unless asked otherwise."""
    ascending = call.query.get("direction") == "asc"
    found = activity.listing(call.forge, call.repo, call.query.get("ref", ""), ascending=ascending)
    return ok(call.page(found))
