"""The Python packages: pinned by name and version, and a wheel that carries everything."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from tests.tidy.tracked import ROOT, paths, text

PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==[A-Za-z0-9.]+")


def pinned() -> list[str]:
    lines = text("constraints.txt").splitlines()
    return [match["name"] if (match := PIN.fullmatch(line)) else line for line in lines]


def plain(requirement: str) -> str:
    name = re.split(r"[\[<>=!~; ]", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_are_sorted_names_and_versions_and_nothing_else() -> None:
    assert [line for line in text("constraints.txt").splitlines() if not PIN.fullmatch(line)] == []
    assert pinned() == sorted(pinned(), key=plain)


def test_everything_the_project_asks_for_is_pinned() -> None:
    project = tomllib.loads(text("pyproject.toml"))
    asked = [
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
        "pip",
    ]
    assert {plain(requirement) for requirement in asked} <= {plain(name) for name in pinned()}


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
