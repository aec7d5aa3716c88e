"""The gate is the repository's own CI: played here by a test that watches for trial branches."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.support.ci import CiApp
from tests.support.forge import ForgeProcess
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("outside", "silent", "trunk", "both", "alone", "forged", "ruled", "tip")
ROUNDS = {"MERGEBOT_RECONCILE_SECONDS": "2"}
EXTERNAL = """\
[[gate.steps]]
name = "test"
run = "true"

[gate.external]
checks = ["ci / test"]
timeout = "{timeout}"
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("checks")
    with (
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, NAMES, ROUNDS) as running,
    ):
        yield running


def with_rules(stack: Stack, name: str, rules: str) -> Project:
    project = stack.project(name)
    project.push_to_trunk("Ask the CI", {".mergebot.toml": rules})
    stack.until(lambda: "CI" in project.trunk()[0], "the rules on the trunk")
    return project


def trial(project: Project, number: int) -> str:
    """Return the commit on the trial branch of a pull request, "" while there is none."""
    found = project.work.git("ls-remote", "origin", f"refs/heads/mergebot/trial/{number}").out
    return found.partition("\t")[0]


def report(project: Project, sha: str, state: str, by: str = "ada") -> None:
    body = {"state": state, "context": "ci / test"}
    project.as_(by, "POST", f"/statuses/{sha}", body)


def test_what_the_ci_says_about_the_merged_commit_decides(stack: Stack) -> None:
    project = with_rules(stack, "outside", EXTERNAL.format(timeout="1m"))
    number = project.propose("Add one", {"one.txt": "1\n"})
    sha = stack.until(lambda: trial(project, number), "the trial branch")
    report(project, sha, "success", by="bob")
    report(project, sha, "pending")
    report(project, sha, "success")
    landed = project.becomes(number, "landed")
    assert landed["merged"] == sha
    stack.until(lambda: not trial(project, number), "the trial branch to go")

    red = project.propose("Break it", {"two.txt": "2\n"})
    sha = stack.until(lambda: trial(project, red), "its trial branch")
    report(project, sha, "success", by="bob")
    report(project, sha, "failure")
    failed = project.becomes(red, "ejected")
    assert (failed["reason"], failed["step"]) == ("gate_failed", "ci / test")


def test_a_check_that_never_reports_is_called_a_misconfiguration_by_name(stack: Stack) -> None:
    project = with_rules(stack, "silent", EXTERNAL.format(timeout="1s"))
    project.propose("Add one", {"one.txt": "1\n"})
    halted = stack.until(project.halted, "the halt", within_s=60)
    assert "the check `ci / test` was not reported on 3 merged commits" in halted["reason"]


def test_the_trunks_health_is_what_the_ci_says_about_its_tip(stack: Stack) -> None:
    rules = EXTERNAL.format(timeout="2s") + '[health]\ncheck = "external"\n'
    project = with_rules(stack, "trunk", rules)
    tip = project.work.git("rev-parse", "HEAD").out
    silent = "nobody reported the check `ci / test` in time"
    stack.until(lambda: silent in (project.queue()["waiting"] or ""), "the reason", within_s=60)
    assert stack.health("trunk") == "unknown"
    report(project, tip, "success")
    stack.until(lambda: stack.health("trunk") == "green", "green by its checks", within_s=60)
    report(project, tip, "failure")
    stack.until(lambda: stack.health("trunk") == "red", "red by its checks")
    halted = project.halted()
    assert halted
    assert halted["step"] == "ci / test"
    report(project, tip, "success")
    stack.until(lambda: stack.health("trunk") == "green", "green again")


def test_with_both_a_trunk_is_green_by_its_own_steps_and_the_ci_together(stack: Stack) -> None:
    steps = '[[gate.steps]]\nname = "test"\nrun = "sh test.sh"\n'
    others = EXTERNAL.format(timeout="1m").partition("\n\n")[2]
    project = with_rules(stack, "both", f'{steps}\n{others}\n[health]\ncheck = "both"\n')
    tip = project.work.git("rev-parse", "HEAD").out
    stack.until(lambda: asked_for(project, tip), "the gate to wait for the CI", within_s=60)
    assert stack.health("both") == "unknown"
    report(project, tip, "success")
    stack.until(lambda: stack.health("both") == "green", "green by both", within_s=60)
    red = project.push_to_trunk("Break it", {"checks/broken": "exit 1\n"})
    report(project, red, "success")
    stack.until(lambda: stack.health("both") == "red", "red by its own step", within_s=60)
    halted = project.halted()
    assert halted
    assert (halted["commit"], halted["step"]) == (red, "test")


