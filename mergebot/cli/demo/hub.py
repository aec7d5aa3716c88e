"""The forge as people use it: its REST API for accounts and pull requests, git for commits."""

import base64
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from mergebot.cli.demo.sample import Change, Edit

ANSWER_S = 20.0
GIT_S = 60.0


class HubError(Exception):
    """The forge did not do what the demo needs; the text says what it answered."""


@dataclass(frozen=True, slots=True)
class Person:
    """An account on the forge."""

    login: str
    token: str


@dataclass(frozen=True, slots=True)
class Hub:
    """A GitHub-compatible forge at `url`, with its admin's token."""

    url: str
    admin: Person

    @property
    def api(self) -> str:
        """Return the base of the REST API."""
        return f"{self.url}/api/v3"

    def ask(self, who: Person, method: str, path: str, body: Any = None) -> Any:
        """Send one request to the REST API as somebody and return its JSON; raises HubError."""
        return _send(method, self.api + path, who, body)

    def operate(self, method: str, path: str, body: Any = None) -> Any:
        """Ask for what is the local forge's own: accounts, faults, switches."""
        return _send(method, f"{self.url}/_forge{path}", self.admin, body)

    def person(self, login: str) -> Person:
        """Return an account with this login, made where it is missing."""
        made = self.operate("POST", "/users", {"login": login})
        return Person(made["login"], made["token"])

    def create_repository(self, owner: Person, name: str) -> str:
        """Make an empty repository and return its full name."""
        made = self.ask(owner, "POST", "/user/repos", {"name": name, "default_branch": "main"})
        return str(made["full_name"])

    def allow(self, repo: str, owner: Person, who: Person, permission: str) -> None:
        """Give somebody a role: pull, triage, push, maintain or admin."""
        path = f"/repos/{repo}/collaborators/{quote(who.login)}"
        self.ask(owner, "PUT", path, {"permission": permission})

    def add_webhook(self, repo: str, owner: Person, url: str, secret: str) -> None:
        """Send every event of a repository to `url`."""
        config = {"url": url, "content_type": "json", "secret": secret}
        hook = {"name": "web", "active": True, "events": ["*"], "config": config}
        self.ask(owner, "POST", f"/repos/{repo}/hooks", hook)

    def open_pull(self, repo: str, who: Person, branch: str, change: Change) -> int:
        """Open a pull request and return its number."""
        asked = {"title": change.title, "body": change.body, "head": branch, "base": "main"}
        return int(self.ask(who, "POST", f"/repos/{repo}/pulls", asked)["number"])

    def add_label(self, repo: str, who: Person, pull: int, label: str) -> None:
        """Put a label on a pull request."""
        self.ask(who, "POST", f"/repos/{repo}/issues/{pull}/labels", {"labels": [label]})

    def pull(self, repo: str, number: int) -> Mapping[str, Any]:
        """Return a pull request as the forge shows it."""
        found: Mapping[str, Any] = self.ask(self.admin, "GET", f"/repos/{repo}/pulls/{number}")
        return found


def _send(method: str, url: str, who: Person, body: Any) -> Any:
    headers = {"Authorization": f"token {who.token}"}
    try:
        answer = requests.request(method, url, json=body, headers=headers, timeout=ANSWER_S)
    except requests.RequestException as error:
        raise HubError(f"the forge does not answer: {type(error).__name__}") from None
    if not answer.ok:
        raise HubError(f"{method} {url} answered {answer.status_code}: {answer.text[:300]}")
    return answer.json() if answer.content else None


@dataclass(frozen=True, slots=True)
class Clone:
    """A working copy of a repository, in which everybody of the demo works in turn."""

    path: Path
    url: str

    def start(self, who: Person, files: Mapping[str, str]) -> None:
        """Make the first commit and push it to `main`."""
        self.path.mkdir(parents=True)
        self.git(who, "init", "--quiet", "--initial-branch=main")
        for name, text in files.items():
            self._write(name, text)
        self._commit(who, "Open the shop")
        self.git(who, "push", "--quiet", self.url, "main")

    def fetch(self, who: Person) -> str:
        """Bring in the trunk and return its tip."""
        self.git(who, "fetch", "--quiet", self.url, "+main:refs/remotes/origin/main")
        return self.git(who, "rev-parse", "refs/remotes/origin/main").strip()

    def propose(self, who: Person, branch: str, change: Change, *, base: str) -> None:
        """Push a branch that makes the change on top of `base`."""
        self.make(who, change, base=base)
        self.git(who, "push", "--quiet", self.url, f"HEAD:refs/heads/{branch}")

    def push_trunk(self, who: Person, change: Change) -> str:
        """Push a change straight to the trunk, past the queue; return the commit."""
        made = self.make(who, change, base=self.fetch(who))
        self.git(who, "push", "--quiet", self.url, "HEAD:refs/heads/main")
        return made

    def make(self, who: Person, change: Change, *, base: str) -> str:
        """Commit a change on top of `base`, on no branch; return the commit."""
        self.git(who, "switch", "--quiet", "--detach", base)
        for edit in change.edits:
            self._edit(edit)
        self._commit(who, change.title)
        return self.git(who, "rev-parse", "HEAD").strip()

    def git(self, who: Person, *arguments: str) -> str:
        """Run git as somebody and return what it printed; raises HubError."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=self._environment(who),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=GIT_S,
        )
        if done.returncode:
            raise HubError(f"git {arguments[0]} failed: {done.stderr.strip()[:300]}")
        return done.stdout

    def _environment(self, who: Person) -> dict[str, str]:
        basic = base64.b64encode(f"{who.login}:{who.token}".encode()).decode()
        person = {"NAME": who.login, "EMAIL": f"{who.login}@example.org"}
        names = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in person.items()
        }
        return names | {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.path),
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
        }

    def _edit(self, edit: Edit) -> None:
        if not edit.old:
            self._write(edit.path, edit.new)
            return
        text = (self.path / edit.path).read_text("utf-8")
        if edit.old not in text:
            raise HubError(f"{edit.path} holds no {edit.old!r} to edit")
        self._write(edit.path, text.replace(edit.old, edit.new))

    def _write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def _commit(self, who: Person, message: str) -> None:
        self.git(who, "add", "--all")
        self.git(who, "commit", "--quiet", "--message", message)
