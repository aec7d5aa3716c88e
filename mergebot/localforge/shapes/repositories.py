"""Repositories, their branches' protection and their hooks."""

import json
from typing import Any

from mergebot.localforge import people, repositories
from mergebot.localforge.forge import Forge
from mergebot.localforge.routing import Caller
from mergebot.localforge.shapes.people import user
from mergebot.localforge.store import Row

_LINKS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}
_UNSET = ("homepage", "language", "license", "mirror_url")


def brief(forge: Forge, row: Row) -> dict[str, Any]:
    """Return a repository as it appears inside other things."""
    full = repositories.full_name(row)
    url = f"{forge.api}/repos/{full}"
    return {
        "id": row["id"],
        "node_id": f"R_{row['id']}",
        "name": row["name"],
        "full_name": full,
        "private": bool(row["private"]),
        "owner": user(forge, people.by_id(forge.store, row["owner_id"])),
        "html_url": f"{forge.url}/{full}",
        "description": row["description"],
        "fork": row["parent_id"] is not None,
        "url": url,
        **{name: url + rest for name, rest in _LINKS.items()},
    }


def repository(forge: Forge, row: Row) -> dict[str, Any]:
    """Return a repository in full, as pull requests and webhooks carry it."""
    full = repositories.full_name(row)
    opened = forge.store.count(
        "SELECT count(*) FROM issues WHERE repo_id = ? AND state = 'open'", row["id"]
    )
    forks = forge.store.count("SELECT count(*) FROM repos WHERE parent_id = ?", row["id"])
    return {
        **brief(forge, row),
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "pushed_at": row["pushed_at"],
        "git_url": f"{forge.url}/{full}.git",
        "ssh_url": f"{forge.url}/{full}.git",
        "clone_url": f"{forge.url}/{full}.git",
        "svn_url": f"{forge.url}/{full}",
        "default_branch": row["default_branch"],
        "archived": bool(row["archived"]),
        "disabled": False,
        "visibility": "private" if row["private"] else "public",
        "size": 0,
        "open_issues": opened,
        "open_issues_count": opened,
        "forks": forks,
        "forks_count": forks,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "has_issues": bool(row["has_issues"]),
        "has_pages": False,
        "has_downloads": True,
        "has_discussions": False,
        "is_template": False,
        "allow_forking": True,
        "web_commit_signoff_required": False,
        "topics": [],
        **dict.fromkeys(_UNSET),
        **repositories.settings(row),
    }


def permissions(forge: Forge, row: Row, caller: Caller) -> dict[str, bool]:
    """Return what the caller may do in a repository."""
    if caller.kind == "installation":
        held = "write" if row["id"] in (caller.repositories or ()) else "read"
    else:
        held = repositories.role(forge.store, row, caller.user)
    words = {"admin": "admin", "maintain": "maintain", "push": "write"}
    words |= {"triage": "triage", "pull": "read"}
    return {word: repositories.allows(held, needed) for word, needed in words.items()}


def for_caller(forge: Forge, row: Row, caller: Caller) -> dict[str, Any]:
    """Return a repository as its own resource, with what the caller may do there."""
    shown = repository(forge, row)
    if caller.user is not None:
        shown["permissions"] = permissions(forge, row, caller)
    parent = repositories.by_id(forge.store, row["parent_id"]) if row["parent_id"] else None
    if parent:
        shown |= {"parent": repository(forge, parent), "source": repository(forge, parent)}
    return shown | {"network_count": 0, "subscribers_count": 0}


def hook(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return a repository's webhook; its secret is never shown."""
    url = f"{forge.api}/repos/{repositories.full_name(repo)}/hooks/{row['id']}"
    config = {"url": row["url"], "content_type": row["content_type"]}
    config["insecure_ssl"] = row["insecure_ssl"]
    if row["secret"]:
        config["secret"] = "********"  # noqa: S105 - what GitHub shows instead of the secret
    return {
        "type": "Repository",
        "id": row["id"],
        "name": "web",
        "active": bool(row["active"]),
        "events": json.loads(row["events"]),
        "config": config,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "url": url,
        "test_url": f"{url}/test",
        "ping_url": f"{url}/pings",
        "deliveries_url": f"{url}/deliveries",
        "last_response": {"code": None, "status": "unused", "message": None},
    }


def delivery(row: Row) -> dict[str, Any]:
    """Return one delivery as the list shows it."""
    return {
        "id": row["id"],
        "guid": row["guid"],
        "delivered_at": row["delivered_at"],
        "redelivery": bool(row["redelivery"]),
        "duration": row["duration"],
        "status": row["status"] or "pending",
        "status_code": row["status_code"],
        "event": row["event"],
        "action": row["action"],
        "installation_id": row["installation_id"],
        "repository_id": row["repo_id"],
        "throttled_at": None,
    }


def delivery_in_full(row: Row, url: str) -> dict[str, Any]:
    """Return one delivery with what was sent and what came back."""
    text = row["payload"].decode("utf-8")
    payload = json.loads(text) if text.startswith("{") else text
    return {
        **delivery(row),
        "url": url,
        "request": {"headers": json.loads(row["request_headers"]), "payload": payload},
        "response": {
            "headers": json.loads(row["response_headers"]),
            "payload": row["response_body"],
        },
    }
