"""Webhooks of a repository and the log of their deliveries."""

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from mergebot.localforge import news, webhooks
from mergebot.localforge.errors import custom, invalid, not_found
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.shapes import repositories as shapes
from mergebot.localforge.shapes.issues import repo_url
from mergebot.localforge.shapes.people import user
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

HOOKS = "/repos/{owner}/{repo}/hooks"
ONE = f"{HOOKS}/{{id:int}}"
SCOPE_READ, SCOPE_WRITE = "repository_hooks:read", "repository_hooks:write"


def _hook(call: Call) -> Row:
    row = call.store.one(
        "SELECT * FROM hooks WHERE id = ? AND repo_id = ?", int(call.params["id"]), call.repo["id"]
    )
    if row is None:
        raise not_found()
    return row


def _shown(call: Call, row: Row) -> dict[str, Any]:
    return shapes.hook(call.forge, call.repo, row)


@endpoint("GET", HOOKS, "admin", SCOPE_READ)
def listing(call: Call) -> Reply:
    """List the webhooks of a repository."""
    rows = call.store.all("SELECT * FROM hooks WHERE repo_id = ? ORDER BY id", call.repo["id"])
    return ok([_shown(call, row) for row in call.page(rows)])


def _config(given: dict[str, Any], old: Row) -> tuple[str, str, str | None, str]:
    url = str(given.get("url") or old.get("url", ""))
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise invalid("Hook", "url")
    kind = str(given.get("content_type", old.get("content_type", "form")))
    if kind not in {"json", "form"}:
        raise invalid("Hook", "content_type")
    secret = given.get("secret", old.get("secret")) or None
    return url, kind, secret, str(given.get("insecure_ssl", old.get("insecure_ssl", "0")))


@endpoint("POST", HOOKS, "admin", SCOPE_WRITE)
def create(call: Call) -> Reply:
    """Create a webhook; it is pinged at once."""
    body = call.body
    if not isinstance(body.get("config"), dict):
        raise invalid("Hook", "config", "missing_field")
    values = _config(body["config"], {})
    events = body.get("events") or ["push"]
    if not all(isinstance(event, str) for event in events):
        raise invalid("Hook", "events")
    with call.store.write():
        for row in call.store.all("SELECT * FROM hooks WHERE repo_id = ?", call.repo["id"]):
            if row["url"] == values[0] and json.loads(row["events"]) == events:
                raise custom("Hook", "Hook already exists on this repository")
        made = call.store.run(
            "INSERT INTO hooks (repo_id, url, content_type, secret, insecure_ssl, events, active,"
            " created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(call.repo["id"], *values, json.dumps(events)),
            *(int(bool(body.get("active", True))), now(), now()),
        )
        row = call.store.one("SELECT * FROM hooks WHERE id = ?", made) or {}
        _ping(call, row)
    return created(_shown(call, row))


def _ping(call: Call, row: Row) -> None:
    payload = {
        "zen": "Keep it logically awesome.",
        "hook_id": row["id"],
        "hook": _shown(call, row),
        "repository": shapes.repository(call.forge, call.repo),
        "sender": user(call.forge, call.user),
    }
    news.send(call.forge, row, "ping", payload)


@endpoint("GET", ONE, "admin", SCOPE_READ)
def get(call: Call) -> Reply:
    """Return a webhook."""
    return ok(_shown(call, _hook(call)))


@endpoint("PATCH", ONE, "admin", SCOPE_WRITE)
def edit(call: Call) -> Reply:
    """Change a webhook."""
    row, body = _hook(call), call.body
    values = _config(body.get("config") or {}, row)
    events = set(body.get("events", json.loads(row["events"])))
    events = (events | set(body.get("add_events", []))) - set(body.get("remove_events", []))
    active = int(bool(body.get("active", row["active"])))
    with call.store.write():
        call.store.run(
            "UPDATE hooks SET url = ?, content_type = ?, secret = ?, insecure_ssl = ?, events = ?,"
            " active = ?, updated_at = ? WHERE id = ?",
            *(*values, json.dumps(sorted(events)), active, now(), row["id"]),
        )
    return ok(_shown(call, _hook(call)))


