"""GitHub Apps by JWT: themselves, their installations, and the tokens of these."""

import json
import time
from http import HTTPStatus
from typing import Any

from mergebot.localforge import apps, people, repositories
from mergebot.localforge.api.installing import installation as installation_shape
from mergebot.localforge.errors import forbidden, not_found, unprocessable
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes import checks as shapes
from mergebot.localforge.shapes.repositories import for_caller
from mergebot.localforge.store import Row
from mergebot.localforge.times import instant

TOKEN_SECONDS = 3600


@endpoint("GET", "/app", "app")
def me(call: Call) -> Reply:
    """Return the App that the JWT is of."""
    count = call.store.count(
        "SELECT count(*) FROM installations WHERE app_id = ?", call.caller.app_id
    )
    return ok({**shapes.app(call.forge, call.caller.app_id), "installations_count": count})


@endpoint("GET", "/apps/{slug}", "anyone")
def by_slug(call: Call) -> Reply:
    """Return an App by its name in addresses."""
    row = call.store.one("SELECT id FROM apps WHERE slug = ?", call.params["slug"])
    if row is None:
        raise not_found()
    return ok(shapes.app(call.forge, row["id"]))


@endpoint("GET", "/app/installations", "app")
def installations(call: Call) -> Reply:
    """List the App's installations."""
    rows = call.store.all(
        "SELECT * FROM installations WHERE app_id = ? ORDER BY id", call.caller.app_id
    )
    return ok([installation_shape(call, row) for row in call.page(rows)])


def _mine(call: Call) -> Row:
    row = call.store.one(
        "SELECT * FROM installations WHERE id = ? AND app_id = ?",
        *(int(call.params["id"]), call.caller.app_id),
    )
    if row is None:
        raise not_found()
    return row


@endpoint("GET", "/app/installations/{id:int}", "app")
def installation(call: Call) -> Reply:
    """Return one of the App's installations."""
    return ok(installation_shape(call, _mine(call)))


@endpoint("GET", "/repos/{owner}/{repo}/installation", "app")
def installation_of(call: Call) -> Reply:
    """Return the App's installation that reaches a repository."""
    rows = call.store.all(
        "SELECT * FROM installations WHERE app_id = ? AND account_id = ?",
        *(call.caller.app_id, call.repo["owner_id"]),
    )
    for row in rows:
        if call.repo["id"] in apps.repositories_of(call.store, row):
            return ok(installation_shape(call, row))
    raise not_found()


@endpoint("POST", "/app/installations/{id:int}/access_tokens", "app")
def access_token(call: Call) -> Reply:
    """Return a token of an installation, good for one hour."""
    row, body = _mine(call), call.body
    app = call.store.one("SELECT * FROM apps WHERE id = ?", row["app_id"]) or {}
    granted = apps.permissions_for(app, body.get("permissions") or {})
    if granted is None:
        raise unprocessable("The permissions requested are not granted to this installation.")
    scoped = dict(row)
    mine = apps.repositories_of(call.store, row)
    named = [repo_id for repo_id in sorted(mine) if _name_of(call, repo_id) in _names(body)]
    wanted = [*(body.get("repository_ids") or []), *named]
    if len(named) < len(_names(body)) or not set(wanted) <= mine:
        raise unprocessable(
            "There is at least one repository that does not exist or is not accessible to the"
            " parent installation."
        )
    scoped["repositories"] = json.dumps(wanted) if wanted else None
    expires = time.time() + TOKEN_SECONDS
    token = people.mint_for_installation(call.store, scoped, granted, expires)
    selection = "selected" if wanted or row["repositories"] is not None else "all"
    return created(
        {
            "token": token,
            "expires_at": instant(expires),
            "permissions": granted,
            "repository_selection": selection,
        }
    )


def _names(body: dict[str, Any]) -> set[str]:
    return {str(name).lower() for name in body.get("repositories") or []}


def _name_of(call: Call, repo_id: int) -> str:
    row = repositories.by_id(call.store, repo_id)
    return row["name_key"] if row else ""


@endpoint("GET", "/installation/repositories", "user")
def repositories_of(call: Call) -> Reply:
    """List the repositories that an installation's token reaches."""
    if call.caller.kind != "installation":
        raise forbidden("You must authenticate with an installation access token.")
    ids = sorted(call.caller.repositories or ())
    rows = [repositories.by_id(call.store, repo_id) for repo_id in ids]
    present = [row for row in rows if row]
    shown = [for_caller(call.forge, row, call.caller) for row in call.page(present)]
    return Reply(
        HTTPStatus.OK,
        {"total_count": len(present), "repository_selection": "all", "repositories": shown},
    )
