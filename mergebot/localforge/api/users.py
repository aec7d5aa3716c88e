"""Users, the caller's own account, the quota, and what the forge says of itself."""

from mergebot.localforge import access, answers, people, repositories
from mergebot.localforge.errors import custom, forbidden, not_found
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes.people import profile
from mergebot.localforge.shapes.repositories import for_caller


@endpoint("GET", "/user", "user")
def me(call: Call) -> Reply:
    """Return the caller's own account."""
    if call.caller.kind == "installation":
        raise forbidden("Resource not accessible by integration")
    return ok(profile(call.forge, call.user))


@endpoint("GET", "/users/{login}", "anyone")
def user(call: Call) -> Reply:
    """Return a user by login."""
    row = people.by_login(call.store, call.params["login"])
    if row is None:
        raise not_found()
    return ok(profile(call.forge, row))


@endpoint("GET", "/user/{id:int}", "anyone")
def user_by_id(call: Call) -> Reply:
    """Return a user by numeric id."""
    row = call.store.one("SELECT * FROM users WHERE id = ?", int(call.params["id"]))
    if row is None:
        raise not_found()
    return ok(profile(call.forge, row))


@endpoint("GET", "/rate_limit", "anyone")
def rate_limit(call: Call) -> Reply:
    """Return the caller's quota, without spending any of it."""
    used, reset = answers.QUOTA.used(call.caller.token_id)
    limit = answers.limit_of(call.forge)
    numbers = {"limit": limit, "remaining": max(0, limit - used), "reset": reset, "used": used}
    resources = dict.fromkeys(("core", "search", "graphql"), numbers)
    return ok({"resources": resources, "rate": numbers})


@endpoint("GET", "/meta", "anyone")
def meta(_: Call) -> Reply:
    """Return what this server is."""
    return ok({"verifiable_password_authentication": False, "installed_version": "3.19.0"})


@endpoint("GET", "", "anyone")
def root(call: Call) -> Reply:
    """Return the addresses from which everything else is found."""
    api = call.forge.api
    return ok(
        {
            "current_user_url": f"{api}/user",
            "repository_url": f"{api}/repos/{{owner}}/{{repo}}",
            "user_url": f"{api}/users/{{user}}",
            "rate_limit_url": f"{api}/rate_limit",
        }
    )


@endpoint("POST", "/user/repos", "user")
def create_repo(call: Call) -> Reply:
    """Create a repository of the caller's own."""
    name = call.body.get("name")
    if not isinstance(name, str) or not name:
        raise custom("Repository", "name is too short (minimum is 1 character)", "name")
    branch = str(call.body.get("default_branch") or "main")
    with call.store.write():
        repo = repositories.create(call.forge, call.user, name, default_branch=branch)
        call.store.run(
            "UPDATE repos SET private = ?, description = ? WHERE id = ?",
            *(int(bool(call.body.get("private"))), call.body.get("description"), repo["id"]),
        )
        if call.body.get("auto_init"):
            repositories.seed(call.forge.bare(repo["id"]), name)
    made = repositories.fresh(call.store, repo)
    return created(for_caller(call.forge, made, call.caller))


@endpoint("GET", "/user/repos", "user")
def my_repos(call: Call) -> Reply:
    """List the repositories that the caller owns or collaborates in."""
    return _repos(call, call.user["id"])


@endpoint("GET", "/users/{login}/repos", "anyone")
def repos_of(call: Call) -> Reply:
    """List a user's repositories, those that the caller may see."""
    row = people.by_login(call.store, call.params["login"])
    if row is None:
        raise not_found()
    return _repos(call, row["id"])


def _repos(call: Call, user_id: int) -> Reply:
    rows = call.store.all(
        "SELECT repos.*, users.login AS owner FROM repos JOIN users ON users.id = owner_id"
        " WHERE owner_id = ? OR (? = ? AND repos.id IN"
        " (SELECT repo_id FROM collaborators WHERE user_id = ?)) ORDER BY repos.id",
        *(user_id, user_id, call.caller.user["id"] if call.caller.user else 0, user_id),
    )
    seen = [row for row in rows if access.sees(call.forge, call.caller, row)]
    return ok([for_caller(call.forge, row, call.caller) for row in call.page(seen)])
