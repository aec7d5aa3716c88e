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
    hooks = forge.store.all(
        "SELECT * FROM hooks WHERE repo_id = ? AND active = 1 ORDER BY id", repo["id"]
    )
    wanting = [hook for hook in hooks if not {"*", event}.isdisjoint(json.loads(hook["events"]))]
    if not wanting:
        return
    common = {"repository": repository(forge, repo), "sender": user(forge, sender)}
    payload = {**make(), **common}
    for hook in wanting:
        send(forge, hook, event, payload)


def send(forge: Forge, hook: Row, event: str, payload: dict[str, Any]) -> None:
    """Queue one event for one hook, and wake the postman once it is durable."""
    with forge.store.write():
        webhooks.queue(forge.store, hook, event, payload)
        forge.store.after_commit(lambda: forge.dispatcher.wake(hook["id"]))
