"""The stage: forge and bot as processes under one temporary home, and nothing left behind."""

import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import click
import requests

from mergebot.adapters.bot_api import Bot
from mergebot.cli.demo.hub import Clone, Hub, Person
from mergebot.cli.demo.sample import INITIAL, Files
from mergebot.cli.supervisor import Interrupted, Part, Supervisor

START_S = 240.0
STOP_S = 30.0
LOG_LINES, LOG_COLUMNS = 15, 500
COMMAND = (sys.executable, "-m", "mergebot")


class StageError(Exception):
    """Something did not start; the text says what, and where its log is."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays: the owner of the repository, an author, two agents, and the bot."""

    grace: Person
    ada: Person
    agent_7: Person
    agent_9: Person
    bot: Person

    def named(self, login: str) -> Person:
        """Return a player by login."""
        players = (self.grace, self.ada, self.agent_7, self.agent_9)
        return next(each for each in players if each.login == login)


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that a play needs: forge, bot, repository, players, and a way to wait."""

    home: Path
    hub: Hub
    bot: Bot
    repo: str
    cast: Cast
    clone: Clone
    wait: Callable[[Callable[[], bool], float], bool]


@dataclass(frozen=True, slots=True)
class Scenery:
    """What a play begins with: the sandbox of its gates, its files, and more of the bot's settings."""

    sandbox: str
    files: Files = field(default_factory=lambda: INITIAL)
    settings: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def set_up(scenery: Scenery) -> Iterator[Stage]:
    """Start forge and bot, and stop and remove them in the end; raises StageError, CannotStart."""
    home = Path(mkdtemp(prefix="mergebot-demo-"))
    try:
        with Supervisor(lambda _: None) as supervisor:
            yield _start(supervisor, home, scenery)
    except Interrupted:
        raise
    except Exception:
        _show_logs(home)
        raise
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _show_logs(home: Path) -> None:
    """Print the end of each log: they are gone with the demo."""
    for log in sorted((home / "log").glob("*.log")):
        click.echo(f"--- the end of {log.name}", err=True)
        lines = log.read_text("utf-8", "replace").splitlines()[-LOG_LINES:]
        click.echo("\n".join(line[:LOG_COLUMNS] for line in lines), err=True)


def _start(supervisor: Supervisor, home: Path, scenery: Scenery) -> Stage:
    logs = home / "log"
    logs.mkdir()
    hub = _start_forge(supervisor, home)
    click.echo("The forge answers; next come a repository with people, and mergebot ...")
    cast = _invite(hub)
    repo = hub.create_repository(cast.grace, "shop")
    for player, role in ((cast.ada, "push"), (cast.agent_7, "push"), (cast.agent_9, "push")):
        hub.allow(repo, cast.grace, player, role)
    hub.allow(repo, cast.grace, cast.bot, "admin")
    clone = Clone(home / "clone", f"{hub.url}/{repo}.git")
    clone.start(cast.grace, scenery.files)
    bot = _start_bot(supervisor, home, hub, cast.bot, repo=repo, scenery=scenery)

    def wait(until: Callable[[], bool], within_s: float) -> bool:
        return supervisor.watch(until=until, within_s=within_s)

    return Stage(home, hub, bot, repo, cast, clone, wait)


def _start_forge(supervisor: Supervisor, home: Path) -> Hub:
    root, log = home / "forge", home / "log" / "forge.log"
    command = (*COMMAND, "forge", "serve", "--root", str(root), "--port", "0")
    supervisor.start(Part("forge", command, rank=1, log=log))
    noted, token = root / "address", root / "admin-token"

    def answers() -> bool:
        return noted.is_file() and token.is_file() and _ok(f"{noted.read_text().strip()}/")

    if not supervisor.watch(until=answers, within_s=START_S):
        raise StageError(f"the forge did not start; its log is {log}")
    return Hub(noted.read_text().strip(), Person("admin", token.read_text().strip()))


def _invite(hub: Hub) -> Cast:
    logins = ("grace", "ada", "agent-7", "agent-9", "mergebot")
    return Cast(*(hub.person(login) for login in logins))


def _start_bot(
    supervisor: Supervisor, home: Path, hub: Hub, account: Person, *, repo: str, scenery: Scenery
) -> Bot:
    port, log = _free_port(), home / "log" / "mergebot.log"
    webhook_secret, admin_token = secrets.token_hex(20), secrets.token_hex(20)
    environment = {
        "MERGEBOT_HOME": str(home / "state"),
        "MERGEBOT_HOST": "127.0.0.1",
        "MERGEBOT_PORT": str(port),
        "MERGEBOT_GITHUB_URL": hub.api,
        "MERGEBOT_GITHUB_TOKEN": account.token,
        "MERGEBOT_REPOS": repo,
        "MERGEBOT_WEBHOOK_SECRET": webhook_secret,
        "MERGEBOT_ADMIN_TOKEN": admin_token,
        "MERGEBOT_SANDBOX": scenery.sandbox,
        **scenery.settings,
    }
    cleared = dict.fromkeys(
        (
            "MERGEBOT_REDIS_URL",
            "MERGEBOT_PUBLIC_URL",
            "MERGEBOT_GITHUB_APP_ID",
            "MERGEBOT_GITHUB_APP_KEY_FILE",
            "MERGEBOT_SIGNING_KEY_FILE",
        ),
        "",
    )
    supervisor.start(
        Part(
            "mergebot",
            (*COMMAND, "up"),
            stop_within_s=STOP_S,
            environment=cleared | environment,
            log=log,
        )
    )
    bot = Bot(f"http://127.0.0.1:{port}", admin_token)
    hub.add_webhook(repo, hub.admin, f"{bot.address}/hooks/github", webhook_secret)
    health = f"{bot.address}/api/v1/repos/{repo}/health"
    if not supervisor.watch(until=lambda: _ok(health), within_s=START_S):
        raise StageError(f"mergebot did not start; its log is {log}")
    return bot


def _ok(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
