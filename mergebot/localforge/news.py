"""News for webhooks: which hooks want an event, and the payload that they get."""

import json
from collections.abc import Callable
from typing import Any

from mergebot.localforge import webhooks
from mergebot.localforge.forge import Forge
from mergebot.localforge.shapes.people import user
from mergebot.localforge.shapes.repositories import repository
from mergebot.localforge.store import Row

Make = Callable[[], dict[str, Any]]


def tell(forge: Forge, repo: Row, event: str, sender: Row, make: Make) -> None:
    """Queue an event for every hook that wants it; the payload is built only if one does."""
    hooks = [*_of_repo(forge, repo), *_of_apps(forge, repo)]
    wanting = [hook for hook in hooks if not {"*", event}.isdisjoint(json.loads(hook["events"]))]
    if not wanting:
        return
    common = {"repository": repository(forge, repo), "sender": user(forge, sender)}
    payload = {**make(), **common}
    for hook in wanting:
        about = hook.get("installation_id")
        installed = {"installation": {"id": about, "node_id": f"IN_{about}"}} if about else {}
        send(forge, hook, event, payload | installed)


def _of_repo(forge: Forge, repo: Row) -> list[Row]:
    return forge.store.all(
        "SELECT * FROM hooks WHERE repo_id = ? AND active = 1 ORDER BY id", repo["id"]
    )


def _of_apps(forge: Forge, repo: Row) -> list[Row]:
    """Return the hooks of the Apps that are installed on a repository."""
    rows = forge.store.all(
        "SELECT hooks.*, installations.id AS installation_id, repositories FROM hooks"
        " JOIN installations ON installations.app_id = hooks.app_id"
        " WHERE account_id = ? AND active = 1 ORDER BY hooks.id",
        repo["owner_id"],
    )
    return [r for r in rows if not r["repositories"] or repo["id"] in json.loads(r["repositories"])]


def send(forge: Forge, hook: Row, event: str, payload: dict[str, Any]) -> None:
    """Queue one event for one hook, and wake the postman once it is durable."""
    with forge.store.write():
        webhooks.queue(forge.store, hook, event, payload)
        forge.store.after_commit(lambda: forge.dispatcher.wake(hook["id"]))
