"""Refs of the git database: read, created, moved, deleted."""

from http import HTTPStatus
from typing import Any

from mergebot.localforge import protection, pushes
from mergebot.localforge.errors import ApiError, not_found, unprocessable
from mergebot.localforge.git import SHA, ZERO, GitError, Update, valid_ref
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.shapes import commits

GIT = "/repos/{owner}/{repo}/git"


def _check_not_empty(call: Call) -> None:
    if not call.bare.refs("refs/heads/"):
        raise ApiError(HTTPStatus.CONFLICT, "Git Repository is empty.")


def _shown(call: Call, name: str, sha: str) -> dict[str, Any]:
    # A branch can only point at a commit; anything else is looked up.
    branch = name.startswith("refs/heads/")
    kind = "commit" if branch else call.bare.run("cat-file", "-t", sha).strip()
    return commits.ref(call.forge, call.repo, name, sha, kind)


@endpoint("GET", f"{GIT}/ref/{{ref:path}}", "read", "contents:read")
def get(call: Call) -> Reply:
    """Return one ref by its exact name."""
    name = f"refs/{call.params['ref']}"
    sha = call.bare.ref(name) if valid_ref(name) else None
    stale = call.forge.faults.stale(call.repo["id"], name)
    if stale == ZERO or (sha is None and stale is None):
        _check_not_empty(call)
        raise not_found()
    return ok(_shown(call, name, stale or sha or ""))


@endpoint("GET", f"{GIT}/matching-refs/{{ref:path}}", "read", "contents:read")
def matching(call: Call) -> Reply:
    """List the refs that start with a name."""
    found = call.bare.refs(f"refs/{call.params['ref']}")
    return ok([commits.ref(call.forge, call.repo, *ref) for ref in call.page(found)])


@endpoint("GET", f"{GIT}/refs", "read", "contents:read")
def listing(call: Call) -> Reply:
    """List all refs."""
    _check_not_empty(call)
    return ok([commits.ref(call.forge, call.repo, *ref) for ref in call.page(call.bare.refs(""))])


@endpoint("GET", f"{GIT}/refs/{{ref:path}}", "read", "contents:read")
def get_or_matching(call: Call) -> Reply:
    """Return the refs that start with a name, as the older address does."""
    return matching(call)


def _move(call: Call, update: Update) -> None:
    """Move one ref as a push would: protection first, then everything that follows."""
    refusal = protection.refusal(call.forge, call.repo, call.user, update)
    if refusal:
        raise unprocessable(refusal)
    try:
        call.bare.move([update])
    except GitError as error:
        raise unprocessable("Reference cannot be updated") from error
    pushes.follow(call.forge, call.repo, call.user, [update])


@endpoint("POST", f"{GIT}/refs", "write", "contents:write")
def create(call: Call) -> Reply:
    """Create a ref on a commit that is here."""
    name, sha = call.text("Reference", "ref"), call.text("Reference", "sha")
    _check_writable(name)
    if call.bare.ref(name):
        raise unprocessable("Reference already exists")
    if not SHA.match(sha) or call.bare.ask("cat-file", "-e", sha).code:
        raise unprocessable("Object does not exist")
    _move(call, Update(name, ZERO, sha))
    return created(_shown(call, name, sha))


def _check_writable(name: str) -> None:
    if not valid_ref(name) or name.count("/") < 2:  # noqa: PLR2004 - refs/KIND/NAME
        raise unprocessable(f"{name} is not a valid ref name.")
    if name.startswith(("refs/pull/", "refs/forge/", "refs/for/")):
        raise unprocessable("Reference cannot be updated")


@endpoint("PATCH", f"{GIT}/refs/{{ref:path}}", "write", "contents:write")
def move(call: Call) -> Reply:
    """Move a ref: forward only, unless `force` is set."""
    name, sha = f"refs/{call.params['ref']}", call.text("Reference", "sha")
    _check_writable(name)
    old = call.bare.ref(name)
    if old is None:
        raise unprocessable("Reference does not exist")
    if not SHA.match(sha) or call.bare.ask("cat-file", "-e", sha).code:
        raise unprocessable("Object does not exist")
    if not call.body.get("force") and not call.bare.contains(sha, old):
        raise unprocessable("Update is not a fast forward")
    _move(call, Update(name, old, sha))
    return ok(_shown(call, name, sha))


@endpoint("DELETE", f"{GIT}/refs/{{ref:path}}", "write", "contents:write")
def delete(call: Call) -> Reply:
    """Delete a ref; never the default branch."""
    name = f"refs/{call.params['ref']}"
    _check_writable(name)
    old = call.bare.ref(name)
    if old is None:
        raise unprocessable("Reference does not exist")
    if name == f"refs/heads/{call.repo['default_branch']}":
        raise unprocessable("Cannot delete the default branch")
    _move(call, Update(name, old, ZERO))
    return no_content()
