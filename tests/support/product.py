"""The installed command as a user runs it: forge and bot as processes of their own, one home."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import requests

from tests.support.forge import Done, ForgeProcess, Work
from tests.support.waiting import eventually

COMMAND = Path(sys.executable).with_name("mergebot")
SECRET = "the secret of the webhook"
ADMIN_TOKEN = "the token of the admin"
PATIENCE_S = 30.0
STOP_S = 40.0
SHOWN = ("state", "reason", "text", "attempt", "next_action", "story")

RULES = """\
[gate]
timeout = "2m"

[[gate.steps]]
name = "test"
run = "sh test.sh"
"""
SCRIPT = 'for file in checks/*; do [ -e "$file" ] && { sh "$file" || exit 1; }; done; true\n'


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(
    *arguments: str,
    cwd: Path | None = None,
    settings: Mapping[str, str] | None = None,
    within_s: float = 120,
) -> Done:
    """Run the installed command to its end, with only these settings."""
    done = subprocess.run(
        [COMMAND, *arguments],
        env=clean_environment() | dict(settings or {}),
        cwd=cwd,
        capture_output=True,
        check=False,
        text=True,
        timeout=within_s,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def clean_environment() -> dict[str, str]:
    """Return this process's environment without any of mergebot's settings."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MERGEBOT_")}


