"""Rulesets: named sets of rules over branches, who may pass them by, and what they refuse."""

import json
from fnmatch import fnmatchcase
from typing import Any

from mergebot.localforge import checks, repositories, signatures
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ZERO, Update
from mergebot.localforge.store import Row, Store

HEADS = "refs/heads/"
KINDS = (
    "creation",
    "update",
    "deletion",
    "non_fast_forward",
    "required_linear_history",
    "required_signatures",
    "pull_request",
    "required_status_checks",
)
_ROLES = {2: "maintain", 4: "write", 5: "admin"}


def of_repo(store: Store, repo_id: int) -> list[Row]:
    """Return a repository's rulesets, oldest first."""
    return store.all("SELECT * FROM rulesets WHERE repo_id = ? ORDER BY id", repo_id)


def on_branch(store: Store, repo: Row, branch: str) -> list[tuple[Row, dict[str, Any]]]:
    """Return the active rules for a branch, each with the ruleset that it is of."""
    return [
        (row, rule)
        for row in of_repo(store, repo["id"])
        if _holds(json.loads(row["body"]), repo, branch)
        for rule in json.loads(row["body"]).get("rules", [])
    ]


def _holds(body: dict[str, Any], repo: Row, branch: str) -> bool:
    if body.get("enforcement") != "active" or body.get("target", "branch") != "branch":
        return False
    names = (body.get("conditions") or {}).get("ref_name") or {}
    given = [_matches(pattern, repo, branch) for pattern in names.get("include", [])]
    barred = [_matches(pattern, repo, branch) for pattern in names.get("exclude", [])]
    return any(given) and not any(barred)


def _matches(pattern: str, repo: Row, branch: str) -> bool:
    match pattern:
        case "~ALL":
            return True
        case "~DEFAULT_BRANCH":
            return bool(branch == repo["default_branch"])
        case _:
            return fnmatchcase(HEADS + branch, pattern)


def bypass(store: Store, repo: Row, row: Row, user: Row | None) -> str:
    """Return how `user` may pass a ruleset by: always, pull_requests_only, or never."""
    modes = {
        str(actor.get("bypass_mode", "always"))
        for actor in json.loads(row["body"]).get("bypass_actors", [])
        if user is not None and _is(store, repo, actor, user)
    }
    if "always" in modes:
        return "always"
    return "pull_requests_only" if "pull_request" in modes else "never"


def _is(store: Store, repo: Row, actor: dict[str, Any], user: Row) -> bool:
    match actor.get("actor_type"):
        case "Integration":
            app = store.one("SELECT bot_id FROM apps WHERE id = ?", actor.get("actor_id"))
            return app is not None and bool(app["bot_id"] == user["id"])
        case "RepositoryRole":
            needed = _ROLES.get(int(actor.get("actor_id") or 0), "admin")
            return repositories.allows(repositories.role(store, repo, user), needed)
        case "OrganizationAdmin":
            return bool(user["id"] == repo["owner_id"])
        case _:
            return False


def refusal(forge: Forge, repo: Row, user: Row, update: Update) -> str | None:
    """Return why the rulesets of a repository do not accept an update, or None."""
    if not update.ref.startswith(HEADS):
        return None
    for row, rule in on_branch(forge.store, repo, update.ref.removeprefix(HEADS)):
        if bypass(forge.store, repo, row, user) == "always":
            continue
        broken = _broken(forge, repo, rule, update)
        if broken is not None:
            return f"Repository rule violations found for {update.ref}.\n\n- {broken}"
    return None


def _broken(forge: Forge, repo: Row, rule: dict[str, Any], update: Update) -> str | None:
    given = rule.get("parameters") or {}
    created, deleted = update.old == ZERO, update.new == ZERO
    match rule["type"]:
        case "creation" if created:
            return "Cannot create ref due to creations being restricted."
        case "deletion" if deleted:
            return "Cannot delete this branch"
        case "update" if not created and not deleted:
            return "Cannot update this protected ref."
        case "pull_request" if not created and not deleted:
            return "Changes must be made through a pull request."
        case "required_status_checks" if not deleted:
            return _unchecked(forge, repo, given, update.new)
        case _ if created or deleted:
            return None
        case kind:
            return _bad_history(forge, repo, kind, update)


def _unchecked(forge: Forge, repo: Row, given: dict[str, Any], sha: str) -> str | None:
    asked = [
        checks.Required(each["context"], int(each.get("integration_id") or 0))
        for each in given.get("required_status_checks", [])
    ]
    missing = checks.missing(forge.store, repo["id"], sha, asked)
    if not missing:
        return None
    if len(missing) == 1:
        return f'Required status check "{missing[0]}" is expected.'
    return f"{len(missing)} of {len(asked)} required status checks are expected."


def _bad_history(forge: Forge, repo: Row, kind: str, update: Update) -> str | None:
    bare = forge.bare(repo["id"])
    span = f"{update.old}..{update.new}"
    match kind:
        case "non_fast_forward" if not bare.contains(update.new, update.old):
            return "Cannot force-push to this branch"
        case "required_linear_history":
            merges = bare.ask("rev-list", "--merges", "--max-count=1", span).text
            return "This branch must not contain merge commits." if merges else None
        case "required_signatures":
            commits = bare.run("rev-list", span).split()
            known = (signatures.verify(forge.store, bare, each) for each in commits)
            fine = all(each.verified for each in known)
            return None if fine else "Commits must have verified signatures."
        case _:
            return None
