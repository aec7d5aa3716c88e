"""A repository's activity: which branch moved when, by whom, and from where to where."""

from typing import Any

from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ZERO, Update
from mergebot.localforge.shapes.people import user
from mergebot.localforge.store import Row
from mergebot.localforge.times import now


def record(forge: Forge, repo: Row, actor: Row, update: Update) -> None:
    """Note that a branch moved, inside the transaction that follows the push."""
    forge.store.run(
        "INSERT INTO activities (repo_id, ref, before, after, actor_id, kind, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        *(repo["id"], update.ref, update.old, update.new, actor["id"]),
        *(_kind(forge, repo, update), now()),
    )


def _kind(forge: Forge, repo: Row, update: Update) -> str:
    if update.old == ZERO:
        return "branch_creation"
    if update.new == ZERO:
        return "branch_deletion"
    return "push" if forge.bare(repo["id"]).contains(update.new, update.old) else "force_push"


def listing(forge: Forge, repo: Row, ref: str, *, ascending: bool) -> list[dict[str, Any]]:
    """Return the moves of one branch, or of all where `ref` is empty."""
    order = "ASC" if ascending else "DESC"
    rows = forge.store.all(
        f"SELECT * FROM activities WHERE repo_id = ? AND (? = '' OR ref = ?) ORDER BY id {order}",  # noqa: S608 - one of two words
        *(repo["id"], ref, ref),
    )
    return [_shown(forge, row) for row in rows]


def _shown(forge: Forge, row: Row) -> dict[str, Any]:
    actor = forge.store.one("SELECT * FROM users WHERE id = ?", row["actor_id"])
    return {
        "id": row["id"],
        "node_id": f"PSH_{row['id']}",
        "before": row["before"],
        "after": row["after"],
        "ref": row["ref"],
        "timestamp": row["at"],
        "activity_type": row["kind"],
        "actor": user(forge, actor) if actor else None,
    }
