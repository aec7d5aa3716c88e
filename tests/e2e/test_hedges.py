"""The whole product where idle workers gate what is needed once somebody ahead turns red."""

from collections.abc import Iterator

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

NAME = "hedged"
RULES = """
[queue]
hedge = "idle"

[[gate.steps]]
name = "test"
run = "if [ -e broken ]; then sleep 8; exit 1; fi; sleep 2"
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("hedges")
    settings = {"MERGEBOT_WORKERS": "4"}
    with (
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, (NAME,), settings) as running,
    ):
        yield running


def hedges_of(project: Project, number: int) -> list[dict[str, object]]:
    entries = {each["pr"]: each for each in project.queue()["entries"]}
    found: list[dict[str, object]] = entries.get(number, {}).get("hedges", [])
    return found


def test_the_change_behind_a_red_one_lands_by_the_run_that_an_idle_worker_made_of_it(
    stack: Stack,
) -> None:
    project = stack.project(NAME)
    project.push_to_trunk("Hedge", {".mergebot.toml": RULES})
    stack.until(lambda: stack.health(NAME) == "green", "the trunk to be green")
    bad = project.propose("Break it", {"broken": "1\n"}, label="")
    good = project.propose("Add a", {"a.txt": "1\n"}, label="")
    project.label(bad)
    project.label(good)
    (hedge,) = stack.until(lambda: hedges_of(project, good), "a hedge")
    assert (hedge["without"], hedge["why"]) == (bad, "a slot is idle")
    landed = project.becomes(good, "landed", within_s=60)
    assert landed["merged"] == hedge["merged"]
    assert landed["run"] == hedge["run"]
    project.becomes(bad, "ejected", within_s=90)
    assert hedges_of(project, good) == []
    assert project.queue()["planner"]["refused"] == {}
