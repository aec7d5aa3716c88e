"""Commit statuses and check runs as facts about a commit: what passed, what has not."""

from collections.abc import Sequence
from dataclasses import dataclass

from mergebot.localforge.store import Row, Store

GREEN = ("success", "neutral", "skipped")


@dataclass(frozen=True, slots=True)
class Required:
    """A required check, and the number of the App that has to report it, 0 for anybody."""

    name: str
    app_id: int


def latest_statuses(store: Store, repo_id: int, sha: str) -> list[Row]:
    """Return the latest status of each context of a commit."""
    return store.all(
        "SELECT * FROM statuses WHERE id IN (SELECT max(id) FROM statuses WHERE repo_id = ?"
        " AND sha = ? GROUP BY context) ORDER BY id",
        *(repo_id, sha),
    )


def latest_runs(store: Store, repo_id: int, sha: str) -> list[Row]:
    """Return the latest check run of each App and name of a commit."""
    return store.all(
        "SELECT * FROM check_runs WHERE id IN (SELECT max(id) FROM check_runs WHERE repo_id = ?"
        " AND sha = ? GROUP BY app_id, name) ORDER BY id DESC",
        *(repo_id, sha),
    )


def combined(statuses: list[Row]) -> str:
    """Return the combined state of a commit's latest statuses."""
    states = {row["state"] for row in statuses}
    if states & {"failure", "error"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


def passed(store: Store, repo_id: int, sha: str) -> frozenset[str]:
    """Return the names of the statuses and check runs that are green on a commit."""
    statuses = latest_statuses(store, repo_id, sha)
    runs = latest_runs(store, repo_id, sha)
    return frozenset(
        [row["context"] for row in statuses if row["state"] == "success"]
        + [row["name"] for row in runs if row["conclusion"] in GREEN]
    )


def missing(store: Store, repo_id: int, sha: str, asked: Sequence[Required]) -> list[str]:
    """Return the names of the required checks that are not green on a commit."""
    return [each.name for each in asked if each.name not in _passed_by(store, repo_id, sha, each)]


def _passed_by(store: Store, repo_id: int, sha: str, asked: Required) -> frozenset[str]:
    if not asked.app_id:
        return passed(store, repo_id, sha)
    app = store.one("SELECT bot_id FROM apps WHERE id = ?", asked.app_id) or {"bot_id": -1}
    # Of one context the App's own latest word counts, whatever others said after it.
    statuses = store.all(
        "SELECT * FROM statuses WHERE id IN (SELECT max(id) FROM statuses WHERE repo_id = ?"
        " AND sha = ? AND creator_id = ? GROUP BY context)",
        *(repo_id, sha, app["bot_id"]),
    )
    runs = [row for row in latest_runs(store, repo_id, sha) if row["app_id"] == asked.app_id]
    return frozenset(
        [row["context"] for row in statuses if row["state"] == "success"]
        + [row["name"] for row in runs if row["conclusion"] in GREEN]
    )


def unfinished(store: Store, repo_id: int, sha: str) -> bool:
    """Tell whether anything on a commit is red or still runs."""
    statuses = latest_statuses(store, repo_id, sha)
    runs = latest_runs(store, repo_id, sha)
    return any(row["state"] != "success" for row in statuses) or any(
        row["conclusion"] not in GREEN for row in runs
    )
