"""What a process works with: every port with its adapter behind it.

Doors ask for what they need (`desk` for workers and the reconciler, `reception` for the web) and
know nothing of Redis, GitHub, git or the sandbox. Nothing is contacted while it is put together.
"""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from redis import Redis

from mergebot.adapters.caches import DirectoryCaches
from mergebot.adapters.celery_app import make_app
from mergebot.adapters.celery_bell import CeleryBell
from mergebot.adapters.clock import RandomTokens, SystemClock
from mergebot.adapters.commit_key import open_commit_key
from mergebot.adapters.cores import usable_cores
from mergebot.adapters.git.committer import UNSIGNED, Committer
from mergebot.adapters.git.mirrors import GitMirrors
from mergebot.adapters.github import webhook
from mergebot.adapters.github.auth import AppCredentials, TokenCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.forge import BotCredentials, GithubForge
from mergebot.adapters.github.oauth import OAuthSignIn
from mergebot.adapters.heralds import ChatHerald, SignedHerald
from mergebot.adapters.jinja import HtmlPages, MarkdownLetters
from mergebot.adapters.policy_toml import TomlRules
from mergebot.adapters.pulse import RedisPulse
from mergebot.adapters.redact import Redactor
from mergebot.adapters.redis.connect import connect
from mergebot.adapters.redis.events import RedisEvents
from mergebot.adapters.redis.inbox import RedisInbox
from mergebot.adapters.redis.leases import RedisLeases
from mergebot.adapters.redis.ledger import RedisLedger
from mergebot.adapters.redis.logs import RedisLogs
from mergebot.adapters.redis.runs import RedisRuns
from mergebot.adapters.redis.shelf import RedisShelf
from mergebot.adapters.redis.store import RedisStore
from mergebot.adapters.sealed_inbox import SealedInbox
from mergebot.adapters.signing import KeyNotary, make_key, open_notary
from mergebot.adapters.workspaces import DirectoryWorkspaces
from mergebot.domain.ids import Lane
from mergebot.domain.pulls import Repository
from mergebot.observability import configure_service
from mergebot.ports.changes import Changes
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.ports.herald import Herald
from mergebot.ports.letters import Letters
from mergebot.ports.operator import Operator
from mergebot.ports.people import SignIn
from mergebot.ports.sandbox import Workspaces
from mergebot.services.announcing import Announcer
from mergebot.services.gatekeeper import Gatekeeper
from mergebot.services.operating import Operating
from mergebot.services.parts import Parts
from mergebot.services.repositories import PRIVATE_S, repository_of
from mergebot.settings import Settings, kept_admin_token
from mergebot.wiring.gates import sandbox


@dataclass(frozen=True, slots=True)
class Desk:
    """What one process works with: the ports, and the bell it answers."""

    parts: Parts
    bell: CeleryBell
    pulse: RedisPulse
    gatekeeper: Gatekeeper
    workspaces: Workspaces


@dataclass(frozen=True, slots=True)
class Reception:
    """What the web door works with beyond the ports of its desk."""

    desk: Desk
    operator: Operator
    pages: Letters
    changes: Changes
    verify: Callable[[bytes, str], bool]
    private: Callable[[Lane], bool]
    sign_in: SignIn | None


def worker_name() -> str:
    """Return what this process is called on pages and in receipts."""
    return f"{socket.gethostname()}-{os.getpid()}"


def redactor_for(settings: Settings) -> Redactor:
    """Return a redactor that knows every secret of the settings, and what their files hold."""
    redactor = Redactor()
    given = (
        *(settings.github_token, settings.oauth_client_secret),
        *(settings.notify_chat_url, settings.notify_url, settings.notify_secret),
    )
    secrets = [each.get_secret_value() for each in given]
    secrets += [kept_admin_token(settings), *settings.webhook_secrets]
    secrets.append(unquote(urlsplit(settings.redis_url).password or ""))
    for file in (settings.signing_key, settings.github_app_key_file, settings.commit_key_file):
        if file is not None and file.is_file():
            secrets.append(file.read_text("utf-8", "replace"))
    for secret in secrets:
        redactor.add(secret)
    return redactor


def notary(settings: Settings) -> KeyNotary:
    """Return the holder of this installation's key, made on first use; raises Refused."""
    if settings.signing_key_file is None:
        make_key(settings.signing_key)
    return open_notary(settings.signing_key)


def start_logging(settings: Settings) -> None:
    """Log JSON lines, every secret of the settings hidden."""
    configure_service(redactor_for(settings).text)