@dataclass
class Stack:
    """A forge with repositories, and `mergebot up` that serves them."""

    home: Path
    forge: ForgeProcess
    names: tuple[str, ...]
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None
    imported: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        for name in self.names:
            if name not in self.imported:
                self._create(name)
            self._open(name)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process and self.process.poll() is None:
            self.stop()

    @property
    def url(self) -> str:
        """The address of the pages and the API."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The settings that the bot runs with, which its commands need too."""
        return {
            "MERGEBOT_HOME": str(self.home),
            "MERGEBOT_PORT": str(self.port),
            "MERGEBOT_GITHUB_URL": self.forge.api_url,
            "MERGEBOT_GITHUB_TOKEN": self.forge.user("mergebot"),
            "MERGEBOT_REPOS": ",".join(f"ada/{name}" for name in self.names),
            "MERGEBOT_WEBHOOK_SECRET": SECRET,
            "MERGEBOT_ADMIN_TOKEN": ADMIN_TOKEN,
            "MERGEBOT_WORKERS": "2",
            **self.settings,
        }

    def start(self) -> None:
        """Run `mergebot up` and wait until it serves every repository."""
        log = (self.home.parent / "mergebot.log").open("a")
        self.process = subprocess.Popen(
            [COMMAND, "up", "--json"],
            env=clean_environment() | self.environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        log.close()
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"mergebot up ended with {self.process.wait(STOP_S)}: {self.log()}"
        assert json.loads(line)["pages"] == self.url
        for name in set(self.names) - set(self.imported):
            self.until(partial(self._green, name), f"ada/{name} to be green")

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        """Stop it and return its exit status."""
        assert self.process
        self.process.send_signal(sig)
        code = self.process.wait(STOP_S)
        if self.process.stdout:
            self.process.stdout.close()
        return code

    def log(self) -> str:
        """Return the end of what it logged."""
        return (self.home.parent / "mergebot.log").read_text()[-4000:]

    def until(self, condition: Callable[[], Any], what: str, within_s: float = PATIENCE_S) -> Any:
        """Wait until `condition` is true and return what it returned."""
        try:
            return eventually(condition, within_s=within_s, what=what)
        except AssertionError as error:
            error.add_note(self.log())
            raise

    def cli(self, *arguments: str) -> Done:
        """Run a command of mergebot with the bot's settings."""
        return run(*arguments, settings=self.environment)

    def cli_in(self, place: Path, *arguments: str) -> Done:
        """Run a command of mergebot in a directory, with the bot's settings."""
        return run(*arguments, cwd=place, settings=self.environment)

    def get(self, name: str, path: str) -> Any:
        """Return what the API says about a repository, None where there is nothing."""
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(f"{self.url}/api/v1/repos/ada/{name}{path}", timeout=30)
        return answer.json() if answer.ok else None

    def health(self, name: str) -> str:
        """Return the trunk's health."""
        found = self.get(name, "/health")
        return str(found["trunk"]["health"]) if found else ""

    def _green(self, name: str) -> bool:
        return self.health(name) == "green"

    def _create(self, name: str) -> None:
        self.forge.repo(f"ada/{name}")
        work = self.forge.clone(f"ada/{name}", self.home.parent / "made" / name)
        work.commit("Start", {".mergebot.toml": RULES, "test.sh": SCRIPT, "shared.txt": "one\n"})
        work.push("HEAD:main")

    def _open(self, name: str) -> None:
        """Let people in, and have the bot told of what happens."""
        for login, role in (("mergebot", "admin"), ("bob", "push"), ("eve", "pull")):
            self.forge.user(login)
            path = f"/repos/ada/{name}/collaborators/{login}"
            self.forge.call("PUT", path, {"permission": role}, token=self.forge.user("ada"))
        config = {"url": f"{self.url}/hooks/github", "content_type": "json", "secret": SECRET}
        hook = {"name": "web", "events": ["*"], "config": config}
        made = self.forge.call("POST", f"/repos/ada/{name}/hooks", hook)
        assert made.status_code == 201, made.text

    def project(self, name: str) -> "Project":
        """Return one of the repositories, to work in."""
        path = self.home.parent / "work" / name
        work = Work(path, self.forge.remote(f"ada/{name}", "bob"))
        if not path.exists():
            work = self.forge.clone(f"ada/{name}", path, "bob")
        return Project(self, name, work)


@dataclass
class Project:
    """A repository that the bot serves, with bob working in it and ada owning it."""

    stack: Stack
    name: str
    work: Work

    def propose(
        self, title: str, files: dict[str, str], *, claims: str = "", label: str = "merge-queue"
    ) -> int:
        """Open a pull request from a branch on the trunk's tip, label it, and return its number."""
        branch = "-".join(title.lower().split())
        self.work.start(branch)
        self.work.commit(title, files)
        self.work.push("-q", "-f", f"HEAD:{branch}")
        body = f'```mergebot\ntask = "{title}"\nclaims = ["{claims}"]\n```\n' if claims else ""
        asked = {"title": title, "head": branch, "base": "main", "body": body}
        made = self.as_("bob", "POST", "/pulls", asked)
        number = int(made["number"])
        if label:
            self.label(number, label)
        return number

    def as_(self, login: str, method: str, path: str, body: Any = None) -> Any:
        """Ask the forge for something in this repository as somebody."""
        token = self.stack.forge.user(login)
        answer = self.stack.forge.call(method, f"/repos/ada/{self.name}{path}", body, token=token)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def label(self, number: int, label: str = "merge-queue", by: str = "ada") -> None:
        """Set a label."""
        self.as_(by, "POST", f"/issues/{number}/labels", {"labels": [label]})

    def unlabel(self, number: int, label: str = "merge-queue", by: str = "ada") -> None:
        """Take a label away."""
        self.as_(by, "DELETE", f"/issues/{number}/labels/{label}")

    def push_to_trunk(self, title: str, files: dict[str, str]) -> str:
        """Push a commit straight to the trunk and return it."""
        self.work.start("direct")
        commit = self.work.commit(title, files)
        self.work.push("-q", "HEAD:main")
        return commit

    def state(self, number: int) -> str:
        """Return the state of a PR's candidate, "" before there is one."""
        found = self.stack.get(self.name, f"/candidates/{number}")
        return str(found["state"]) if found else ""

    def propose_by_push(self, title: str, files: dict[str, str]) -> int:
        """Open a labelled pull request by `git push` alone and return its number."""
        self.work.start("-".join(title.lower().split()))
        self.work.commit(title, files)
        options = ("-o", f"title={title}", "-o", "label=merge-queue")
        self.work.push("-q", "HEAD:refs/for/main", *options)
        opened = self.as_("ada", "GET", "/pulls?state=open")
        return int(next(each["number"] for each in opened if each["title"] == title))

    def becomes(self, number: int, state: str, within_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until a PR's candidate is in a state and return what the API says about it."""
        what = f"#{number} to be {state}"
        try:
            self.stack.until(lambda: self.state(number) == state, what, within_s)
        except AssertionError as error:
            found = self.stack.get(self.name, f"/candidates/{number}") or {}
            error.add_note(json.dumps({key: found.get(key) for key in SHOWN}, indent=1))
            error.add_note(json.dumps(self.queue() | {"entries": []}, indent=1))
            raise
        document: dict[str, Any] = self.stack.get(self.name, f"/candidates/{number}")
        return document

    def queue(self) -> dict[str, Any]:
        """Return the queue."""
        found: dict[str, Any] = self.stack.get(self.name, "/queue")
        return found

    def halted(self) -> dict[str, Any] | None:
        """Return why nothing lands, None while things do."""
        found: dict[str, Any] | None = self.queue()["halted"]
        return found

    def trunk(self) -> list[str]:
        """Return the subjects of the trunk's commits, newest first."""
        self.work.git("fetch", "-q", "origin", "+main:refs/remotes/origin/main")
        return self.work.git("log", "--format=%s", "origin/main").out.splitlines()

    def pull(self, number: int) -> dict[str, Any]:
        """Return a pull request as the forge shows it."""
        found: dict[str, Any] = self.as_("ada", "GET", f"/pulls/{number}")
        return found

    def labels(self, number: int) -> list[str]:
        """Return a pull request's labels."""
        return [each["name"] for each in self.pull(number)["labels"]]

    def comments(self, number: int) -> list[str]:
        """Return the bodies of a pull request's comments."""
        return [each["body"] for each in self.as_("ada", "GET", f"/issues/{number}/comments")]
