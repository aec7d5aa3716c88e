"""Answers in the forge's shape, with the fields that matter to the adapter."""

from typing import Any

from mergebot.domain.ids import parse_sha

HEAD = parse_sha("a" * 40)
BASE = parse_sha("b" * 40)
BOT = {"id": 99, "login": "mergebot"}
ALICE = {"id": 1, "login": "alice"}


def pull(number: int = 7, **changes: Any) -> dict[str, Any]:
    fork = {"id": 5, "full_name": "o/r"}
    return {
        "number": number,
        "state": "open",
        "title": "Fix it",
        "body": None,
        "user": ALICE,
        "head": {"sha": HEAD, "ref": "fix", "repo": fork},
        "base": {"sha": BASE, "ref": "main", "repo": fork},
        "labels": [{"name": "merge-queue"}],
        "draft": False,
        "comments": 0,
        "merged_at": None,
        "created_at": "2026-11-29T12:00:00Z",
        "html_url": f"https://example.org/o/r/pull/{number}",
    } | changes


def comment(comment_id: int, body: str, user: dict[str, Any] = BOT) -> dict[str, Any]:
    return {"id": comment_id, "body": body, "user": user}


def event(event_id: int, name: str, at: str = "2026-11-29T12:00:00Z") -> dict[str, Any]:
    label = {"name": "merge-queue"}
    return {"id": event_id, "event": name, "actor": ALICE, "label": label, "created_at": at}


def review(user_id: int, state: str, commit: str = HEAD) -> dict[str, Any]:
    user = {"id": user_id, "login": f"user{user_id}"}
    return {"user": user, "state": state, "commit_id": commit}
