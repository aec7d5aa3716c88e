"""Commit statuses, one by one and combined."""

from typing import Any

from mergebot.localforge import checks, news
from mergebot.localforge.errors import custom, invalid, not_found, unprocessable
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes import checks as shapes
from mergebot.localforge.shapes import commits
from mergebot.localforge.shapes.issues import repo_url
from mergebot.localforge.shapes.repositories import brief
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

REPO = "/repos/{owner}/{repo}"
STATES = ("error", "failure", "pending", "success")
STATUSES_MAX, CONTEXT_CHARS_MAX, DESCRIPTION_CHARS_MAX = 1000, 255, 140


def commit_of(call: Call) -> str:
    """Return the commit that the path's `ref` names; refuse one that is not here."""
    name = call.params["ref"]
    sha = call.bare.resolve(name)
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {name}")
    return sha


@endpoint("POST", f"{REPO}/statuses/{{sha}}", "write", "statuses:write")
def create(call: Call) -> Reply:
    """Report a state of a commit under a context."""
    sha, body = call.params["sha"], call.body
    if not call.bare.has(sha):
        raise unprocessable(f"No commit found for SHA: {sha}")
    values = _checked(call, body)
    context = str(values[0])
    with call.store.write():
        made_so_far = call.store.count(
            "SELECT count(*) FROM statuses WHERE repo_id = ? AND sha = ? AND context = ?",
            *(call.repo["id"], sha, context),
        )
        if made_so_far >= STATUSES_MAX:
            raise custom(
                "Status", "This SHA and context has reached the maximum number of statuses."
            )
        made = call.store.run(
            "INSERT INTO statuses (repo_id, sha, context, state, description, target_url,"
            " creator_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(call.repo["id"], sha, *values, call.user["id"], now()),
        )
        row = call.store.one("SELECT * FROM statuses WHERE id = ?", made) or {}
        news.tell(call.forge, call.repo, "status", call.user, lambda: _payload(call, row))
    return created(shapes.status(call.forge, call.repo, row))


def _checked(call: Call, body: dict[str, Any]) -> tuple[str, str, str | None, str | None]:
    state = call.text("Status", "state")
    if state not in STATES:
        raise custom("Status", f"state is not included in the list: {', '.join(STATES)}", "state")
    context = body.get("context") or "default"
    about = body.get("description")
    if len(str(context)) > CONTEXT_CHARS_MAX:
        raise custom("Status", "context is too long (maximum is 255 characters)", "context")
    if len(about or "") > DESCRIPTION_CHARS_MAX:
        raise custom("Status", "description is too long (maximum is 140 characters)", "description")
    target = body.get("target_url") or None
    if target and not str(target).startswith(("http://", "https://")):
        raise invalid("Status", "target_url")
    return str(context), state, about, target


def _payload(call: Call, row: Row) -> dict[str, Any]:
    found = commits.log(call.bare, "-1", row["sha"])[0]
    heads = [r for r in call.bare.refs("refs/heads/") if r[1] == row["sha"]]
    base = f"{repo_url(call.forge, call.repo)}/commits"
    branches = [
        {
            "name": name.removeprefix("refs/heads/"),
            "commit": {"sha": sha, "url": f"{base}/{sha}"},
            "protected": False,
        }
        for name, sha, _ in heads
    ]
    return {
        "id": row["id"],
        "sha": row["sha"],
        "name": f"{call.repo['owner']}/{call.repo['name']}",
        "avatar_url": None,
        "target_url": row["target_url"],
        "context": row["context"],
        "description": row["description"],
        "state": row["state"],
        "commit": commits.commit(call.forge, call.repo, found),
        "branches": branches,
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
    }


@endpoint("GET", f"{REPO}/commits/{{ref:path}}/status", "read", "statuses:read")
def combined(call: Call) -> Reply:
    """Return the combined state and the latest status of each context."""
    sha = call.bare.resolve(call.params["ref"])
    if sha is None:
        raise not_found()
    rows = checks.latest_statuses(call.store, call.repo["id"], sha)
    base = f"{repo_url(call.forge, call.repo)}/commits/{sha}"
    listed = [shapes.status(call.forge, call.repo, row) for row in call.page(rows)]
    return ok(
        {
            "state": checks.combined(rows),
            "statuses": listed,
            "sha": sha,
            "total_count": len(rows),
            "repository": brief(call.forge, call.repo),
            "commit_url": base,
            "url": f"{base}/status",
        }
    )


@endpoint("GET", f"{REPO}/statuses/{{ref:path}}", "read", "statuses:read")
@endpoint("GET", f"{REPO}/commits/{{ref:path}}/statuses", "read", "statuses:read")
def listing(call: Call) -> Reply:
    """List every status of a commit, newest first."""
    rows = call.store.all(
        "SELECT * FROM statuses WHERE repo_id = ? AND sha = ? ORDER BY id DESC",
        *(call.repo["id"], commit_of(call)),
    )
    return ok([shapes.status(call.forge, call.repo, row) for row in call.page(rows)])
