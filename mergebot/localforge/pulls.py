"""The life of a pull request: opened, changed, closed, reopened, drafted, and found merged."""

from dataclasses import dataclass, field
from typing import Any

from mergebot.localforge import issues, merging, pulls_store, repositories
from mergebot.localforge.errors import custom, invalid, unprocessable
from mergebot.localforge.git import Bare
from mergebot.localforge.issues import Place
from mergebot.localforge.store import Row
from mergebot.localforge.times import now


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a new pull request shall be."""

    title: str
    body: str | None
    base: str
    head_repo: Row
    head_ref: str
    draft: int = 0
    maintainer_can_modify: int = 0
    labels: list[str] = field(default_factory=list)


def bring(place: Place, number: int, head_repo_id: int, sha: str) -> None:
    """Make a head fetchable as refs/pull/N/head, from a fork where it lies in one."""
    bare = place.forge.bare(place.repo["id"])
    ref = f"refs/pull/{number}/head"
    if head_repo_id == place.repo["id"]:
        bare.set_ref(ref, sha)
    else:
        bare.fetch(place.forge.bare(head_repo_id).path, sha, ref)


def _checked(place: Place, asked: Proposal) -> tuple[str, str]:
    """Return head and base commit of a proposal, or refuse it."""
    bare = place.forge.bare(place.repo["id"])
    base = bare.branch(asked.base)
    if base is None:
        raise invalid("PullRequest", "base")
    source = place.forge.bare(asked.head_repo["id"])
    head = source.branch(asked.head_ref)
    if head is None:
        raise invalid("PullRequest", "head")
    owner = asked.head_repo["owner"]
    others = pulls_store.open_from(place.store, asked.head_repo["id"], asked.head_ref)
    mine = [o for o in others if o["repo_id"] == place.repo["id"] and o["base_ref"] == asked.base]
    if mine:
        message = f"A pull request already exists for {owner}:{asked.head_ref}."
        raise unprocessable(
            "Validation Failed",
            [{"resource": "PullRequest", "code": "custom", "message": message}],
        )
    if source.path != bare.path:
        bare.fetch(source.path, head, "refs/forge/incoming")
    if bare.contains(base, head):
        raise custom("PullRequest", f"No commits between {asked.base} and {asked.head_ref}")
    return head, base


def open_pull(place: Place, asked: Proposal) -> Row:
    """Open a pull request and return it."""
    if not asked.title.strip():
        raise invalid("PullRequest", "title", "missing_field")
    issues.check_body("PullRequest", asked.body)
    with place.forge.lock(place.repo["id"]):
        head, base = _checked(place, asked)
        with place.store.write():
            issue = issues.create(place, asked.title, asked.body, is_pull=1)
            place.store.run(
                "INSERT INTO pulls (issue_id, repo_id, number, head_repo_id, head_owner_id,"
                " head_ref, head_sha, base_ref, base_sha, draft, maintainer_can_modify)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(issue["id"], place.repo["id"], issue["number"], asked.head_repo["id"]),
                *(asked.head_repo["owner_id"], asked.head_ref, head, asked.base, base),
                *(asked.draft, asked.maintainer_can_modify),
            )
            bring(place, issue["number"], asked.head_repo["id"], head)
            issues.tell(place, issue, "opened")
            issues.add_labels(place, issue, asked.labels)
    return pulls_store.get(place.store, place.repo, issue["number"])


def issue_of(place: Place, pull: Row) -> Row:
    """Return the issue that a pull request is."""
    return issues.by_id(place.store, pull["issue_id"])


def close(place: Place, pull: Row) -> None:
    """Close a pull request without merging it."""
    issue = issue_of(place, pull)
    if issue["state"] == "open":
        issues.set_state(place, issue, "closed", None)
        issues.tell(place, issue, "closed")


def reopen(place: Place, pull: Row) -> None:
    """Reopen a closed pull request; refuse when it was merged or its branch is gone."""
    issue = issue_of(place, pull)
    if issue["state"] == "open":
        return
    source = pull["head_repo_id"] and place.forge.bare(pull["head_repo_id"])
    head = source.branch(pull["head_ref"]) if isinstance(source, Bare) else None
    if pull["merged"] or head is None:
        message = "The pull request cannot be reopened."
        why = "state cannot be changed. " + message
        if head is None and not pull["merged"]:
            why = f"state cannot be changed. The {pull['head_ref']} branch has been deleted."
        raise custom("PullRequest", why, "state")
    issues.set_state(place, issue, "open", None)
    if head != pull["head_sha"]:
        _point(place, pull, head)
    issues.tell(place, issue, "reopened")


def retarget(place: Place, pull: Row, base: str) -> dict[str, Any]:
    """Change the base branch; return what changed, as the `edited` event tells it."""
    tip = place.forge.bare(place.repo["id"]).branch(base)
    if tip is None:
        message = f"Proposed base branch '{base}' was not found"
        raise unprocessable(
            "Validation Failed",
            [{"resource": "PullRequest", "field": "base", "code": "invalid", "message": message}],
        )
    if base == pull["base_ref"]:
        return {}
    place.store.run(
        "UPDATE pulls SET base_ref = ?, base_sha = ? WHERE id = ?", base, tip, pull["id"]
    )
    issues.record(place, issue_of(place, pull), "base_ref_changed")
    return {"base": {"ref": {"from": pull["base_ref"]}, "sha": {"from": pull["base_sha"]}}}


def edit(place: Place, pull: Row, wanted: dict[str, Any]) -> None:
    """Change title, body or base of a pull request, and tell it once."""
    issue = issue_of(place, pull)
    changes: dict[str, Any] = {}
    for name in ("title", "body"):
        if name in wanted and wanted[name] != pull[name]:
            changes[name] = {"from": pull[name]}
    title, body = wanted.get("title", pull["title"]), wanted.get("body", pull["body"])
    if not isinstance(title, str) or not title.strip():
        raise invalid("PullRequest", "title")
    issues.check_body("PullRequest", body)
    if isinstance(wanted.get("base"), str):
        changes |= retarget(place, pull, wanted["base"])
    if changes:
        place.store.run(
            "UPDATE issues SET title = ?, body = ? WHERE id = ?", title, body, issue["id"]
        )
        if "title" in changes:
            rename = {"from": pull["title"], "to": title}
            issues.record(place, issue, "renamed", rename=rename)
        issues.touch(place.store, issue)
        issues.tell(place, issue, "edited", changes=changes)


def set_draft(place: Place, pull: Row, draft: int) -> None:
    """Make a pull request a draft (1) or ready for review (0)."""
    if pull["draft"] == draft:
        return
    issue = issue_of(place, pull)
    place.store.run("UPDATE pulls SET draft = ? WHERE id = ?", draft, pull["id"])
    issues.touch(place.store, issue)
    issues.record(place, issue, "convert_to_draft" if draft else "ready_for_review")
    issues.tell(place, issue, "converted_to_draft" if draft else "ready_for_review")


def _point(place: Place, pull: Row, head: str) -> None:
    bring(place, pull["number"], pull["head_repo_id"], head)
    base = place.forge.bare(place.repo["id"]).branch(pull["base_ref"]) or pull["base_sha"]
    place.store.run(
        "UPDATE pulls SET head_sha = ?, base_sha = ? WHERE id = ?", head, base, pull["id"]
    )


def synchronize(place: Place, pull: Row, old: str, new: str) -> None:
    """Follow a head branch that was pushed to."""
    issue = issue_of(place, pull)
    _point(place, pull, new)
    issues.touch(place.store, issue)
    if not place.forge.bare(place.repo["id"]).contains(new, old):
        issues.record(place, issue, "head_ref_force_pushed", commit_id=new)
    issues.tell(place, issue, "synchronize", before=old, after=new)


def mark_merged(place: Place, pull: Row, commit: str) -> None:
    """Record that a pull request was merged by a commit of its base."""
    if place.store.switch("closed_instead_of_merged", default=False):
        close(place, pull)
        return
    issue = issue_of(place, pull)
    at = now()
    place.store.run(
        "UPDATE pulls SET merged = 1, merged_at = ?, merged_by = ?, merge_commit_sha = ?"
        " WHERE id = ?",
        *(at, place.actor["id"], commit, pull["id"]),
    )
    issues.record(place, issue, "merged", commit_id=commit)
    issues.set_state(place, issue, "closed", None)
    issues.tell(place, issue, "closed")


def base_moved(place: Place, branch: str, old: str, new: str) -> None:
    """Find the pull requests that a move of their base has merged."""
    waiting = pulls_store.open_onto(place.store, place.repo, branch)
    if not waiting:
        return
    bare = place.forge.bare(place.repo["id"])
    reached = merging.reached(bare, old, new)
    for pull in waiting:
        if pull["head_sha"] in reached:
            commit = merging.merging_commit(bare, pull["head_sha"], old, new)
            mark_merged(place, pull, commit)


def head_repository(place: Place, head: str, head_repo: str | None) -> tuple[Row, str]:
    """Return repository and branch that `branch` or `owner:branch` mean, in `head_repo` if named."""
    owner, _, branch = head.rpartition(":")
    owner = owner or place.repo["owner"]
    if head_repo:
        whose, _, name = head_repo.rpartition("/")
        found = repositories.by_name(place.store, whose or owner, name)
    elif owner.lower() == place.repo["owner"].lower():
        found = place.repo
    else:
        found = repositories.by_name(place.store, owner, place.repo["name"]) or _fork_of(
            place, owner
        )
    if found is None:
        raise invalid("PullRequest", "head")
    return found, branch


def _fork_of(place: Place, owner: str) -> Row | None:
    row = place.store.one(
        "SELECT repos.id FROM repos JOIN users ON users.id = owner_id"
        " WHERE login_key = ? AND parent_id = ?",
        *(owner.lower(), place.repo["id"]),
    )
    return repositories.by_id(place.store, row["id"]) if row else None
