"""Changes that wait for others: stacked ones, declared dependencies; and those from forks."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import RULES, Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("stacking", "squashing", "depending", "forking", "forked")
METHOD = '[queue]\nmethod = "{method}"\nfork_pull_requests = true\n\n' + RULES


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("stacks")
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, NAMES) as running:
        yield running


def ruled(stack: Stack, name: str, method: str) -> Project:
    project = stack.project(name)
    project.push_to_trunk("Choose the method", {".mergebot.toml": METHOD.format(method=method)})
    stack.until(lambda: stack.health(name) == "green", "the trunk to be green again")
    return project


def stacked(project: Project) -> tuple[int, int]:
    """Open two pull requests, the second on the branch of the first, and label the second first."""
    work = project.work
    work.start("lower")
    work.commit("Lower one", {"stack.txt": "one\n"})
    work.commit("Lower two", {"stack.txt": "one\ntwo\n"})
    work.push("-q", "-f", "HEAD:lower")
    work.git("checkout", "-q", "-B", "upper")
    work.commit("Upper", {"stack.txt": "one\nTWO\nthree\n"})
    work.push("-q", "-f", "HEAD:upper")
    lower = project.as_(
        "bob", "POST", "/pulls", {"title": "Lower", "head": "lower", "base": "main"}
    )
    upper = project.as_(
        "bob", "POST", "/pulls", {"title": "Upper", "head": "upper", "base": "lower"}
    )
    return int(lower["number"]), int(upper["number"])


@pytest.mark.parametrize(("name", "method"), [("stacking", "rebase"), ("squashing", "squash")])
def test_a_stacked_change_waits_is_retargeted_and_lands_after_its_parent(
    stack: Stack, name: str, method: str
) -> None:
    project = ruled(stack, name, method)
    lower, upper = stacked(project)
    project.label(upper)
    parked = project.becomes(upper, "parked")
    assert parked["reason"] == "not_ready"

    project.label(lower)
    project.becomes(lower, "landed")
    landed = project.becomes(upper, "landed")

    assert landed["attempt"] == 1
    assert project.pull(upper)["base"]["ref"] == "main"
    assert [project.pull(each)["merged"] for each in (lower, upper)] == [True, True]
    project.work.git("fetch", "-q", "origin", "main")
    assert project.work.git("show", "FETCH_HEAD:stack.txt").out == "one\nTWO\nthree"
    count = {"rebase": 3, "squash": 2}[method]
    assert (
        project.work.git("rev-list", "--count", "FETCH_HEAD", "--", "stack.txt").out == f"{count}"
    )


def test_a_declared_dependency_lands_first(stack: Stack) -> None:
    project = stack.project("depending")
    first = project.propose("First", {"one.txt": "1\n"}, label="")
    second = project.propose("Second", {"two.txt": "2\n"}, label="")
    body = {"body": f"Needs the other one.\n\nDepends-On: #{first}\n"}
    project.as_("bob", "PATCH", f"/pulls/{second}", body)
    project.label(second)
    assert project.becomes(second, "parked")["reason"] == "not_ready"
    project.label(first)
    project.becomes(second, "landed")
    assert project.trunk()[:2] == ["Second", "First"]


@pytest.mark.parametrize(("name", "method"), [("forking", "merge"), ("forked", "rebase")])
def test_a_change_from_a_fork_lands_its_branch_is_left_alone_and_it_is_closed(
    stack: Stack, name: str, method: str
) -> None:
    project = ruled(stack, name, method)
    forge, token = stack.forge, stack.forge.user("fred")
    forge.call("POST", f"/repos/ada/{name}/forks", {}, token=token)
    work = forge.clone(f"fred/{name}", stack.home.parent / f"fred-{name}", "fred")
    work.start("change", "origin/main~1")
    head = work.commit("From a fork", {"fork.txt": "1\n"})
    work.push("-q", "HEAD:change")
    body: dict[str, Any] = {"title": "From a fork", "head": "fred:change", "base": "main"}
    number = forge.call("POST", f"/repos/ada/{name}/pulls", body, token=token).json()["number"]
    project.label(number)
    project.becomes(number, "landed")
    stack.until(lambda: project.pull(number)["state"] == "closed", "the pull request to close")
    assert project.pull(number)["merged"] is (method == "merge")
    assert work.git("ls-remote", "origin", "refs/heads/change").out.startswith(head)
    assert project.state(number) == "landed"
