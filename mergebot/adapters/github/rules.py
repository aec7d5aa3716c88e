"""What rulesets and branch protection demand of the bot on one branch.

A ruleset says by itself whether the caller may pass it by. Protection is told in full only to
admins; to others a branch shows no more than its required checks, and then that is all we know.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from mergebot.adapters.github.client import Client
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.paths import at
from mergebot.adapters.github.values import reading
from mergebot.domain.branch_rules import BranchRules
from mergebot.domain.gate import Pin
from mergebot.domain.ids import Actor
from mergebot.domain.pulls import Permission
from mergebot.ports.errors import Missing, Refused

_UNPROTECTED = "branch not protected"
Asked = tuple[Client, str, str]
T = TypeVar("T")


def read_branch_rules(asked: Asked, me: Actor, held: Permission) -> BranchRules:
    """Return the rules that bind `me`, who holds the role `held`, on a branch."""
    rules = _of_rulesets(asked)
    protection = _protection(asked)
    return rules if protection is None else _with_protection(rules, protection, me, held)


def _ask(asked: Asked, *path: str | int) -> Ask:
    _, repo, branch = asked
    return Ask("GET", at(repo, *path), f"read the rules of the branch {branch} of {repo}", repo)


def _of_rulesets(asked: Asked) -> BranchRules:
    client, _, branch = asked
    found = BranchRules()
    known: dict[int, _Ruleset] = {}
    ask = _ask(asked, "rules", "branches", branch)
    with reading(ask):
        for rule in client.pages(ask):
            number = int(rule["ruleset_id"])
            if number not in known:
                known[number] = _ruleset(asked, number)
            found = _told_by_rule(found, rule, known[number])
            if known[number].binds:
                found = _with_rule(found, rule, known[number].name)
    return found


@dataclass(frozen=True, slots=True)
class _Ruleset:
    """What a ruleset is called, and whether it binds the bot."""

    name: str
    binds: bool


def _ruleset(asked: Asked, number: int) -> _Ruleset:
    ask = _ask(asked, "rulesets", number)
    try:
        with reading(ask):
            ruleset = asked[0].send(ask)
            name, passes = (
                f"the ruleset “{ruleset['name']}”",
                ruleset.get("current_user_can_bypass"),
            )
    except Missing:
        return _Ruleset(f"the ruleset {number} of the organisation", binds=True)
    if passes == "pull_requests_only":
        name += " (which mergebot may bypass for pull requests only, and not always)"
    return _Ruleset(name, binds=passes not in {"always", "exempt"})


def _told_by_rule(found: BranchRules, rule: Mapping[str, Any], ruleset: _Ruleset) -> BranchRules:
    """Learn what a rule says about others, also where it does not bind the bot."""
    if rule["type"] == "update":
        return replace(found, guarded=ruleset.name)
    return replace(found, pins=_joined(found.pins, _pins_of_rule(rule)))


def _with_rule(found: BranchRules, rule: Mapping[str, Any], name: str) -> BranchRules:
    given = rule.get("parameters") or {}
    match rule["type"]:
        case "required_status_checks":
            contexts = tuple(each["context"] for each in given["required_status_checks"])
            return replace(found, checks=_joined(found.checks, contexts), checks_by=name)
        case "required_signatures":
            return replace(found, signatures=name)
        case "required_linear_history":
            return replace(found, linear=name)
        case "pull_request" | "merge_queue":
            return replace(found, pull_request=name)
        case "update":
            return replace(found, closed=name)
        case _:
            return found


def _pins_of_rule(rule: Mapping[str, Any]) -> tuple[Pin, ...]:
    if rule["type"] != "required_status_checks":
        return ()
    checks = (rule.get("parameters") or {})["required_status_checks"]
    return _pins((each["context"], each.get("integration_id")) for each in checks)


def _pins(checks: Iterable[tuple[str, int | None]]) -> tuple[Pin, ...]:
    """Return who reports which check; no number, or one below 1, is the forge's word for anybody."""
    return tuple(Pin(name, f"{app:d}") for name, app in checks if app and app > 0)


def _joined(first: tuple[T, ...], second: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(first + second))


def _protection(asked: Asked) -> Mapping[str, Any] | None:
    client, _, branch = asked
    ask = _ask(asked, "branches", branch, "protection")
    try:
        with reading(ask):
            return dict(client.send(ask))
    except Missing as error:
        if _UNPROTECTED in str(error).lower():
            return None
    except Refused:
        pass
    return _shown_to_all(asked)


def _shown_to_all(asked: Asked) -> Mapping[str, Any] | None:
    client, _, branch = asked
    ask = _ask(asked, "branches", branch)
    try:
        with reading(ask):
            shown = client.send(ask)
            if not shown["protected"]:
                return None
            checks = (shown.get("protection") or {}).get("required_status_checks") or {}
            return {"required_status_checks": checks}
    except Missing:
        return None


def _with_protection(
    rules: BranchRules, shown: Mapping[str, Any], me: Actor, held: Permission
) -> BranchRules:
    name = "the branch's protection"
    restrictions = shown.get("restrictions")
    if restrictions is not None:
        rules = replace(rules, guarded=name)
    if restrictions is not None and not _lists(restrictions, me):
        rules = replace(rules, closed=name)
    checks = shown.get("required_status_checks") or {}
    given = ((each["context"], each.get("app_id")) for each in checks.get("checks") or ())
    rules = replace(rules, pins=_joined(rules.pins, _pins(given)))
    admins_too = (shown.get("enforce_admins") or {"enabled": False})["enabled"]
    if held >= Permission.ADMIN and not admins_too:
        return rules
    if _on(shown, "required_signatures"):
        rules = replace(rules, signatures=name)
    if _on(shown, "required_linear_history"):
        rules = replace(rules, linear=name)
    reviews = shown.get("required_pull_request_reviews")
    if reviews is not None and not _lists(reviews.get("bypass_pull_request_allowances") or {}, me):
        rules = replace(rules, pull_request=name)
    contexts = tuple(checks.get("contexts") or ())
    if not contexts:
        return rules
    return replace(rules, checks=_joined(rules.checks, contexts), checks_by=name)


def _on(shown: Mapping[str, Any], flag: str) -> bool:
    return bool((shown.get(flag) or {}).get("enabled"))


def _lists(allowed: Mapping[str, Any], me: Actor) -> bool:
    people = {str(user["login"]).lower() for user in allowed.get("users") or []}
    apps = {f"{app['slug']}[bot]".lower() for app in allowed.get("apps") or []}
    return me.login.lower() in people | apps
