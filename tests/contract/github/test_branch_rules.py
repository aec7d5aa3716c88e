"""What rulesets and protection demand of the bot, read from the local forge over HTTP."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from mergebot.adapters.github.auth import TokenCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.redact import Redactor
from mergebot.domain.branch_rules import BranchRules
from mergebot.domain.gate import Pin
from tests.support.forge import ForgeProcess

NUMBERS = count(1)
RULESET = "the ruleset “trunk”"
PROTECTION = "the branch's protection"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    with ForgeProcess(tmp_path_factory.mktemp("forge")) as process:
        yield process


@pytest.fixture
def repo(served: ForgeProcess) -> str:
    name = f"alice/ruled{next(NUMBERS)}"
    served.repo(name)
    served.user("queue-bot")
    served.call("PUT", f"/repos/{name}/collaborators/queue-bot", {"permission": "push"})
    return name


def read(served: ForgeProcess, repo: str) -> BranchRules:
    credentials = TokenCredentials(served.user("queue-bot"))
    bot = GithubForge(Server(Redactor(), served.api_url, timeout_s=5), credentials)
    return bot.branch_rules(repo, "main")


def ruled(served: ForgeProcess, repo: str, *rules: dict[str, Any], **more: Any) -> None:
    body = {
        "name": "trunk",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": list(rules),
    }
    assert served.call("POST", f"/repos/{repo}/rulesets", body | more).status_code == 201


def protect(served: ForgeProcess, repo: str, **rules: Any) -> None:
    names = ("required_status_checks", "enforce_admins", "required_pull_request_reviews")
    body = dict.fromkeys([*names, "restrictions"]) | rules
    put = served.call("PUT", f"/repos/{repo}/branches/main/protection", body)
    assert put.status_code == 200


def test_a_branch_without_rules_binds_nobody(served: ForgeProcess, repo: str) -> None:
    assert read(served, repo) == BranchRules()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"type": "required_signatures"}, BranchRules(signatures=RULESET)),
        ({"type": "required_linear_history"}, BranchRules(linear=RULESET)),
        ({"type": "pull_request"}, BranchRules(pull_request=RULESET)),
        ({"type": "update"}, BranchRules(closed=RULESET, guarded=RULESET)),
        ({"type": "deletion"}, BranchRules()),
        (
            {
                "type": "required_status_checks",
                "parameters": {"required_status_checks": [{"context": "ci"}]},
            },
            BranchRules(checks=("ci",), checks_by=RULESET),
        ),
    ],
)
def test_each_rule_of_a_ruleset_is_read(
    served: ForgeProcess, repo: str, rule: dict[str, Any], expected: BranchRules
) -> None:
    ruled(served, repo, rule)
    assert read(served, repo) == expected


def test_a_ruleset_that_the_bot_may_bypass_binds_it_to_nothing_and_guards_the_branch(
    served: ForgeProcess, repo: str
) -> None:
    writers = [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "always"}]
    ruled(served, repo, {"type": "update"}, bypass_actors=writers)
    assert read(served, repo) == BranchRules(guarded=RULESET)


def test_a_bypass_for_pull_requests_only_is_none_and_is_named(
    served: ForgeProcess, repo: str
) -> None:
    writers = [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "pull_request"}]
    ruled(served, repo, {"type": "update"}, bypass_actors=writers)
    closed = read(served, repo).closed
    assert closed == f"{RULESET} (which mergebot may bypass for pull requests only, and not always)"


def test_without_admin_rights_a_protected_branch_shows_its_checks(
    served: ForgeProcess, repo: str
) -> None:
    checks = {"strict": False, "contexts": ["ci"]}
    protect(served, repo, required_status_checks=checks, required_linear_history=True)
    assert read(served, repo) == BranchRules(checks=("ci",), checks_by=PROTECTION)


def test_an_admin_reads_protection_in_full_and_is_bound_where_admins_are(
    served: ForgeProcess, repo: str
) -> None:
    served.call("PUT", f"/repos/{repo}/collaborators/queue-bot", {"permission": "admin"})
    protect(served, repo, required_linear_history=True)
    assert read(served, repo) == BranchRules()
    protect(served, repo, required_linear_history=True, enforce_admins=True)
    assert read(served, repo) == BranchRules(linear=PROTECTION)


def test_a_list_of_pushers_without_the_bot_closes_the_branch(
    served: ForgeProcess, repo: str
) -> None:
    served.call("PUT", f"/repos/{repo}/collaborators/queue-bot", {"permission": "admin"})
    protect(served, repo, restrictions={"users": ["alice"], "teams": [], "apps": []})
    assert read(served, repo) == BranchRules(closed=PROTECTION, guarded=PROTECTION)
    protect(served, repo, restrictions={"users": ["queue-bot"], "teams": [], "apps": []})
    assert read(served, repo) == BranchRules(guarded=PROTECTION)


def test_the_app_that_a_rule_names_is_read_also_where_the_bot_may_bypass_the_rule(
    served: ForgeProcess, repo: str
) -> None:
    checks = [{"context": "ci", "integration_id": 7}, {"context": "lint"}]
    writers = [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "always"}]
    given = {"required_status_checks": checks}
    rule = {"type": "required_status_checks", "parameters": given}
    ruled(served, repo, rule, bypass_actors=writers)
    assert read(served, repo) == BranchRules(pins=(Pin("ci", "7"),))


def test_the_app_that_a_protected_branch_names_is_shown_to_all(
    served: ForgeProcess, repo: str
) -> None:
    checks = [{"context": "ci", "app_id": 7}, {"context": "lint", "app_id": -1}]
    protect(served, repo, required_status_checks={"strict": False, "checks": checks})
    found = read(served, repo)
    assert (set(found.checks), found.pins) == ({"ci", "lint"}, (Pin("ci", "7"),))
