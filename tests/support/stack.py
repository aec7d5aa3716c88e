"""The whole product as processes: a forge, `mergebot up` beside it, and a hand to hurt either."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import requests
from redis import Redis

from mergebot.adapters.redis.embedded import running_url
from tests.support.forge import ForgeProcess, Work
from tests.support.waiting import eventually

REPO = "alice/demo"
RULES = """\
[[gate.steps]]
name = "test"
run = "sh test.sh"
timeout = "60s"
"""
GATE = """\
test ! -e broken || exit 1
test ! -e slow || sleep 600.$(cat slow)
test ! -e nap || sleep 3
sleep 0.7
echo fine
"""
SECRET = "s3cret"
ADMIN = "a" * 48
PARTS = {
    "web": "mergebot-web",
    "reconciler": "mergebot-reconc",
    "gate": "mergebot-gate",
    "hands": "mergebot-hands",
    "valkey": "valkey-server",
}
"""What the kernel calls each part."""

PRESENT_S = 30.0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@dataclass
class Stack:
    """A forge, a bot that serves one repository of it, and the author's clone."""

    root: Path
    forge: ForgeProcess
    work: Work
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)
    up: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where the bot answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What the bot says."""
        return self.root / "up.log"

    def environment(self) -> dict[str, str]:
        """Return the settings of the bot."""
        return {
            **os.environ,
            "MERGEBOT_GITHUB_URL": self.forge.api_url,
            "MERGEBOT_GITHUB_TOKEN": self.forge.user("queuebot"),
            "MERGEBOT_WEBHOOK_SECRET": SECRET,
            "MERGEBOT_ADMIN_TOKEN": ADMIN,
            "MERGEBOT_REPOS": REPO,
            "MERGEBOT_HOME": str(self.root / "home"),
            "MERGEBOT_PORT": str(self.port),
            "MERGEBOT_WORKERS": "2",
            "MERGEBOT_RECONCILE_SECONDS": "2",
            "MERGEBOT_SANDBOX": "none",
            **self.settings,
        }

    def start(self) -> None:
        """Start the bot and wait until it says that it is up."""
        with self.log.open("ab") as log:
            self.up = subprocess.Popen(
                [sys.executable, "-m", "mergebot", "up", "--json"],
                env=self.environment(), stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self.up.stdout
        assert self.up.stdout.readline(), self.log.read_text()[-2000:]

    def stop(self) -> None:
        """Stop the bot."""
        if self.up is not None:
            self.up.terminate()
            self.up.wait(60)
            if self.up.stdout:
                self.up.stdout.close()
            self.up = None

    def redis(self) -> Redis:
        """Return a client of the bot's Valkey."""
        url = running_url(self.root / "home")
        assert url
        return Redis.from_url(url)

    def pid(self, part: str) -> int:
        """Return the process id of a part: web, reconciler, gate, hands or valkey."""
        assert self.up

        def found() -> int:
            children = children_of(self.up.pid if self.up else 0)
            return next((pid for pid, name in children if name == PARTS[part]), 0)

        return eventually(found, within_s=PRESENT_S, what=f"{part} runs")

    def signal(self, part: str, number: signal.Signals) -> int:
        """Send a signal to a part, and to the pool children of a worker, and return its id."""
        pid = self.pid(part)
        pools = [child for child, _ in children_of(pid)] if part in {"gate", "hands"} else []
        for each in [pid, *pools]:
            with suppress(ProcessLookupError):
                os.kill(each, number)
        return pid

    def processes(self, words: str) -> list[int]:
        """Return the processes of this machine whose command line has these words."""
        found = []
        for each in Path("/proc").iterdir():
            with suppress(OSError):
                if each.name.isdecimal() and words.encode() in (each / "cmdline").read_bytes():
                    found.append(int(each.name))
        return found

    def get(self, path: str) -> Any:
        """Return the JSON of one of the bot's addresses."""
        headers = {"Authorization": f"Bearer {ADMIN}"}
        return requests.get(f"{self.address}{path}", headers=headers, timeout=10).json()

    def post(self, path: str, body: Mapping[str, str]) -> int:
        """Ask something of one of the bot's addresses, as its admin; return the status."""
        headers = {"Authorization": f"Bearer {ADMIN}"}
        url = f"{self.address}{path}"
        return requests.post(url, json=dict(body), headers=headers, timeout=30).status_code

    def queue(self) -> dict[str, Any]:
        """Return the queue, empty while the bot does not answer."""
        with suppress(requests.RequestException, ValueError):
            found: dict[str, Any] = self.get(f"/api/v1/repos/{REPO}/queue")
            return found
        return {}

    def state(self, pr: int) -> str:
        """Return a PR's state, "" while the bot does not know it or does not answer."""
        with suppress(requests.RequestException, ValueError):
            return str(self.get(f"/api/v1/repos/{REPO}/candidates/{pr}").get("state", ""))
        return ""

    def propose(self, name: str, files: Mapping[str, str], label: str = "merge-queue") -> int:
        """Open a PR on the present trunk that writes files, labelled at once; return its number."""
        self.work.start(name)
        self.work.commit(f"Add {name}", dict(files))
        options = ["-o", f"title=Add {name}", "-o", f"branch={name}"]
        options += ["-o", f"label={label}"] if label else []
        self.work.push("-q", "HEAD:refs/for/main", *options)
        found = self.forge.call("GET", f"/repos/{REPO}/pulls?state=all&head=alice:{name}").json()
        return int(found[0]["number"])

    def landing(self, name: str) -> int:
        """Open a labelled PR that adds one file."""
        return self.propose(name, {f"{name}.txt": name})

    def label(self, pr: int, label: str = "merge-queue") -> None:
        """Put a label on a PR, as its author."""
        path = f"/repos/{REPO}/issues/{pr}/labels"
        token = self.forge.user("alice")
        assert self.forge.call("POST", path, {"labels": [label]}, token=token).status_code == 200

    def cancel(self, pr: int) -> None:
        """Take a PR out of the queue by its label, and wait until it is out."""
        path = f"/repos/{REPO}/issues/{pr}/labels/merge-queue"
        self.forge.call("DELETE", path, token=self.forge.user("alice"))
        self.wait(pr, "cancelled")

    def wait(self, pr: int, state: str, within_s: float = 60.0) -> None:
        """Wait until a PR is in a state."""
        what = f"#{pr} is {state}; the log is {self.log}"
        eventually(lambda: self.state(pr) == state, within_s=within_s, what=what)

    def trunk(self) -> list[str]:
        """Return the subjects of the trunk, oldest first."""
        self.work.git("fetch", "-q", "origin", "+main:refs/remotes/origin/main")
        return self.work.git("log", "--format=%s", "--reverse", "origin/main").out.splitlines()

    def landed_once(self, *names: str) -> bool:
        """Tell whether each change is on the trunk exactly once."""
        subjects = self.trunk()
        return all(subjects.count(f"Add {name}") == 1 for name in names)

    def comments(self, pr: int) -> list[str]:
        """Return the bot's comments on a PR."""
        found = self.forge.call("GET", f"/repos/{REPO}/issues/{pr}/comments").json()
        return [each["body"] for each in found if each["user"]["login"] == "queuebot"]

    def receipts(self) -> list[dict[str, Any]]:
        """Return the receipts on git, in the order of the trunk."""
        git = self.work.git
        git("fetch", "-q", "origin", "+main:refs/remotes/origin/main")
        git("fetch", "-q", "origin", "+refs/notes/mergebot:refs/notes/mergebot")
        order = git("rev-list", "--reverse", "origin/main").out.split()
        listed = git("notes", "--ref=mergebot", "list").out.splitlines()
        noted = {line.split()[1]: line.split()[0] for line in listed}
        return [json.loads(git("cat-file", "blob", noted[x]).out) for x in order if x in noted]


