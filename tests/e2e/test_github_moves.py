"""Repositories that are renamed and archived while no webhook tells of it: a bot with a token."""

from collections.abc import Iterator

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

ROUND_S = 1
ROUNDS = 3


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("moves")
    rounds = {"MERGEBOT_RECONCILE_SECONDS": str(ROUND_S)}
    with (
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, ("old", "shelf"), rounds) as running,
    ):
        yield running


def test_a_repository_whose_new_name_nobody_told_keeps_its_queue(stack: Stack) -> None:
    project = stack.project("old")
    number = project.propose("Held back", {"one.txt": "1\n"}, label="merge-queue-hold")
    project.label(number)
    project.becomes(number, "parked")
    stack.forge.fault("drop_webhooks", times=3)
    project.as_("ada", "PATCH", "", {"name": "new"})
    stack.until(lambda: stack.get("new", "/queue"), "the queue under its new name")
    moved = stack.project("new")
    moved.unlabel(number, "merge-queue-hold")
    assert moved.becomes(number, "landed")["attempt"] == 1


def test_an_archived_repository_is_served_no_more_until_it_is_brought_back(stack: Stack) -> None:
    project = stack.project("shelf")
    archived(project, yes=True)
    stack.until(lambda: stack.get("shelf", "/queue") is None, "the lane to close")
    stack.until(lambda: stack.log().count("ada/shelf is archived") >= ROUNDS, "more rounds")
    assert stack.get("shelf", "/queue") is None
    archived(project, yes=False)
    stack.until(lambda: stack.health("shelf") == "green", "the lane to open")
    number = project.propose("Add one", {"one.txt": "1\n"})
    project.becomes(number, "landed")


def archived(project: Project, *, yes: bool) -> None:
    project.as_("ada", "PATCH", "", {"archived": yes})
