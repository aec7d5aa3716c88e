"""mergebot on its own repository: imported into the forge, gated by its own fast tests."""

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forge import ForgeProcess, Work
from tests.support.product import Project, Stack, run

pytestmark = [pytest.mark.slow, pytest.mark.campaign, pytest.mark.sandbox, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
FIRST_GATE_S = 300.0
"""Its setup installs every package."""
GATE_S = 240.0
ADDED = "def test_the_queue_landed_this() -> None:\n    assert 1 + 1 == 2\n"
BROKEN = "def test_the_queue_lands_this_not() -> None:\n    assert 1 + 1 == 3\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("own")
    with ForgeProcess(root / "forge") as forge:
        source = str(copied(root / "source"))
        done = run("forge", "import", source, "--root", str(forge.root), "--name", "ada/own")
        assert done.code == 0, done.err
        settings = {"MERGEBOT_WORKERS": "1"}
        with Stack(root / "home", forge, ("own",), settings, imported=("own",)) as stack:
            yield stack.project("own")


def copied(into: Path) -> Path:
    """Clone this repository as committed; what pip needs to know on this machine goes into it."""
    into.mkdir()
    work = Work(into, "")
    work.git("clone", "-q", str(ROOT), ".")
    work.git("switch", "-q", "-C", "main")
    rules = (ROOT / ".mergebot.toml").read_text()
    pip = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("PIP_")]
    work.commit("Let pip find its way here", {".mergebot.toml": with_environment(rules, pip)})
    return into


def with_environment(rules: str, more: list[str]) -> str:
    """Return the rules with more variables for the gate."""
    assert "environment" not in tomllib.loads(rules)["gate"]
    return rules.replace("[gate]\n", f"[gate]\nenvironment = {['CI=true', *more]!r}\n")


def test_its_own_fast_tests_land_a_good_change_and_send_a_bad_one_back(project: Project) -> None:
    project.stack.until(
        lambda: project.stack.health("own") == "green", "the trunk to be green", FIRST_GATE_S
    )
    good = project.propose_by_push("Add a test", {"tests/unit/test_landed.py": ADDED})
    project.becomes(good, "landed", GATE_S)
    assert "Add a test" in project.trunk()

    bad = project.propose_by_push("Break a test", {"tests/unit/test_landed.py": BROKEN})
    sent_back = project.becomes(bad, "ejected", GATE_S)
    assert (sent_back["reason"], sent_back["step"]) == ("gate_failed", "unit")
    assert "test_the_queue_lands_this_not" in sent_back["first_error"]
    assert "Break a test" not in project.trunk()