def children_of(parent: int) -> list[tuple[int, str]]:
    """Return the child processes of a process, each with the name that the kernel has for it."""
    found = []
    for each in Path("/proc").iterdir():
        if not each.name.isdecimal():
            continue
        with suppress(OSError):
            head, _, rest = (each / "stat").read_text().rpartition(")")
            stat = rest.split()
            if int(stat[1]) == parent and stat[0] != "Z":
                found.append((int(each.name), head.partition("(")[2]))
    return found


Made = TypeVar("Made", bound=Stack)


@contextmanager
def stack(
    root: Path, settings: Mapping[str, str] | None = None, *, rules: str = RULES
) -> Iterator[Stack]:
    """Run the whole product under `root`, with more settings, and leave no process behind."""
    with stack_of(Stack, root, settings, rules=rules) as running:
        yield running


@contextmanager
def stack_of(
    kind: type[Made], root: Path, settings: Mapping[str, str] | None = None, *, rules: str = RULES
) -> Iterator[Made]:
    """Run a stack of some kind under `root`, and leave no process behind."""
    with ForgeProcess(root / "forge") as forge:
        forge.repo(REPO, auto_init=False)
        alice = forge.user("alice")
        forge.user("queuebot")
        path = f"/repos/{REPO}/collaborators/queuebot"
        assert forge.call("PUT", path, {"permission": "admin"}, token=alice).ok
        port = free_port()
        config = {"url": f"http://127.0.0.1:{port}/hooks/github", "content_type": "json"}
        hook = {"name": "web", "active": True, "events": ["*"]}
        hook |= {"config": config | {"secret": SECRET}}
        assert forge.call("POST", f"/repos/{REPO}/hooks", hook, token=alice).ok
        work = _first_commit(forge, root / "work", rules)
        bot = kind(root, forge, work, port, settings or {})
        try:
            bot.start()
            yield bot
        finally:
            forge.call("DELETE", "/_forge/faults")
            bot.stop()


def _first_commit(forge: ForgeProcess, path: Path, rules: str) -> Work:
    path.mkdir()
    work = Work(path, forge.remote(REPO, "alice"))
    work.git("init", "-q", "-b", "main")
    work.git("remote", "add", "origin", work.remote)
    work.commit("Begin", {".mergebot.toml": rules, "test.sh": GATE})
    work.push("-q", "HEAD:refs/heads/main")
    return work
