"""The tests that a contract names: they run on its new revision, and they decide."""

from collections.abc import Iterator

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Project, Stack

pytestmark = pytest.mark.slow

RULES = """\
[gate]
timeout = "2m"

[[gate.steps]]
name = "held"
run = "sh held.sh"
inputs = ["held.sh", "publish/**"]

[[gate.steps]]
name = "slow"
run = "[ ! -e slow ] || [ -e publish ] || sleep 100"

[contracts.readiness]
paths = ["status.txt"]
owners = ["@ada"]
tests = ["held"]
"""
HELD = "! grep -qs strict publish/* || ! grep -q checked status.txt\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("contracts")
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, ("kept",)) as stack:
        yield stack.project("kept")


def green(project: Project, title: str, files: dict[str, str]) -> None:
    project.push_to_trunk(title, files)
    project.stack.until(lambda: project.trunk()[0] == title, "the push")
    project.stack.until(lambda: project.stack.health("kept") == "green", "a green tip")


def test_a_contracts_tests_run_on_its_new_revision_though_their_inputs_are_the_same(
    project: Project,
) -> None:
    files = {".mergebot.toml": RULES, "held.sh": HELD, "status.txt": "written\n"}
    green(project, "Promise something", files)
    slow = project.propose("Slow", {"slow": "1\n"})
    project.becomes(slow, "gating")
    lenient = project.propose("Lenient", {"publish/lenient": "lenient\n"})
    project.becomes(lenient, "verified")
    strict = project.propose("Strict", {"publish/strict": "strict\n"})
    project.becomes(strict, "verified")
    green(project, "Move the contract", {"status.txt": "checked\n"})
    for pr in (slow, lenient, strict):
        assert project.becomes(pr, "parked")["reason"] == "stale_contract"
    answer = {"body": "@mergebot revalidate readiness"}
    project.as_("ada", "POST", f"/issues/{lenient}/comments", answer)
    project.becomes(lenient, "landed")
    project.as_("ada", "POST", f"/issues/{strict}/comments", answer)
    ended = project.becomes(strict, "ejected")
    assert (ended["step"], ended["exit_code"]) == ("held", 1)
    landings = project.stack.get("kept", "/landings")["landings"]
    (receipt,) = (each for each in landings if each["pr"] == lenient)
    held, _ = receipt["gate"]["steps"]
    assert (held["name"], held["exit_code"], held.get("kept", "")) == ("held", 0, "")