def desk(settings: Settings) -> Desk:
    """Put together what a worker or the reconciler works with; raises Refused."""
    redactor = redactor_for(settings)
    client = connect(settings.redis)
    bell = CeleryBell(make_app(settings.redis), client)
    parts = _parts(settings, client, bell, redactor)
    workspaces = DirectoryWorkspaces(settings.home / "gates")
    gatekeeper = Gatekeeper(
        runs=parts.runs,
        logs=parts.logs,
        sandbox=sandbox(settings.sandbox),
        workspaces=workspaces,
        caches=DirectoryCaches(settings.home / "caches"),
        clock=parts.clock,
        redaction=redactor,
        seals=parts.notary,
        worker=worker_name(),
        cores=usable_cores(),
    )
    return Desk(parts, bell, RedisPulse(client), gatekeeper, workspaces)


def announcer(settings: Settings, parts: Parts) -> Announcer | None:
    """Return what tells receivers of notifications, None where there are none."""
    chat, url, secret = (
        each.get_secret_value()
        for each in (settings.notify_chat_url, settings.notify_url, settings.notify_secret)
    )
    heralds: dict[str, Herald] = {}
    if chat:
        heralds["chat"] = ChatHerald(chat, settings.pages)
    if url:
        heralds["signed"] = SignedHerald(url, secret, settings.pages)
    if not heralds:
        return None
    return Announcer(parts, RedisShelf(connect(settings.redis)), heralds, settings.notify_events)


def reception(settings: Settings) -> Reception:
    """Put together what the web door works with; raises Refused."""
    made = desk(settings)
    parts = made.parts
    return Reception(
        desk=made,
        operator=Operating(parts),
        pages=HtmlPages(),
        changes=RedisEvents(connect(settings.redis)),
        verify=partial(_signed, settings.webhook_secrets),
        private=partial(_private, parts),
        sign_in=_sign_in(settings),
    )


def _parts(settings: Settings, client: Redis, bell: CeleryBell, redactor: Redactor) -> Parts:
    clock = SystemClock()
    signer = notary(settings)
    server = Server(redactor, settings.github_url, shelf=RedisShelf(client))
    credentials = credentials_of(settings, server)
    return Parts(
        clock=clock,
        tokens=RandomTokens(),
        forge=GithubForge(server, credentials),
        mirrors=_Mirrors(settings.home / "mirrors", credentials, committer_of(settings)),
        store=RedisStore(client, clock, writes_per_minute=settings.writes_per_minute),
        runs=RedisRuns(client),
        logs=RedisLogs(client),
        inbox=SealedInbox(RedisInbox(client), signer),
        leases=RedisLeases(client, clock),
        ledger=RedisLedger(client),
        doorbell=bell,
        letters=MarkdownLetters(),
        notary=signer,
        rules=TomlRules(),
        read_news=webhook.parse,
        public_url=settings.pages,
        handle=settings.handle,
        repos=settings.repos,
        signs_commits=settings.commit_key_file is not None,
    )


def committer_of(settings: Settings) -> Committer:
    """Return who makes the bot's own commits; raises Refused for a key that cannot be used."""
    if settings.commit_key_file is None:
        return UNSIGNED
    return Committer(settings.commit_email, open_commit_key(settings.commit_key_file))


def credentials_of(settings: Settings, server: Server) -> BotCredentials:
    """Return who the bot is on the forge; raises Refused for a key that cannot be read."""
    app, key = settings.github_app_id, settings.github_app_key_file
    if app is None or key is None:
        return TokenCredentials(settings.github_token.get_secret_value())
    try:
        return AppCredentials(server, app_id=str(app), key_file=key)
    except ValueError as error:
        raise Refused(str(error)) from None


@dataclass(frozen=True, slots=True)
class _Mirrors:
    """The mirrors of this host; each offers the forge the token that is good for its repository."""

    root: Path
    credentials: BotCredentials
    committer: Committer

    def of(self, repository: Repository) -> Git:
        """Return the repository's git; the same mirror each time."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = partial(self.credentials.token, repository.full_name)
        return GitMirrors(self.root, token, committer=self.committer).of(repository)


def _sign_in(settings: Settings) -> OAuthSignIn | None:
    secret = settings.oauth_client_secret.get_secret_value()
    if not settings.oauth_client_id:
        return None
    return OAuthSignIn(forge_pages(settings.github_url), settings.oauth_client_id, secret)


def forge_pages(api: str) -> str:
    """Return where people read what the API at `api` serves to programs."""
    if api == "https://api.github.com":
        return "https://github.com"
    return api.removesuffix("/api/v3")


def _signed(secrets: tuple[str, ...], body: bytes, signature: str) -> bool:
    return webhook.verify(body, signature, secrets)


def _private(parts: Parts, lane: Lane) -> bool:
    """Tell whether a repository is private; one that nobody can tell about counts as private."""
    try:
        return repository_of(parts, lane.repo, keep_s=PRIVATE_S).private
    except (Unavailable, Refused):
        return True
