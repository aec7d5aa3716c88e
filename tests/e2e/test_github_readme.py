"""The README's chapter on GitHub, followed word by word against the local forge."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from tests.support.forge import ForgeProcess, Work
from tests.support.product import COMMAND, clean_environment, free_port
from tests.support.waiting import eventually
from tests.tidy.tracked import text

pytestmark = pytest.mark.slow

CHAPTER = "## On GitHub in ten lines"
EVENTS = {
    "pull requests": "pull_request",
    "pushes": "push",
    "issue comments": "issue_comment",
    "reviews": "pull_request_review",
}
MAKEFILE = "test:\n\ttrue\n"


def steps() -> list[str]:
    chapter = text("README.md").partition(CHAPTER)[2].partition("\n## ")[0]
    joined = re.sub(r"\n {2,}", " ", chapter)
    return re.findall(r"^\d+\. (.*)$", joined, re.MULTILINE)


def spans(step: str) -> list[str]:
    return re.findall(r"`([^`]+)`", step)


@dataclass
class Reader:
    """Somebody who reads the chapter; what it calls by example has a name of its own here."""

    forge: ForgeProcess
    home: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def meant(self, words: str) -> str:
        token = self.forge.user("queue-bot")
        words = words.replace("owner/name", "ada/shop").replace(
            "https://queue.example.org", self.url
        )
        return words.replace("MERGEBOT_GITHUB_TOKEN=...", f"MERGEBOT_GITHUB_TOKEN={token}")

    def settings(self) -> dict[str, str]:
        exports = [s for step in steps() for s in spans(step) if s.startswith("export ")]
        script = "\n".join([*map(self.meant, exports), "env -0"])
        done = subprocess.run(["bash", "-euc", script], capture_output=True, check=True, text=True)
        pairs = (line.partition("=") for line in done.stdout.split("\0") if line)
        return {name: value for name, _, value in pairs if name.startswith("MERGEBOT_")}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with ForgeProcess(tmp_path / "forge") as forge:
        forge.repo("ada/shop")
        forge.user("queue-bot")
        forge.call("PUT", "/repos/ada/shop/collaborators/queue-bot", {"permission": "push"})
        yield Reader(forge, tmp_path, free_port())


def write_rules(reader: Reader, work: Work) -> None:
    lines = [span for span in spans(steps()[2]) if span != ".mergebot.toml"]
    work.commit("Rules", {".mergebot.toml": "\n".join(lines) + "\n", "Makefile": MAKEFILE})
    work.push("HEAD:main")


def add_webhook(reader: Reader, secret: str) -> None:
    step = steps()[7]
    named = [event for words, event in EVENTS.items() if words in step]
    assert named == list(EVENTS.values())
    url = reader.meant(next(span for span in spans(step) if span.endswith("/hooks/github")))
    config = {"url": url, "content_type": "json", "secret": secret}
    body = {"name": "web", "events": named, "config": config}
    assert reader.forge.call("POST", "/repos/ada/shop/hooks", body).status_code == 201


def propose(reader: Reader, work: Work) -> int:
    work.start("change")
    work.commit("Change", {"one.txt": "1\n"})
    work.push("-q", "HEAD:change")
    asked = {"title": "Change", "head": "change", "base": "main"}
    token = reader.forge.user("ada")
    made = reader.forge.call("POST", "/repos/ada/shop/pulls", asked, token=token).json()
    labels = {"labels": [spans(steps()[8])[0]]}
    path = f"/repos/ada/shop/issues/{made['number']}/labels"
    assert reader.forge.call("POST", path, labels, token=token).ok
    return int(made["number"])


def test_the_chapter_lands_a_pull_request(reader: Reader, tmp_path: Path) -> None:
    work = reader.forge.clone("ada/shop", tmp_path / "work")
    write_rules(reader, work)
    settings = reader.settings()
    here = {
        "MERGEBOT_GITHUB_URL": reader.forge.api_url,
        "MERGEBOT_PORT": str(reader.port),
        "MERGEBOT_HOME": str(reader.home / "home"),
    }
    (command,) = spans(steps()[6])
    with (tmp_path / "log").open("w") as log:
        up = subprocess.Popen(
            [COMMAND, *command.split()[1:]], env=clean_environment() | settings | here,
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        page = reader.meant(spans(steps()[9])[0])
        eventually(lambda: answers(page), within_s=40, what="the page answers")
        add_webhook(reader, settings["MERGEBOT_WEBHOOK_SECRET"])
        number = propose(reader, work)
        pull = f"/repos/ada/shop/pulls/{number}"
        landed = lambda: reader.forge.call("GET", pull).json()["merged"]  # noqa: E731 - one look
        eventually(landed, within_s=40, what="the pull request is merged")
        comments = reader.forge.call("GET", f"/repos/ada/shop/issues/{number}/comments").json()
        assert len(comments) == 1
    finally:
        up.terminate()
        up.wait(40)


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).status_code == 200
    except requests.ConnectionError:
        return False


def test_the_chapter_has_the_ten_lines_that_its_title_promises() -> None:
    assert len(steps()) == 10
