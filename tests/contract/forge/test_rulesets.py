from typing import Any

import pytest

from tests.support.ci import CiApp
from tests.support.forge import ForgeProcess, Work


def ruleset(forge: ForgeProcess, name: str, *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {
        "name": "trunk",
        "target": "branch",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": list(rules),
    }
    made = forge.call("POST", f"/repos/{name}/rulesets", body | more)
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()
    return found


def by_bob(forge: ForgeProcess, name: str, work: Work) -> Work:
    forge.user("bob")
    forge.call("PUT", f"/repos/{name}/collaborators/bob", {"permission": "push"})
    work.git("remote", "set-url", "origin", forge.remote(name, "bob"))
    return work


CHECKS = {"required_status_checks": [{"context": "ci"}]}


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({"type": "update"}, "Cannot update this protected ref."),
        ({"type": "pull_request"}, "Changes must be made through a pull request."),
        ({"type": "required_signatures"}, "Commits must have verified signatures."),
        (
            {"type": "required_status_checks", "parameters": CHECKS},
            'Required status check "ci" is expected.',
        ),
    ],
)
def test_a_push_that_breaks_a_rule_is_refused_by_its_name(
    forge: ForgeProcess, name: str, work: Work, rule: dict[str, Any], why: str
) -> None:
    ruleset(forge, name, rule)
    by_bob(forge, name, work).commit("Change", {"a.txt": "a"})
    pushed = work.push("HEAD:main", check=0)
    assert (pushed.code, why in pushed.err) == (1, True)
    assert work.push("HEAD:refs/heads/elsewhere", check=0).code == 0


def test_merge_commits_do_not_fit_a_linear_history(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    ruleset(forge, name, {"type": "required_linear_history"}, {"type": "non_fast_forward"})
    work.commit("One", {"a.txt": "a"})
    assert work.push("HEAD:main", check=0).code == 0
    work.start("side", "origin/main~1")
    work.commit("Two", {"b.txt": "b"})
    work.git("merge", "-q", "--no-ff", "--no-edit", "origin/main")
    refused = work.push("HEAD:main", check=0)
    assert "This branch must not contain merge commits." in refused.err


def test_whoever_may_bypass_a_ruleset_is_not_held_by_it(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    writers = [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "always"}]
    made = ruleset(forge, name, {"type": "update"}, bypass_actors=writers)
    by_bob(forge, name, work).commit("Change", {"a.txt": "a"})
    assert work.push("HEAD:main", check=0).code == 0
    shown = f"/repos/{name}/rulesets/{made['id']}"
    bob = forge.call("GET", shown, token=forge.user("bob")).json()
    eve = forge.call("GET", shown, token=forge.user("eve")).json()
    assert bob["current_user_can_bypass"] == "always"
    assert eve["current_user_can_bypass"] == "never"


def test_the_rules_of_a_branch_are_listed_with_their_ruleset(
    forge: ForgeProcess, name: str
) -> None:
    made = ruleset(forge, name, {"type": "required_status_checks", "parameters": CHECKS})
    (rule,) = forge.call("GET", f"/repos/{name}/rules/branches/main").json()
    assert (rule["type"], rule["ruleset_id"]) == ("required_status_checks", made["id"])
    assert forge.call("GET", f"/repos/{name}/rules/branches/other").json() == []
    forge.call("PUT", f"/repos/{name}/rulesets/{made['id']}", {"enforcement": "disabled"})
    assert forge.call("GET", f"/repos/{name}/rules/branches/main").json() == []
    assert forge.call("DELETE", f"/repos/{name}/rulesets/{made['id']}").status_code == 204
    assert forge.call("GET", f"/repos/{name}/rulesets").json() == []


def test_a_check_that_is_required_of_an_app_is_nobody_elses_to_report(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    ci = CiApp.installed(forge, f"CI of {name.replace('/', ' ')}", name.partition("/")[0])
    asked = {"required_status_checks": [{"context": "ci", "integration_id": ci.id}]}
    ruleset(forge, name, {"type": "required_status_checks", "parameters": asked})
    sha = work.commit("Change", {"a.txt": "a"})
    work.push("HEAD:refs/heads/side")
    forge.call("POST", f"/repos/{name}/statuses/{sha}", {"context": "ci", "state": "success"})
    assert 'Required status check "ci" is expected.' in work.push("HEAD:main", check=0).err
    ci.status(name, sha, "ci", "success")
    assert work.push("HEAD:main", check=0).code == 0
