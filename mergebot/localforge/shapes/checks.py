"""Commit statuses, check runs and check suites."""

import json
from typing import Any

from mergebot.localforge import people
from mergebot.localforge.forge import Forge
from mergebot.localforge.shapes import commits
from mergebot.localforge.shapes.issues import repo_url
from mergebot.localforge.shapes.people import user_by_id
from mergebot.localforge.shapes.repositories import brief
from mergebot.localforge.store import Row


def status(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return one commit status."""
    creator = user_by_id(forge, row["creator_id"])
    return {
        "url": f"{repo_url(forge, repo)}/statuses/{row['sha']}",
        "avatar_url": creator["avatar_url"],
        "id": row["id"],
        "node_id": f"SC_{row['id']}",
        "state": row["state"],
        "description": row["description"],
        "target_url": row["target_url"],
        "context": row["context"],
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
        "creator": creator,
    }


def app(forge: Forge, app_id: int) -> dict[str, Any]:
    """Return a GitHub App in brief; id 0 is the forge itself."""
    row = forge.store.one("SELECT * FROM apps WHERE id = ?", app_id) or {
        "id": 0,
        "slug": "local-forge",
        "name": "Local Forge",
        "owner_id": 0,
        "permissions": "{}",
        "events": "[]",
        "created_at": "2026-01-01T00:00:00Z",
    }
    return {
        "id": row["id"],
        "slug": row["slug"],
        "node_id": f"A_{row['id']}",
        "owner": user_by_id(forge, row["owner_id"]),
        "name": row["name"],
        "description": None,
        "external_url": forge.url,
        "html_url": f"{forge.url}/apps/{row['slug']}",
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
        "permissions": json.loads(row["permissions"]),
        "events": json.loads(row["events"]),
    }


def pulls_at(forge: Forge, repo: Row, sha: str) -> list[dict[str, Any]]:
    """Return the open pull requests of this repository whose head is a commit; none from forks."""
    rows = forge.store.all(
        "SELECT pulls.* FROM pulls JOIN issues ON issues.id = issue_id WHERE pulls.repo_id = ?"
        " AND head_repo_id = ? AND head_sha = ? AND state = 'open' ORDER BY number",
        *(repo["id"], repo["id"], sha),
    )
    base = repo_url(forge, repo)
    about = {"id": repo["id"], "url": base, "name": repo["name"]}
    return [
        {
            "url": f"{base}/pulls/{row['number']}",
            "id": row["id"],
            "number": row["number"],
            "head": {"ref": row["head_ref"], "sha": row["head_sha"], "repo": about},
            "base": {"ref": row["base_ref"], "sha": row["base_sha"], "repo": about},
        }
        for row in rows
    ]


def run(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return one check run."""
    base = repo_url(forge, repo)
    url = f"{base}/check-runs/{row['id']}"
    output = json.loads(row["output"])
    notes = len(output.get("annotations", []))
    page = f"{forge.url}/{repo['owner']}/{repo['name']}/runs/{row['id']}"
    return {
        "id": row["id"],
        "node_id": f"CR_{row['id']}",
        "name": row["name"],
        "head_sha": row["sha"],
        "external_id": row["external_id"] or "",
        "url": url,
        "html_url": page,
        "details_url": row["details_url"] or page,
        "status": row["status"],
        "conclusion": row["conclusion"],
        "started_at": row["started_at"],
        "completed_at": row["completed_at"],
        "output": {
            "title": output.get("title"),
            "summary": output.get("summary"),
            "text": output.get("text"),
            "annotations_count": notes,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": row["suite_id"]},
        "app": app(forge, row["app_id"]),
        "pull_requests": pulls_at(forge, repo, row["sha"]),
    }


def suite(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return one check suite, summed up from its latest runs."""
    base = repo_url(forge, repo)
    head = commits.log(forge.bare(repo["id"]), "-1", row["sha"])[0]
    runs = forge.store.all(
        "SELECT * FROM check_runs WHERE id IN (SELECT max(id) FROM check_runs WHERE suite_id = ?"
        " GROUP BY name)",
        row["id"],
    )
    done = bool(runs) and all(r["status"] == "completed" for r in runs)
    green = all(r["conclusion"] in {"success", "neutral", "skipped"} for r in runs)
    return {
        "id": row["id"],
        "node_id": f"CS_{row['id']}",
        "head_branch": row["branch"],
        "head_sha": row["sha"],
        "head_commit": {
            "id": head.sha,
            "tree_id": head.tree,
            "message": head.message,
            "timestamp": head.committer["date"],
            "author": {k: head.author[k] for k in ("name", "email")},
            "committer": {k: head.committer[k] for k in ("name", "email")},
        },
        "status": "completed" if done else "queued" if not runs else "in_progress",
        "conclusion": ("success" if green else "failure") if done else None,
        "url": f"{base}/check-suites/{row['id']}",
        "before": None,
        "after": row["sha"],
        "pull_requests": pulls_at(forge, repo, row["sha"]),
        "app": app(forge, row["app_id"]),
        "repository": brief(forge, repo),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{base}/check-suites/{row['id']}/check-runs",
    }


def bot_of(forge: Forge, app_id: int) -> Row:
    """Return the account that an App acts as."""
    found = forge.store.one("SELECT bot_id FROM apps WHERE id = ?", app_id)
    return people.by_id(forge.store, found["bot_id"] if found else 0)
