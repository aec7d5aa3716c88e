"""The whole product as processes of its own: a local forge, and bots beside it."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

import requests

from mergebot.adapters.processes import die_with_parent
from mergebot.cli.demo.hub import Hub, Person

COMMAND = (sys.executable, "-m", "mergebot")
START_S = 120.0
STOP_S = 30.0


class NeverCame(Exception):
    """What was waited for did not happen."""


def wait(until: Callable[[], bool], what: str, *, within_s: float, every_s: float = 0.02) -> None:
    """Wait until something is true; raises NeverCame."""
    deadline = monotonic() + within_s
    while not until():
        if monotonic() > deadline:
            raise NeverCame(f"{what} did not happen within {within_s:.0f} s")
        sleep(every_s)


@dataclass(frozen=True, slots=True)
class Bot:
    """A running `mergebot up`, seen from outside."""

    address: str
    home: Path
    secret: str
    account: Person
    log: Path

    def get(self, path: str) -> Any:
        """Return the JSON of an API route."""
        answer = requests.get(f"{self.address}/api/v1{path}", timeout=30)
        answer.raise_for_status()
        return answer.json()

    def ready(self, repo: str) -> bool:
        """Tell whether the repository's trunk is known green here."""
        try:
            return bool(self.get(f"/repos/{repo}/queue")["trunk"]["health"] == "green")
        except requests.RequestException:
            return False

    def empty(self, repo: str) -> bool:
        """Tell whether nothing is queued."""
        return not self.get(f"/repos/{repo}/queue")["entries"]


@dataclass(frozen=True, slots=True)
class Stack:
    """A forge and everything that was started beside it."""

    home: Path
    hub: Hub
    owner: Person
    _rooms: ExitStack
    _made: list[Bot] = field(default_factory=list)

    def bare(self, repo: str) -> Path:
        """Return where the forge keeps a repository, to read its refs without asking anybody."""
        number = self.hub.ask(self.owner, "GET", f"/repos/{repo}")["id"]
        return self.home / "forge" / "repositories" / f"{number}.git"

    def requests_of(self, account: Person) -> int:
        """Return how many API requests the forge has counted for an account."""
        return int(self.hub.ask(account, "GET", "/rate_limit")["rate"]["used"])

    def bot(self, repos: Sequence[str], *, workers: int) -> Bot:
        """Start `mergebot up` for some repositories and wait until their trunks are green."""
        name = f"bot-{len(self._made) + 1}"
        bot = Bot(
            address=f"http://127.0.0.1:{free_port()}",
            home=self.home / name,
            secret=secrets.token_hex(20),
            account=self.hub.person(name),
            log=self.home / f"{name}.log",
        )
        for repo in repos:
            self.hub.allow(repo, self.owner, bot.account, "admin")
            self.hub.add_webhook(repo, self.owner, f"{bot.address}/hooks/github", bot.secret)
        self._made.append(bot)
        self._rooms.enter_context(running("up", settings=_settings(self.hub, bot, repos, workers)))
        try:
            wait(lambda: all(map(bot.ready, repos)), "a green trunk everywhere", within_s=START_S)
        except NeverCame as error:
            raise NeverCame(f"{error}; the bot said:\n{bot.log.read_text()[-2000:]}") from None
        return bot


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def stack() -> Iterator[Stack]:
    """Run a forge under a temporary home; everything is stopped and removed in the end."""
    home = Path(mkdtemp(prefix="mergebot-bench-"))
    with ExitStack() as rooms:
        rooms.callback(shutil.rmtree, home, ignore_errors=True)
        root = home / "forge"
        log = home / "forge.log"
        command = ("forge", "serve", "--root", str(root), "--port", "0")
        rooms.enter_context(running(*command, settings=Setting({}, log)))
        address, token = root / "address", root / "admin-token"
        wait(lambda: address.is_file() and token.is_file(), "the forge's start", within_s=START_S)
        url = address.read_text().strip()
        wait(lambda: answers(url), "the forge's answer", within_s=START_S)
        hub = Hub(url, Person("admin", token.read_text().strip()))
        yield Stack(home, hub, hub.person("grace"), rooms)


def answers(url: str) -> bool:
    """Tell whether anything answers there."""
    with suppress(requests.RequestException):
        return requests.get(url, timeout=5).ok
    return False


@dataclass(frozen=True, slots=True)
class Setting:
    """A process's own environment and its log."""

    environment: Mapping[str, str]
    log: Path


def _settings(hub: Hub, bot: Bot, repos: Sequence[str], workers: int) -> Setting:
    environment = {
        "MERGEBOT_HOME": str(bot.home),
        "MERGEBOT_PORT": bot.address.rpartition(":")[2],
        "MERGEBOT_GITHUB_URL": hub.api,
        "MERGEBOT_GITHUB_TOKEN": bot.account.token,
        "MERGEBOT_REPOS": ",".join(repos),
        "MERGEBOT_WEBHOOK_SECRET": bot.secret,
        "MERGEBOT_WORKERS": str(workers),
    }
    return Setting(environment, bot.log)


@contextmanager
def running(*arguments: str, settings: Setting) -> Iterator[subprocess.Popen[bytes]]:
    """Run the installed command as a process of its own; stop it in the end."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MERGEBOT_")}
    with settings.log.open("ab") as log:
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            env=inherited | dict(settings.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: die_with_parent(signal.SIGTERM),  # noqa: PLW1509  # no other thread runs here
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
