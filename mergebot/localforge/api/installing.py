"""What an App hears of its installations: made, taken away, other repositories chosen."""

import json
from typing import Any

from mergebot.localforge import apps, news, people, repositories
from mergebot.localforge.errors import not_found
from mergebot.localforge.routing import Call
from mergebot.localforge.shapes import checks as shapes
from mergebot.localforge.shapes.people import user
from mergebot.localforge.store import Row


def installation(call: Call, row: Row) -> dict[str, Any]:
    """Return an installation in full."""
    app = shapes.app(call.forge, row["app_id"])
    url = f"{call.forge.api}/app/installations/{row['id']}"
    account = user(call.forge, people.by_id(call.store, row["account_id"]))
    return {
        "id": row["id"],
        "account": account,
        "access_tokens_url": f"{url}/access_tokens",
        "repositories_url": f"{call.forge.api}/installation/repositories",
        "html_url": f"{call.forge.url}/settings/installations/{row['id']}",
        "app_id": row["app_id"],
        "app_slug": app["slug"],
        "target_id": row["account_id"],
        "target_type": account["type"],
        "permissions": {"metadata": "read", **app["permissions"]},
        "events": app["events"],
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
        "single_file_name": None,
        "repository_selection": "all" if row["repositories"] is None else "selected",
        "suspended_at": None,
        "suspended_by": None,
    }


def found(call: Call) -> Row:
    """Return the installation that the path names."""
    row = call.store.one("SELECT * FROM installations WHERE id = ?", int(call.params["id"]))
    if row is None:
        raise not_found()
    return row


def tell_installed(call: Call, row: Row, action: str) -> None:
    """Tell the App that it was installed, or taken off."""
    ids = apps.repositories_of(call.store, row)
    _tell(call, row, "installation", {"action": action, "repositories": _briefly(call, ids)})


def tell_chosen(call: Call, row: Row, before: frozenset[int], after: frozenset[int]) -> None:
    """Tell the App which repositories it gained and which it lost."""
    for action, ids in (("added", after - before), ("removed", before - after)):
        if ids:
            listed: dict[str, Any] = {"repositories_added": [], "repositories_removed": []}
            listed[f"repositories_{action}"] = _briefly(call, ids)
            selection = "all" if row["repositories"] is None else "selected"
            about = {"action": action, "repository_selection": selection, "requester": None}
            _tell(call, row, "installation_repositories", about | listed)


def _briefly(call: Call, ids: frozenset[int]) -> list[dict[str, Any]]:
    rows = [repositories.by_id(call.store, repo_id) for repo_id in sorted(ids)]
    return [
        {
            "id": row["id"],
            "node_id": f"R_{row['id']}",
            "name": row["name"],
            "full_name": repositories.full_name(row),
            "private": bool(row["private"]),
        }
        for row in rows
        if row
    ]


def _tell(call: Call, row: Row, event: str, about: dict[str, Any]) -> None:
    common = {"installation": installation(call, row), "sender": user(call.forge, call.user)}
    hooks = call.store.all("SELECT * FROM hooks WHERE app_id = ? AND active = 1", row["app_id"])
    for hook in hooks:
        news.send(call.forge, hook, event, json.loads(json.dumps(about | common)))
