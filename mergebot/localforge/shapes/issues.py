"""Labels, issues, comments, reactions and the events of an issue."""

import json
from typing import Any

from mergebot.localforge import repositories
from mergebot.localforge.forge import Forge
from mergebot.localforge.shapes.people import user_by_id
from mergebot.localforge.store import Row

_REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def repo_url(forge: Forge, repo: Row) -> str:
    """Return the API address of a repository."""
    return f"{forge.api}/repos/{repositories.full_name(repo)}"


def html_url(forge: Forge, repo: Row, number: int, kind: str) -> str:
    """Return the page of an issue (`issues`) or pull request (`pull`)."""
    return f"{forge.url}/{repositories.full_name(repo)}/{kind}/{number}"


def label(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return a label."""
    return {
        "id": row["id"],
        "node_id": f"LA_{row['id']}",
        "url": f"{repo_url(forge, repo)}/labels/{row['name']}",
        "name": row["name"],
        "color": row["color"],
        "default": False,
        "description": row["description"],
    }


def labels_of(forge: Forge, repo: Row, issue_id: int) -> list[dict[str, Any]]:
    """Return the labels of an issue or pull request."""
    rows = forge.store.all(
        "SELECT labels.* FROM labels JOIN issue_labels ON label_id = labels.id"
        " WHERE issue_id = ? ORDER BY labels.id",
        issue_id,
    )
    return [label(forge, repo, row) for row in rows]


def association(forge: Forge, repo: Row, user_id: int) -> str:
    """Return how an author stands to a repository."""
    if user_id == repo["owner_id"]:
        return "OWNER"
    held = forge.store.one(
        "SELECT role FROM collaborators WHERE repo_id = ? AND user_id = ?", repo["id"], user_id
    )
    return "COLLABORATOR" if held else "NONE"


def reactions(forge: Forge, url: str, subject: str, subject_id: int) -> dict[str, Any]:
    """Return how often each reaction was given."""
    rows = forge.store.all(
        "SELECT content, count(*) AS n FROM reactions WHERE subject = ? AND subject_id = ?"
        " GROUP BY content",
        *(subject, subject_id),
    )
    counts = dict.fromkeys(_REACTIONS, 0) | {row["content"]: row["n"] for row in rows}
    return {"url": f"{url}/reactions", "total_count": sum(counts.values()), **counts}


def issue(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return an issue; a pull request seen as an issue says so."""
    base = repo_url(forge, repo)
    number = row["number"]
    url = f"{base}/issues/{number}"
    page = html_url(forge, repo, number, "pull" if row["is_pull"] else "issues")
    comments = forge.store.count("SELECT count(*) FROM comments WHERE issue_id = ?", row["id"])
    shown = {
        "url": url,
        "repository_url": base,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": page,
        "id": row["id"],
        "node_id": f"I_{row['id']}",
        "number": number,
        "title": row["title"],
        "user": user_by_id(forge, row["user_id"]),
        "labels": labels_of(forge, repo, row["id"]),
        "state": row["state"],
        "locked": False,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": comments,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "closed_at": row["closed_at"],
        "author_association": association(forge, repo, row["user_id"]),
        "active_lock_reason": None,
        "body": row["body"],
        "closed_by": user_by_id(forge, row["closed_by"]) if row["closed_by"] else None,
        "reactions": reactions(forge, url, "issue", row["id"]),
        "timeline_url": f"{url}/timeline",
        "performed_via_github_app": None,
        "state_reason": row["state_reason"],
    }
    if row["is_pull"]:
        shown |= _as_pull(forge, repo, row, page)
    return shown


def _as_pull(forge: Forge, repo: Row, row: Row, page: str) -> dict[str, Any]:
    pull = forge.store.one("SELECT draft, merged_at FROM pulls WHERE issue_id = ?", row["id"])
    about = {
        "url": f"{repo_url(forge, repo)}/pulls/{row['number']}",
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "merged_at": pull["merged_at"] if pull else None,
    }
    return {"draft": bool(pull and pull["draft"]), "pull_request": about}


def comment(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return a comment; the row carries its issue's number and kind."""
    base = repo_url(forge, repo)
    url = f"{base}/issues/comments/{row['id']}"
    kind = "pull" if row["is_pull"] else "issues"
    page = html_url(forge, repo, row["number"], kind)
    return {
        "url": url,
        "html_url": f"{page}#issuecomment-{row['id']}",
        "issue_url": f"{base}/issues/{row['number']}",
        "id": row["id"],
        "node_id": f"IC_{row['id']}",
        "user": user_by_id(forge, row["user_id"]),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "body": row["body"],
        "author_association": association(forge, repo, row["user_id"]),
        "reactions": reactions(forge, url, "comment", row["id"]),
        "performed_via_github_app": None,
    }


def event(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return one event of an issue."""
    base = repo_url(forge, repo)
    sha = row["commit_id"]
    return {
        "id": row["id"],
        "node_id": f"EV_{row['id']}",
        "url": f"{base}/issues/events/{row['id']}",
        "actor": user_by_id(forge, row["actor_id"]),
        "event": row["event"],
        "commit_id": sha,
        "commit_url": f"{base}/commits/{sha}" if sha else None,
        "created_at": row["created_at"],
        "performed_via_github_app": None,
        **json.loads(row["detail"]),
    }


def reaction(forge: Forge, row: Row) -> dict[str, Any]:
    """Return one reaction."""
    return {
        "id": row["id"],
        "node_id": f"REA_{row['id']}",
        "user": user_by_id(forge, row["user_id"]),
        "content": row["content"],
        "created_at": row["created_at"],
    }
