"""Branch rules, the bot's own required check, and what a landing costs of GitHub's quota."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.forge import ForgeProcess
from tests.support.github_report import TALLY
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("counting", "signing", "requiring")
REQUESTS_MAX = 13


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("rules")
    # Webhooks alone drive these: a round of the reconciler would count as somebody's requests.
    quiet = {"MERGEBOT_RECONCILE_SECONDS": "3600"}
    with (
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, NAMES, quiet) as running,
    ):
        yield running


def ruled(project: Project, *rules: dict[str, Any]) -> None:
    body = {
        "name": "trunk",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": list(rules),
    }
    project.as_("ada", "POST", "/rulesets", body)


def test_a_landing_costs_few_requests(stack: Stack) -> None:
    project = stack.project("counting")
    warm = project.propose("Warm up", {"zero.txt": "0\n"})
    project.becomes(warm, "landed")
    stack.until(lambda: project.labels(warm) == [], "the label to go")

    before = len(stack.forge.asked())
    number = project.propose("Add one", {"one.txt": "1\n"})
    project.becomes(number, "landed")
    stack.until(lambda: project.labels(number) == [], "the label to go")
    stack.until(lambda: "landed" in "".join(project.comments(number)), "the last word")

    asked = stack.forge.asked()[before:]
    TALLY.counts["requests for one landing"] = len(asked)
    assert len(asked) <= REQUESTS_MAX, "\n".join(asked)


def test_what_no_landing_can_satisfy_is_refused_before_the_gate(stack: Stack) -> None:
    project = stack.project("signing")
    ruled(project, {"type": "required_signatures"})
    number = project.propose("Unsigned", {"one.txt": "1\n"})
    refused = project.becomes(number, "ejected")
    assert refused["reason"] == "branch_rules"
    stack.until(
        lambda: "the ruleset “trunk” requires signed commits" in "".join(project.comments(number)),
        "the name of the rule",
    )


def test_where_rules_require_the_bots_check_it_is_green_on_the_landed_commit(stack: Stack) -> None:
    project = stack.project("requiring")
    checks = {"required_status_checks": [{"context": "mergebot"}]}
    ruled(project, {"type": "required_status_checks", "parameters": checks})
    number = project.propose("Checked", {"one.txt": "1\n"})
    landed = project.becomes(number, "landed")
    statuses = project.as_("ada", "GET", f"/commits/{landed['merged']}/status")
    assert (statuses["state"], statuses["statuses"][0]["context"]) == ("success", "mergebot")
    kept = f"refs/mergebot/candidate/{number}"
    stack.until(
        lambda: not project.work.git("ls-remote", "origin", kept).out, "the kept commit to go"
    )
