"""The Python packages: pinned by name and version, and a wheel that carries everything."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

from tests.tidy.tracked import ROOT, paths, text

PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==[A-Za-z0-9.]+")


def pinned() -> list[str]:
    lines = text("constraints.txt").splitlines()
    return [match["name"] if (match := PIN.fullmatch(line)) else line for line in lines]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_sorted_names_and_versions_and_nothing_else() -> None:
    assert [line for line in text("constraints.txt").splitlines() if not PIN.fullmatch(line)] == []
    assert pinned() == sorted(pinned(), key=plain)


def test_everything_that_gets_installed_is_pinned() -> None:
    project = tomllib.loads(text("pyproject.toml"))
    asked = [*project["dependency-groups"]["dev"], *project["build-system"]["requires"], "pip"]
    asked += project["project"]["dependencies"]
    assert closure(asked) <= {plain(name) for name in pinned()}


def test_the_locks_hold_the_pinned_versions_each_with_its_hashes() -> None:
    project = tomllib.loads(text("pyproject.toml"))
    pins = {plain(line) for line in text("constraints.txt").splitlines()}
    for lock in ("requirements.lock", "requirements.build.lock"):
        found = re.findall(r"^(\S+==\S+)(.*(?:\n    .*)+)$", text(lock), re.MULTILINE)
        assert {plain(pin) for pin, _ in found} <= pins
        assert all("--hash=sha256:" in hashes for _, hashes in found)
    names = {plain(pin.partition("==")[0]) for pin in re.findall(r"^\S+==\S+", text("requirements.lock"), re.MULTILINE)}  # fmt: skip
    assert closure(project["project"]["dependencies"]) <= names


def closure(asked: list[str]) -> set[str]:
    """Return the names of all packages that these requirements bring along on this Python."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in asked]
    while waiting:
        requirement = waiting.pop()
        found.add(plain(requirement.name))
        extras = {"", *requirement.extras}
        waiting += [
            needed
            for needed in map(Requirement, distribution(requirement.name).requires or [])
            if plain(needed.name) not in found
            and any(needed.marker is None or needed.marker.evaluate({"extra": e}) for e in extras)
        ]
    return found


def test_the_wheel_carries_code_templates_and_workflows(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    run = subprocess.run(
        [*build, str(tmp_path)], check=False, cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    carried = set(ZipFile(wheel).namelist())
    assert set(paths(under="mergebot/")) <= carried
    assert {f"mergebot/_{path}" for path in paths(under=("templates/", "workflows/"))} <= carried
    assert any(name.endswith("licenses/LICENSE") for name in carried)
