"""Rulesets of a repository, and the rules that hold for a branch."""

import json
from typing import Any

from mergebot.localforge import rulesets
from mergebot.localforge.errors import invalid, not_found
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.shapes.issues import repo_url
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

ALL = "/repos/{owner}/{repo}/rulesets"
ONE = f"{ALL}/{{id:int}}"
ENFORCEMENTS = ("active", "disabled", "evaluate")
_PULL_REQUEST = {
    "required_approving_review_count": 0,
    "dismiss_stale_reviews_on_push": False,
    "require_code_owner_review": False,
    "require_last_push_approval": False,
    "required_review_thread_resolution": False,
}


def _ruleset(call: Call) -> Row:
    row = call.store.one(
        "SELECT * FROM rulesets WHERE id = ? AND repo_id = ?",
        *(int(call.params["id"]), call.repo["id"]),
    )
    if row is None:
        raise not_found()
    return row


def _brief(call: Call, row: Row) -> dict[str, Any]:
    body = json.loads(row["body"])
    name = f"{call.repo['owner']}/{call.repo['name']}"
    return {
        "id": row["id"],
        "name": body["name"],
        "target": body.get("target", "branch"),
        "source_type": "Repository",
        "source": name,
        "enforcement": body["enforcement"],
        "node_id": f"RRS_{row['id']}",
        "_links": {
            "self": {"href": f"{repo_url(call.forge, call.repo)}/rulesets/{row['id']}"},
            "html": {"href": f"{call.forge.url}/{name}/rules/{row['id']}"},
        },
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
    }


def _full(call: Call, row: Row) -> dict[str, Any]:
    body = json.loads(row["body"])
    shown = _brief(call, row)
    shown["conditions"] = body.get("conditions") or {"ref_name": {"include": [], "exclude": []}}
    shown["rules"] = [_with_defaults(rule) for rule in body.get("rules", [])]
    shown["current_user_can_bypass"] = rulesets.bypass(call.store, call.repo, row, call.caller.user)
    return shown


def _with_defaults(rule: dict[str, Any]) -> dict[str, Any]:
    if rule["type"] == "pull_request":
        return rule | {"parameters": _PULL_REQUEST | (rule.get("parameters") or {})}
    if rule["type"] == "required_status_checks":
        given = rule.get("parameters") or {}
        return rule | {"parameters": {"strict_required_status_checks_policy": False} | given}
    return rule


def _checked(body: dict[str, Any]) -> str:
    if not isinstance(body.get("name"), str) or not body["name"]:
        raise invalid("RepositoryRuleset", "name", "missing_field")
    if body.get("enforcement") not in ENFORCEMENTS:
        raise invalid("RepositoryRuleset", "enforcement")
    for rule in body.get("rules", []):
        if rule.get("type") not in rulesets.KINDS:
            raise invalid("RepositoryRuleset", "rules")
    return json.dumps(body)


@endpoint("GET", ALL, "read")
def listing(call: Call) -> Reply:
    """List the rulesets of a repository."""
    rows = rulesets.of_repo(call.store, call.repo["id"])
    return ok([_brief(call, row) for row in call.page(rows)])


@endpoint("POST", ALL, "admin", "administration:write")
def create(call: Call) -> Reply:
    """Create a ruleset."""
    text = _checked(call.body)
    with call.store.write():
        made = call.store.run(
            "INSERT INTO rulesets (repo_id, body, created_at) VALUES (?, ?, ?)",
            *(call.repo["id"], text, now()),
        )
    call.params["id"] = str(made)
    return created(_full(call, _ruleset(call)))


@endpoint("GET", ONE, "read")
def get(call: Call) -> Reply:
    """Return a ruleset, and how the caller may pass it by."""
    return ok(_full(call, _ruleset(call)))


@endpoint("PUT", ONE, "admin", "administration:write")
def edit(call: Call) -> Reply:
    """Change a ruleset."""
    row = _ruleset(call)
    text = _checked(json.loads(row["body"]) | call.body)
    with call.store.write():
        call.store.run("UPDATE rulesets SET body = ? WHERE id = ?", text, row["id"])
    return ok(_full(call, _ruleset(call)))


@endpoint("DELETE", ONE, "admin", "administration:write")
def delete(call: Call) -> Reply:
    """Delete a ruleset."""
    row = _ruleset(call)
    with call.store.write():
        call.store.run("DELETE FROM rulesets WHERE id = ?", row["id"])
    return no_content()


@endpoint("GET", "/repos/{owner}/{repo}/rules/branches/{branch:path}", "read")
def rules_of(call: Call) -> Reply:
    """List the rules of active rulesets that hold for a branch; protection is shown elsewhere."""
    source = {
        "ruleset_source_type": "Repository",
        "ruleset_source": f"{call.repo['owner']}/{call.repo['name']}",
    }
    found = rulesets.on_branch(call.store, call.repo, call.params["branch"])
    shown = [_with_defaults(rule) | source | {"ruleset_id": row["id"]} for row, rule in found]
    return ok(call.page(shown))