@endpoint("DELETE", ONE, "admin", SCOPE_WRITE)
def delete(call: Call) -> Reply:
    """Delete a webhook."""
    row = _hook(call)
    with call.store.write():
        call.store.run("DELETE FROM hooks WHERE id = ?", row["id"])
    return no_content()


@endpoint("POST", f"{ONE}/pings", "admin", SCOPE_WRITE)
def ping(call: Call) -> Reply:
    """Send a ping."""
    _ping(call, _hook(call))
    return no_content()


@endpoint("GET", f"{ONE}/deliveries", "admin", SCOPE_READ)
def deliveries(call: Call) -> Reply:
    """List the deliveries of a webhook, newest first."""
    rows = call.store.all(
        "SELECT * FROM deliveries WHERE hook_id = ? ORDER BY id DESC", _hook(call)["id"]
    )
    return ok([shapes.delivery(row) for row in call.page(rows)])


def _delivery(call: Call) -> Row:
    row = call.store.one(
        "SELECT * FROM deliveries WHERE id = ? AND hook_id = ?",
        *(int(call.params["delivery"]), _hook(call)["id"]),
    )
    if row is None:
        raise not_found()
    return row


@endpoint("GET", f"{ONE}/deliveries/{{delivery:int}}", "admin", SCOPE_READ)
def delivery(call: Call) -> Reply:
    """Return one delivery with what was sent and what came back."""
    row = _delivery(call)
    hook = call.params["id"]
    url = f"{repo_url(call.forge, call.repo)}/hooks/{hook}/deliveries/{row['id']}"
    return ok(shapes.delivery_in_full(row, url))


@endpoint("POST", f"{ONE}/deliveries/{{delivery:int}}/attempts", "admin", SCOPE_WRITE)
def redeliver(call: Call) -> Reply:
    """Send a delivery again, under the same GUID."""
    row = _delivery(call)
    with call.store.write():
        webhooks.redeliver(call.store, row)
        call.store.after_commit(lambda: call.forge.dispatcher.wake(row["hook_id"]))
    return Reply(HTTPStatus.ACCEPTED, {})


def _apps_hook(call: Call) -> Row:
    row = call.store.one(
        "SELECT * FROM hooks WHERE app_id = ? ORDER BY id LIMIT 1", call.caller.app_id
    )
    if row is None:
        raise not_found()
    return row


@endpoint("GET", "/app/hook/config", "app")
def config_of_app(call: Call) -> Reply:
    """Return where an App's webhook goes; its secret is never shown."""
    row = _apps_hook(call)
    shown = {"url": row["url"], "content_type": row["content_type"]}
    return ok(shown | {"insecure_ssl": row["insecure_ssl"], "secret": "********"})


@endpoint("GET", "/app/hook/deliveries", "app")
def deliveries_of_app(call: Call) -> Reply:
    """List the deliveries of an App's webhook, newest first."""
    rows = call.store.all(
        "SELECT * FROM deliveries WHERE hook_id = ? ORDER BY id DESC", _apps_hook(call)["id"]
    )
    return ok([shapes.delivery(row) for row in call.page(rows)])


@endpoint("POST", "/app/hook/deliveries/{delivery:int}/attempts", "app")
def redeliver_of_app(call: Call) -> Reply:
    """Send a delivery of an App's webhook again, under the same GUID."""
    row = call.store.one(
        "SELECT * FROM deliveries WHERE id = ? AND hook_id = ?",
        *(int(call.params["delivery"]), _apps_hook(call)["id"]),
    )
    if row is None:
        raise not_found()
    with call.store.write():
        webhooks.redeliver(call.store, row)
        call.store.after_commit(lambda: call.forge.dispatcher.wake(row["hook_id"]))
    return Reply(HTTPStatus.ACCEPTED, {})
