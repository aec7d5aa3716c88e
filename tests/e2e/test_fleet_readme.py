"""The README's chapter on fleets, followed word by word on an agent's machine."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import COMMAND, RULES, Project, Stack, clean_environment

pytestmark = pytest.mark.slow

README = Path(__file__).parents[2] / "README.md"
FLEET = '\n[fleet]\nbacklog_label = "agents"\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("fleet")
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, ("manned",)) as stack:
        found = stack.project("manned")
        found.push_to_trunk("Name a backlog", {".mergebot.toml": RULES + FLEET})
        stack.until(lambda: found.trunk()[0] == "Name a backlog", "the push")
        stack.until(lambda: stack.health("manned") == "green", "a green tip")
        yield found


def chapter() -> list[str]:
    """Return the commands of the chapter, as a shell gets them."""
    text = README.read_text().partition("## A fleet of agents")[2].partition("\n## ")[0]
    lines = re.findall(r"```\n(.*?)```", text, re.DOTALL)[0].splitlines()
    return [line for line in lines if line.startswith("mergebot")]


def test_the_chapter_names_what_an_agent_needs() -> None:
    text = README.read_text().partition("## A fleet of agents")[2].partition("\n## ")[0]
    for word in ("MERGEBOT_AGENT_TOKEN", "MERGEBOT_PUBLIC_URL", "mergebot mcp", "backlog_label"):
        assert word in text


def test_an_agent_that_follows_the_readme_takes_a_task_and_gives_it_back(project: Project) -> None:
    project.as_("ada", "POST", "/issues", {"title": "Do it", "labels": ["agents"]})
    stack = project.stack
    settings = {
        "MERGEBOT_HOME": str(stack.home.parent / "agent"),
        "MERGEBOT_PUBLIC_URL": stack.url,
        "MERGEBOT_AGENT_TOKEN": stack.forge.user("bob"),
    }
    environment = clean_environment() | settings
    environment["PATH"] = f"{COMMAND.parent}:{environment['PATH']}"
    claim, said = "", []
    for line in chapter():
        words = [claim if word == "ID" else word for word in shlex.split(line, comments=True)]
        done = subprocess.run(
            words, cwd=project.work.path, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, check=False, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        found = re.search(r"^(c-\S+) ", done.stdout, re.MULTILINE)
        claim = claim or (found[1] if found else "")
        said.append(done.stdout)
    text = "".join(said)
    assert "Do it" in text
    assert "claims     docs/**" in text
    assert "0.42 USD for #1: counted" in text
    assert "released by bob: not needed" in text
