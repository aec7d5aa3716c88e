"""Changes that wait for others: stacked ones, declared dependencies; and those from forks."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.forge import ForgeProcess, Work
from tests.support.product import RULES, Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("stacking", "squashing", "depending", "forking", "forked", "lent", "lending", "returned")
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


def from_fork(project: Project, **asked: Any) -> tuple[int, Work, str]:
    """Open a pull request from fred's fork; returns its number, the fork's clone and its head."""
    forge, name = project.stack.forge, project.name
    token = forge.user("fred")
    forge.call("POST", f"/repos/ada/{name}/forks", {}, token=token)
    work = forge.clone(f"fred/{name}", project.stack.home.parent / f"fred-{name}", "fred")
    work.start("change", "origin/main~1")
    head = work.commit("From a fork", {"fork.txt": "1\n"})
    work.push("-q", "HEAD:change")
    body = {"title": "From a fork", "head": "fred:change", "base": "main", **asked}
    made = forge.call("POST", f"/repos/ada/{name}/pulls", body, token=token)
    return int(made.json()["number"]), work, head


@pytest.mark.parametrize(("name", "method"), [("forking", "merge"), ("forked", "rebase")])
def test_a_change_from_a_fork_lands_its_branch_is_left_alone_and_it_is_closed(
    stack: Stack, name: str, method: str
) -> None:
    project = ruled(stack, name, method)
    number, work, head = from_fork(project, maintainer_can_modify=False)
    project.label(number)
    project.becomes(number, "landed")
    stack.until(lambda: project.pull(number)["state"] == "closed", "the pull request to close")
    assert project.pull(number)["merged"] is (method == "merge")
    assert work.git("ls-remote", "origin", "refs/heads/change").out.startswith(head)
    assert project.state(number) == "landed"


@pytest.mark.parametrize(("name", "method"), [("lent", "rebase"), ("lending", "squash")])
def test_a_forks_branch_that_is_lent_moves_along_and_the_change_shows_as_merged(
    stack: Stack, name: str, method: str
) -> None:
    project = ruled(stack, name, method)
    number, work, _ = from_fork(project)
    project.label(number)
    merged = project.becomes(number, "landed")["merged"]
    stack.until(lambda: project.pull(number)["state"] == "closed", "the pull request to close")
    assert project.pull(number)["merged"] is True
    assert work.git("ls-remote", "origin", "refs/heads/change").out.startswith(merged)
    assert work.git("ls-remote", "origin", "refs/heads/main").out[:40] != merged


def test_a_lent_branch_is_given_back_where_the_push_fails_and_moves_again_with_the_next(
    stack: Stack,
) -> None:
    project = ruled(stack, "returned", "rebase")
    number, work, _ = from_fork(project)
    where = "/ada/returned(.git)?/git-receive-pack$"
    stack.forge.fault("error_before", method="POST", path=where, status=502, times=1)
    project.label(number)
    landed = project.becomes(number, "landed")
    assert "the push did not go through" in [each["text"] for each in landed["story"]]
    stack.until(lambda: project.pull(number)["merged"], "the pull request to be merged")
    moved = work.git("ls-remote", "origin", "refs/heads/change").out
    assert moved.startswith(landed["merged"])
