"""Branches and their protection."""

import json
from typing import Any

from mergebot.localforge import protection
from mergebot.localforge.errors import ApiError, not_found
from mergebot.localforge.routing import Call, Reply, endpoint, no_content, ok
from mergebot.localforge.shapes import commits
from mergebot.localforge.shapes.issues import repo_url

BRANCHES = "/repos/{owner}/{repo}/branches"
ONE = f"{BRANCHES}/{{branch:path}}"


@endpoint("GET", BRANCHES, "read", "contents:read")
def listing(call: Call) -> Reply:
    """List the branches of a repository."""
    base = repo_url(call.forge, call.repo)
    shown = []
    for ref, sha, _ in call.page(call.bare.refs("refs/heads/")):
        name = ref.removeprefix("refs/heads/")
        guarded = protection.of_branch(call.store, call.repo["id"], name) is not None
        where = {"sha": sha, "url": f"{base}/commits/{sha}"}
        shown.append({"name": name, "commit": where, "protected": guarded})
    return ok(shown)


@endpoint("GET", f"{ONE}/protection", "admin", "administration:read")
def get_protection(call: Call) -> Reply:
    """Return a branch's protection as it was put."""
    return ok(_shown(call, _protected(call)))


def _shown(call: Call, rules: dict[str, Any]) -> dict[str, Any]:
    base = f"{repo_url(call.forge, call.repo)}/branches/{call.params['branch']}/protection"
    flags = ("enforce_admins", "required_linear_history", "allow_force_pushes", "allow_deletions")
    shown: dict[str, Any] = {"url": base}
    for name in flags:
        shown[name] = {"enabled": bool(rules.get(name))}
    shown["enforce_admins"]["url"] = f"{base}/enforce_admins"
    if rules.get("required_status_checks"):
        names = protection.required_checks(rules)
        shown["required_status_checks"] = {
            "url": f"{base}/required_status_checks",
            "strict": protection.is_strict(rules),
            "contexts": names,
            "contexts_url": f"{base}/required_status_checks/contexts",
            "checks": _demanded(rules),
        }
    shown["required_signatures"] = _signed(call, rules)
    if rules.get("required_pull_request_reviews"):
        reviews = {"url": f"{base}/required_pull_request_reviews"}
        shown["required_pull_request_reviews"] = reviews | rules["required_pull_request_reviews"]
    if rules.get("restrictions") is not None:
        asked = rules["restrictions"]
        url = f"{base}/restrictions"
        shown["restrictions"] = {
            "url": url,
            "users_url": f"{url}/users",
            "teams_url": f"{url}/teams",
            "apps_url": f"{url}/apps",
            "users": [{"login": login} for login in asked.get("users", [])],
            "teams": [],
            "apps": [{"slug": slug} for slug in asked.get("apps", [])],
        }
    return shown


def _demanded(rules: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [
        {"context": each.name, "app_id": each.app_id or None}
        for each in protection.demanded_checks(rules)
    ]


def _signed(call: Call, rules: dict[str, Any]) -> dict[str, Any]:
    base = f"{repo_url(call.forge, call.repo)}/branches/{call.params['branch']}/protection"
    enabled = bool(rules.get("required_signatures"))
    return {"url": f"{base}/required_signatures", "enabled": enabled}


def _protected(call: Call) -> dict[str, Any]:
    rules = protection.of_branch(call.store, call.repo["id"], call.params["branch"])
    if rules is None:
        raise ApiError(404, "Branch not protected")
    return rules


def _put(call: Call, rules: dict[str, Any]) -> None:
    with call.store.write():
        call.store.run(
            "INSERT OR REPLACE INTO protections VALUES (?, ?, ?)",
            *(call.repo["id"], call.params["branch"], json.dumps(rules)),
        )


@endpoint("GET", f"{ONE}/protection/required_signatures", "admin", "administration:read")
def get_signed(call: Call) -> Reply:
    """Return whether a protected branch requires signed commits."""
    return ok(_signed(call, _protected(call)))


@endpoint("POST", f"{ONE}/protection/required_signatures", "admin", "administration:write")
def require_signed(call: Call) -> Reply:
    """Let a protected branch require signed commits."""
    rules = _protected(call) | {"required_signatures": True}
    _put(call, rules)
    return ok(_signed(call, rules))


@endpoint("DELETE", f"{ONE}/protection/required_signatures", "admin", "administration:write")
def forgo_signed(call: Call) -> Reply:
    """Let a protected branch take commits that are not signed."""
    _put(call, _protected(call) | {"required_signatures": False})
    return no_content()


@endpoint("PUT", f"{ONE}/protection", "admin", "administration:write")
def put_protection(call: Call) -> Reply:
    """Protect a branch."""
    branch = call.params["branch"]
    if call.bare.branch(branch) is None:
        raise ApiError(404, "Branch not found")
    _put(call, call.body)
    return ok(_shown(call, call.body))


@endpoint("DELETE", f"{ONE}/protection", "admin", "administration:write")
def delete_protection(call: Call) -> Reply:
    """Take a branch's protection away."""
    with call.store.write():
        call.store.run(
            "DELETE FROM protections WHERE repo_id = ? AND branch = ?",
            *(call.repo["id"], call.params["branch"]),
        )
    return no_content()


@endpoint("GET", ONE, "read", "contents:read")
def get(call: Call) -> Reply:
    """Return a branch with its tip."""
    name = call.params["branch"]
    sha = call.bare.branch(name)
    if sha is None:
        raise ApiError(404, "Branch not found")
    sha = call.forge.faults.stale(call.repo["id"], f"refs/heads/{name}") or sha
    found = commits.log(call.bare, "-1", sha)
    if not found:
        raise not_found()
    base = f"{repo_url(call.forge, call.repo)}/branches/{name}"
    rules = protection.of_branch(call.store, call.repo["id"], name)
    names = protection.required_checks(rules)
    return ok(
        {
            "name": name,
            "commit": commits.commit(call.forge, call.repo, found[0]),
            "_links": {"self": base, "html": f"{call.forge.url}/{call.repo['owner']}"},
            "protected": rules is not None,
            "protection": {
                "enabled": rules is not None,
                "required_status_checks": {
                    "enforcement_level": "non_admins" if names else "off",
                    "contexts": names,
                    "checks": _demanded(rules),
                },
            },
            "protection_url": f"{base}/protection",
        }
    )
