"""Pull requests and their reviews."""

from typing import Any

from mergebot.localforge import merging, people, repositories
from mergebot.localforge.forge import Forge
from mergebot.localforge.shapes.issues import association, html_url, labels_of, repo_url
from mergebot.localforge.shapes.people import user, user_by_id
from mergebot.localforge.shapes.repositories import repository
from mergebot.localforge.store import Row

UNKNOWN = merging.Mergeability(None, "unknown", None)


def _end(forge: Forge, repo: Row | None, owner: Row, ref: str, sha: str) -> dict[str, Any]:
    return {
        "label": f"{owner['login']}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(forge, owner),
        "repo": repository(forge, repo) if repo else None,
    }


def ends(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return head and base; the head's repository is null once its fork is deleted."""
    store = forge.store
    same = row["head_repo_id"] == repo["id"]
    head_id = row["head_repo_id"]
    source = repo if same else head_id and repositories.by_id(store, head_id)
    head_owner = people.by_id(store, row["head_owner_id"])
    base_owner = people.by_id(store, repo["owner_id"])
    return {
        "head": _end(forge, source or None, head_owner, row["head_ref"], row["head_sha"]),
        "base": _end(forge, repo, base_owner, row["base_ref"], row["base_sha"]),
    }


def _links(base: str, page: str, row: Row) -> dict[str, Any]:
    number = row["number"]
    url, issue = f"{base}/pulls/{number}", f"{base}/issues/{number}"
    named = {
        "self": url,
        "html": page,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{base}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{base}/statuses/{row['head_sha']}",
    }
    return {
        "url": url,
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue,
        "commits_url": named["commits"],
        "review_comments_url": named["review_comments"],
        "review_comment_url": named["review_comment"],
        "comments_url": named["comments"],
        "statuses_url": named["statuses"],
        "_links": {name: {"href": href} for name, href in named.items()},
    }


def brief(forge: Forge, repo: Row, row: Row) -> dict[str, Any]:
    """Return a pull request as lists show it: without what must be computed."""
    page = html_url(forge, repo, row["number"], "pull")
    return {
        **_links(repo_url(forge, repo), page, row),
        "id": row["id"],
        "node_id": f"PR_{row['id']}",
        "number": row["number"],
        "state": row["state"],
        "locked": False,
        "title": row["title"],
        "user": user_by_id(forge, row["user_id"]),
        "body": row["body"],
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
        "closed_at": row["closed_at"],
        "merged_at": row["merged_at"],
        "merge_commit_sha": row["merge_commit_sha"],
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "labels": labels_of(forge, repo, row["issue_id"]),
        "milestone": None,
        "draft": bool(row["draft"]),
        **ends(forge, repo, row),
        "author_association": association(forge, repo, row["user_id"]),
        "auto_merge": None,
        "active_lock_reason": None,
    }


def pull(
    forge: Forge, repo: Row, row: Row, found: merging.Mergeability = UNKNOWN
) -> dict[str, Any]:
    """Return a pull request in full, with what is known about merging it."""
    numbers = merging.statistics(str(forge.bare(repo["id"]).path), row["base_sha"], row["head_sha"])
    comments = forge.store.count(
        "SELECT count(*) FROM comments WHERE issue_id = ?", row["issue_id"]
    )
    return {
        **brief(forge, repo, row),
        "merged": bool(row["merged"]),
        "mergeable": found.mergeable,
        "rebaseable": found.mergeable,
        "mergeable_state": found.state,
        "merge_commit_sha": row["merge_commit_sha"] or found.commit,
        "merged_by": user_by_id(forge, row["merged_by"]) if row["merged_by"] else None,
        "comments": comments,
        "review_comments": 0,
        "maintainer_can_modify": bool(row["maintainer_can_modify"]),
        "commits": numbers.commits,
        "additions": numbers.additions,
        "deletions": numbers.deletions,
        "changed_files": numbers.changed_files,
    }


def review(forge: Forge, repo: Row, number: int, row: Row) -> dict[str, Any]:
    """Return one review of a pull request."""
    url = f"{repo_url(forge, repo)}/pulls/{number}"
    page = f"{html_url(forge, repo, number, 'pull')}#pullrequestreview-{row['id']}"
    return {
        "id": row["id"],
        "node_id": f"PRR_{row['id']}",
        "user": user_by_id(forge, row["user_id"]),
        "body": row["body"],
        "state": row["state"],
        "html_url": page,
        "pull_request_url": url,
        "author_association": association(forge, repo, row["user_id"]),
        "_links": {"html": {"href": page}, "pull_request": {"href": url}},
        "submitted_at": row["submitted_at"],
        "commit_id": row["commit_id"],
    }
