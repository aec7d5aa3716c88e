"""Branch protection: what was asked for, and which pushes it refuses."""

import json
from typing import Any

from mergebot.localforge import checks, repositories, rulesets, signatures
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ZERO, Update
from mergebot.localforge.store import Row, Store

HEADS = "refs/heads/"
MISLEADING = ("refs/heads/refs/", "refs/tags/refs/")
Rules = dict[str, Any]


def of_branch(store: Store, repo_id: int, branch: str) -> Rules | None:
    """Return the protection that was put on a branch, or None."""
    row = store.one(
        "SELECT rules FROM protections WHERE repo_id = ? AND branch = ?", repo_id, branch
    )
    return json.loads(row["rules"]) if row else None


def any_in(store: Store, repo_id: int) -> bool:
    """Tell whether a repository has a protected branch, or a ruleset."""
    return any(
        store.one(f"SELECT 1 FROM {table} WHERE repo_id = ?", repo_id)  # noqa: S608 - our own words
        for table in ("protections", "rulesets")
    )


def lent(store: Store, repo: Row, user: Row) -> frozenset[str]:
    """Return the branches of a fork that somebody without a role there may push to.

    They are those of open pull requests whose author lets maintainers edit, for whoever may write
    where these go.
    """
    if repositories.allows(repositories.role(store, repo, user), "write"):
        return frozenset()
    rows = store.all(
        "SELECT head_ref, pulls.repo_id FROM pulls JOIN issues ON issues.id = issue_id"
        " WHERE head_repo_id = ? AND pulls.repo_id != head_repo_id AND maintainer_can_modify = 1"
        " AND issues.state = 'open'",
        repo["id"],
    )
    return frozenset(
        HEADS + row["head_ref"]
        for row in rows
        if (target := repositories.by_id(store, row["repo_id"]))
        and repositories.allows(repositories.role(store, target, user), "write")
    )


def required_checks(rules: Rules | None) -> list[str]:
    """Return the names of the checks that a branch requires."""
    return list(dict.fromkeys(each.name for each in demanded_checks(rules)))


def demanded_checks(rules: Rules | None) -> list[checks.Required]:
    """Return the checks that a branch requires, and of whom."""
    asked = (rules or {}).get("required_status_checks") or {}
    given = [
        checks.Required(c["context"], int(c.get("app_id") or 0)) for c in asked.get("checks", [])
    ]
    known = {each.name for each in given}
    more = [checks.Required(name, 0) for name in asked.get("contexts", []) if name not in known]
    return list(dict.fromkeys([*more, *given]))


def is_strict(rules: Rules | None) -> bool:
    """Tell whether a pull request must be up to date with its base."""
    return bool(((rules or {}).get("required_status_checks") or {}).get("strict"))


def _flag(rules: Rules, name: str) -> bool:
    value = rules.get(name)
    return bool(value.get("enabled") if isinstance(value, dict) else value)


def refusal(forge: Forge, repo: Row, user: Row, update: Update) -> str | None:
    """Return why a branch's protection or its rulesets do not accept an update, or None.

    Objects of the update must already be readable in the repository or in the quarantine.
    """
    if update.new != ZERO and update.ref.startswith(MISLEADING):
        return "GH002: Sorry, branch or tag names starting with 'refs/' are not allowed."
    guest = lent(forge.store, repo, user)
    if guest and (update.ref not in guest or update.new == ZERO):
        return "Maintainers may only push to the branches of open pull requests"
    protected = _protected(forge, repo, user, update)
    return protected or rulesets.refusal(forge, repo, user, update)


def _protected(forge: Forge, repo: Row, user: Row, update: Update) -> str | None:
    rules = of_branch(forge.store, repo["id"], update.ref.removeprefix(HEADS))
    if rules is None or not update.ref.startswith(HEADS):
        return None
    admin = repositories.role(forge.store, repo, user) == "admin"
    bypass = admin and not _flag(rules, "enforce_admins")
    if update.new == ZERO:
        return None if _flag(rules, "allow_deletions") else "Cannot delete this protected branch"
    restricted = rules.get("restrictions")
    if restricted is not None and not _listed(restricted, user):
        return "You're not authorized to push to this branch. Visit " + _ABOUT
    if not bypass and (broken := _broken_history(forge, repo, rules, update)):
        return broken
    missing = checks.missing(forge.store, repo["id"], update.new, demanded_checks(rules))
    if missing and not bypass:
        plural = f"{len(missing)} of {len(required_checks(rules))} required status checks are"
        one = f'Required status check "{missing[0]}" is'
        return f"{plural if len(missing) > 1 else one} expected."
    return None


def _broken_history(forge: Forge, repo: Row, rules: Rules, update: Update) -> str | None:
    if update.old == ZERO:
        return None
    bare = forge.bare(repo["id"])
    if not _flag(rules, "allow_force_pushes") and not bare.contains(update.new, update.old):
        return "Cannot force-push to this protected branch"
    span = f"{update.old}..{update.new}"
    merges = bare.ask("rev-list", "--merges", "--max-count=1", span).text
    if _flag(rules, "required_linear_history") and merges:
        return "This branch must not contain merge commits."
    if _flag(rules, "required_signatures"):
        commits = bare.run("rev-list", span).split()
        known = (signatures.verify(forge.store, bare, each) for each in commits)
        if not all(each.verified for each in known):
            return "Commits must have verified signatures."
    return None


_ABOUT = "https://docs.github.com/articles/about-protected-branches/ for more information."


def _listed(restrictions: Rules, user: Row) -> bool:
    people = [str(login).lower() for login in restrictions.get("users", [])]
    slugs = [f"{slug}[bot]".lower() for slug in restrictions.get("apps", [])]
    return user["login"].lower() in [*people, *slugs]
