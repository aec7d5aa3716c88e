"""A queue whose rules name another trunk: it goes on there, with what was queued and claimed."""

from pathlib import Path

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_queue_goes_on_on_the_trunk_that_the_rules_name_anew(tmp_path: Path) -> None:
    with (
        ForgeProcess(tmp_path / "forge") as forge,
        Stack(tmp_path / "home", forge, ("moving",)) as stack,
    ):
        project = stack.project("moving")
        first = project.propose("On main", {"one.txt": "1\n"})
        project.becomes(first, "landed")
        rules = project.work.git("show", "origin/main:.mergebot.toml").out

        project.work.start("direct")
        project.work.commit("Land on release", {".mergebot.toml": f'trunk = "release"\n{rules}\n'})
        project.work.push("-q", "HEAD:refs/heads/release")
        project.work.push("-q", "HEAD:main")

        stack.until(lambda: trunk_of(stack, project.name) == "release", "the queue to follow")
        second = project.propose("On release", {"two.txt": "2\n"}, label="")
        project.as_("bob", "PATCH", f"/pulls/{second}", {"base": "release"})
        project.label(second)
        landed = project.becomes(second, "landed")
        assert landed["trunk"] == "release"
        project.work.git("fetch", "-q", "origin")
        assert project.work.git("rev-parse", "origin/release").out == landed["merged"]


def trunk_of(stack: Stack, name: str) -> str:
    found = stack.get(name, "/queue") or {}
    return str(found.get("trunk", {}).get("branch", ""))