def test_a_gate_of_checks_alone_takes_no_tip_for_green_before_the_ci_does(stack: Stack) -> None:
    rules = EXTERNAL.format(timeout="1m").partition("\n\n")[2]
    project = with_rules(stack, "alone", rules)
    tip = project.work.git("rev-parse", "HEAD").out
    stack.until(lambda: asked_for(project, tip), "the gate to wait for the CI", within_s=60)
    assert stack.health("alone") == "unknown"
    report(project, tip, "success")
    stack.until(lambda: stack.health("alone") == "green", "green by the CI", within_s=60)


@pytest.fixture(scope="module")
def ci(stack: Stack) -> CiApp:
    return CiApp.installed(stack.forge, "Our CI", "ada")


PINNED = '[gate.external.producers]\n"ci / test" = "our-ci"\n'


def test_a_stranger_who_reports_success_first_lands_nothing_that_the_ci_finds_red(
    stack: Stack, ci: CiApp
) -> None:
    project = with_rules(stack, "forged", EXTERNAL.format(timeout="1m") + PINNED)
    number = project.propose("Break it", {"one.txt": "1\n"})
    sha = stack.until(lambda: trial(project, number), "the trial branch")
    for stranger in ("ada", "bob"):
        report(project, sha, "success", by=stranger)
    stack.until(lambda: "the word of ada" in gate_log(project, number), "the word of a stranger")
    assert project.state(number) == "gating"
    ci.run("ada/forged", sha, "ci / test", "failure")
    failed = project.becomes(number, "ejected")
    assert (failed["reason"], failed["step"]) == ("gate_failed", "ci / test")
    assert "of our-ci" in failed["first_error"]

    fine = project.propose("Mend it", {"two.txt": "2\n"})
    sha = stack.until(lambda: trial(project, fine), "its trial branch")
    report(project, sha, "failure", by="ada")
    ci.run("ada/forged", sha, "ci / test", "success")
    assert project.becomes(fine, "landed")["merged"] == sha


def gate_log(project: Project, number: int) -> str:
    """Return what the gate of a pull request says so far."""
    found = project.stack.get(project.name, f"/candidates/{number}") or {}
    if not found.get("log_url"):
        return ""
    with requests.Session() as session:
        session.trust_env = False
        return session.get(found["log_url"], timeout=30).text


def requires(project: Project, ci: CiApp) -> None:
    """Let a ruleset that the bot may bypass require the check of the CI."""
    asked = [{"context": "ci / test", "integration_id": ci.id}]
    body: dict[str, Any] = {
        "name": "trunk",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "bypass_actors": [{"actor_id": 5, "actor_type": "RepositoryRole", "bypass_mode": "always"}],
        "rules": [
            {"type": "required_status_checks", "parameters": {"required_status_checks": asked}}
        ],
    }
    project.as_("ada", "POST", "/rulesets", body)


def test_a_ruleset_that_names_the_app_pins_it_and_a_silent_app_is_named(
    stack: Stack, ci: CiApp
) -> None:
    project = with_rules(stack, "ruled", EXTERNAL.format(timeout="1s"))
    requires(project, ci)
    number = project.propose("Add one", {"one.txt": "1\n"})
    sha = stack.until(lambda: trial(project, number), "the trial branch")
    report(project, sha, "success")
    halted = stack.until(project.halted, "the halt", within_s=60)
    assert f"the check `ci / test` of the App `{ci.id}` was not reported on 3" in halted["reason"]
    assert project.state(number) != "landed"


def test_a_strangers_word_on_the_tip_neither_greens_nor_reddens_the_trunk(
    stack: Stack, ci: CiApp
) -> None:
    health = '[health]\ncheck = "external"\n'
    project = with_rules(stack, "tip", EXTERNAL.format(timeout="1s") + PINNED + health)
    tip = project.work.git("rev-parse", "HEAD").out
    report(project, tip, "success")
    silent = "nobody reported the check `ci / test` of the App `our-ci` in time; the word of ada"
    stack.until(lambda: silent in (project.queue()["waiting"] or ""), "the reason", within_s=60)
    assert stack.health("tip") == "unknown"
    ci.run("ada/tip", tip, "ci / test", "success")
    stack.until(lambda: stack.health("tip") == "green", "green by its CI", within_s=60)
    report(project, tip, "failure")
    asked = len(stack.forge.asked())
    path = f"/repos/ada/tip/commits/{tip}/statuses"
    stack.until(
        lambda: any(each.endswith(path) for each in stack.forge.asked()[asked:]), "another look"
    )
    assert stack.health("tip") == "green"
    ci.run("ada/tip", tip, "ci / test", "failure")
    stack.until(lambda: stack.health("tip") == "red", "red by its CI", within_s=60)


def asked_for(project: Project, tip: str) -> bool:
    """Tell whether the bot asked the forge for the checks of a commit."""
    path = f"/repos/ada/{project.name}/commits/{tip}/statuses"
    return any(each.endswith(path) for each in project.stack.forge.asked())
