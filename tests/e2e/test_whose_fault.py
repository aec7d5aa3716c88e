"""The whole product on changes that fail for different reasons, and on what need not run again."""

import json
from collections.abc import Iterator

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("together", "keeping")
STEPS = """
[[gate.steps]]
name = "sources"
run = "ls src"
inputs = ["src/**"]

[[gate.steps]]
name = "test"
run = "sh test.sh"
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("fault")
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, NAMES) as running:
        yield running


def receipt_of(project: Project, landed: dict[str, object]) -> dict[str, object]:
    project.work.git("fetch", "-q", "origin", "+refs/notes/mergebot:refs/notes/mergebot")
    note = project.work.git("notes", "--ref", "mergebot", "show", str(landed["merged"]))
    found: dict[str, object] = json.loads(note.out)
    return found


def test_of_all_that_landed_meanwhile_the_one_that_a_change_clashes_with_is_named(
    stack: Stack,
) -> None:
    project = stack.project("together")
    rule = "! { [ -e one.txt ] && [ -e two.txt ]; } || { echo 'error: not both'; exit 1; }\n"
    ready = project.propose("Forbid both", {"checks/both": rule})
    project.becomes(ready, "landed")
    first = project.propose("Add one", {"one.txt": "1\n"}, label="")
    second = project.propose("Add two", {"two.txt": "2\n"}, label="")
    early = project.propose("Something else", {"early.txt": "1\n"})
    project.becomes(early, "landed")
    project.label(first)
    project.becomes(first, "landed")
    late = project.propose("Something more", {"late.txt": "1\n"})
    project.becomes(late, "landed")
    project.label(second)
    found = project.becomes(second, "ejected", within_s=90)
    assert (found["fault"], found["with"]) == ("combination", [first])
    assert "not both" in found["first_error"]


def test_a_tree_and_inputs_that_were_green_are_not_tested_again(stack: Stack) -> None:
    project = stack.project("keeping")
    work = project.work
    work.start("rules")
    rules = work.git("show", "origin/main:.mergebot.toml").out
    head = rules.split("[[gate.steps]]", 1)[0]
    project.push_to_trunk("Name inputs", {".mergebot.toml": head + STEPS, "src/a": "a\n"})
    stack.until(lambda: stack.health("keeping") == "green", "the trunk to be green")
    docs = project.propose("Write docs", {"docs/a": "a\n"})
    landed = project.becomes(docs, "landed")
    steps = {each["name"]: each["kept"] for each in receipt_of(project, landed)["gate"]["steps"]}  # type: ignore[index]  # a receipt is plain JSON
    assert steps["sources"] != ""
    assert steps["test"] == ""
