"""Branch rules, the bot's own required check, and what a landing costs of GitHub's quota."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.forge import ForgeProcess
from tests.support.github_report import TALLY
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("counting", "signing", "requiring")
REQUESTS_MAX = 12
"""Three to write the first comment and its check, four fresh reads before the push, three to tell
of the landing; the rest is news that came apart: a PR opened, then labelled, then gated."""
A_ROUND = re.compile(r"GET /api/v3/repos/[^/]+/[^/]+(/pulls)?")


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
    costs = [requests_of_a_landing(stack, project, name) for name in ("warm-up", "one", "two")]
    fewest = min(costs, key=len)
    TALLY.counts["requests for one landing"] = len(fewest)
    assert len(fewest) <= REQUESTS_MAX, "\n".join(fewest)


def requests_of_a_landing(stack: Stack, project: Project, name: str) -> list[str]:
    """Land one change and return what it asked of the forge.

    A round of the reconciler that falls into it is no part of it. A busy machine writes states
    that a calm one skips, which is why the fewest of several landings count.
    """
    before = len(stack.forge.asked())
    number = project.propose(f"Add {name}", {f"{name}.txt": "1\n"})
    project.becomes(number, "landed")
    stack.until(lambda: project.labels(number) == [], "the label to go")
    stack.until(lambda: "landed" in "".join(project.comments(number)), "the last word")
    return [each for each in stack.forge.asked()[before:] if not A_ROUND.fullmatch(each)]


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
