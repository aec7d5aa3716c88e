"""The settings: every environment variable that mergebot reads, checked all at once.

A process asks for what it needs (`load(Need.SERVE)`), and either gets settings that fit together
or learns everything that is wrong in one go: the variable, what it holds, what is allowed. What a
secret holds is never shown.
"""

import os
import re
import secrets
from collections.abc import Iterator
from enum import Flag, auto
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from mergebot.domain.limits import WRITES_PER_MINUTE
from mergebot.domain.story import EVENTS, QUIET

PREFIX = "MERGEBOT_"
GITHUB_API = "https://api.github.com"

_REPO = re.compile(r"[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}")
_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~\[\]-]+@[A-Za-z0-9.-]+")
_HANDLE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")

ALLOWED = {
    "github_url": "an address that starts with https:// or http://",
    "github_app_id": "the App's number",
    "github_app_key_file": "a readable file that holds the App's private key",
    "repos": "owner/name, several separated by commas",
    "redis_url": "an address that starts with redis://, rediss:// or unix://",
    "port": "a whole number from 1 to 65535",
    "public_url": "an address that starts with https:// or http://",
    "workers": "a whole number from 1 to 256",
    "reconcile_seconds": "a number of seconds from 1 to 3600",
    "sandbox": "bubblewrap, podman, docker or none",
    "signing_key_file": "a readable file",
    "commit_key_file": "a readable file",
    "commit_email": "an e-mail address",
    "handle": "letters, digits and dashes, 39 at most",
    "notify_chat_url": "an address that starts with https:// or http://",
    "notify_url": "an address that starts with https:// or http://",
    "notify_events": f"some of {', '.join(EVENTS)}, separated by commas",
}
_SECRET = {
    *("github_token", "webhook_secret", "admin_token", "agent_token", "oauth_client_secret"),
    *("notify_chat_url", "notify_url", "notify_secret"),
}


class SettingsFaults(Exception):
    """The settings cannot be used; `faults` has one sentence for each thing that is wrong."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


class Need(Flag):
    """What a process cannot do without."""

    NOTHING = 0
    FORGE = auto()
    WEBHOOKS = auto()
    REDIS = auto()


def default_home() -> Path:
    """Return where state lies unless MERGEBOT_HOME says otherwise."""
    base = os.environ.get("XDG_STATE_HOME", "")
    return Path(base or Path.home() / ".local" / "state") / "mergebot"


class Settings(BaseSettings):
    """The environment, parsed; DESIGN.md section 7 gives each name its meaning."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True
    )

    github_url: str = GITHUB_API
    github_token: SecretStr = SecretStr("")
    github_app_id: int | None = Field(default=None, ge=1)
    github_app_key_file: Path | None = None
    webhook_secret: SecretStr = SecretStr("")
    repos: Annotated[tuple[str, ...], NoDecode] = ()
    redis_url: str = ""
    home: Path = Field(default_factory=default_home)
    host: str = "127.0.0.1"
    port: int = Field(default=8420, ge=1, le=65535)
    public_url: str = ""
    admin_token: SecretStr = SecretStr("")
    agent_token: SecretStr = SecretStr("")
    oauth_client_id: str = ""
    oauth_client_secret: SecretStr = SecretStr("")
    workers: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, le=256)
    reconcile_seconds: float = Field(default=30.0, ge=1, le=3600)
    sandbox: Literal["bubblewrap", "podman", "docker", "none"] = "bubblewrap"
    signing_key_file: Path | None = None
    commit_key_file: Path | None = None
    commit_email: str = ""
    handle: str = "mergebot"
    notify_chat_url: SecretStr = SecretStr("")
    notify_url: SecretStr = SecretStr("")
    notify_secret: SecretStr = SecretStr("")
    notify_events: Annotated[tuple[str, ...], NoDecode] = QUIET

    @field_validator("repos", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = tuple(each.strip() for each in value.split(",") if each.strip())
        if not all(map(_REPO.fullmatch, names)):
            raise ValueError(ALLOWED["repos"])
        return names

    @field_validator("github_url", "public_url")
    @classmethod
    def _address(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in {"http", "https"} or not parts.hostname):
            raise ValueError(ALLOWED["public_url"])
        return value.rstrip("/")

    @field_validator("notify_chat_url", "notify_url")
    @classmethod
    def _receiver(cls, value: SecretStr) -> SecretStr:
        cls._address(value.get_secret_value())
        return value

    @field_validator("notify_events", mode="before")
    @classmethod
    def _events(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        names = tuple(each.strip() for each in value.split(",") if each.strip())
        if not set(names) <= set(EVENTS):
            raise ValueError(ALLOWED["notify_events"])
        return names

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: str) -> str:
        if value and urlsplit(value).scheme not in {"redis", "rediss", "unix"}:
            raise ValueError(ALLOWED["redis_url"])
        return value

    @field_validator("github_app_key_file", "signing_key_file", "commit_key_file")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        if value is not None and not (value.is_file() and os.access(value, os.R_OK)):
            raise ValueError(ALLOWED["signing_key_file"])
        return value

    @field_validator("commit_email")
    @classmethod
    def _email(cls, value: str) -> str:
        if value and not _EMAIL.fullmatch(value):
            raise ValueError(ALLOWED["commit_email"])
        return value

    @field_validator("handle")
    @classmethod
    def _login(cls, value: str) -> str:
        if not _HANDLE.fullmatch(value):
            raise ValueError(ALLOWED["handle"])
        return value

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().absolute()

    @property
    def signing_key(self) -> Path:
        """Return where the key lies: the given file, else one that is made once under HOME."""
        return self.signing_key_file or self.home / "signing-key.pem"

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """Return every secret that a delivery may be signed with, the newest first."""
        given = self.webhook_secret.get_secret_value().split(",")
        return tuple(each.strip() for each in given if each.strip())

    @property
    def address(self) -> str:
        """Return where this host's own web process answers."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  # compared, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def writes_per_minute(self) -> int:
        """Return how much one account may write on the forge within a minute, 0 for any number.

        Enterprise Server has no rate limits unless its administrator turns them on (GitHub's
        documentation, "Configuring rate limits"), and a forge that has some says so in its answers.
        """
        host = urlsplit(self.github_url).hostname or ""
        hosted = host == urlsplit(GITHUB_API).hostname or host.endswith(".ghe.com")
        return WRITES_PER_MINUTE if hosted else 0

    @property
    def pages(self) -> str:
        """Return the address under which people reach the pages."""
        return self.public_url or self.address

    @property
    def redis(self) -> str:
        """Return the address of Redis: the given one, else that of the embedded server, or ""."""
        noted = self.home / "valkey" / "socket"
        if self.redis_url or not noted.is_file():
            return self.redis_url
        return f"unix://{quote(noted.read_text())}"


def load(need: Need = Need.NOTHING) -> Settings:
    """Read the environment; raises SettingsFaults with everything that is wrong with it."""
    faults: list[str] = []
    broken: set[str] = set()
    try:
        settings = Settings()
    except ValidationError as error:
        faults += _sentences(error)
        broken = {str(fault["loc"][0]) for fault in error.errors()}
        # What is left is judged as well, so that one round of corrections is enough.
        settings = Settings(**{name: _default(name) for name in broken})
    faults += [each for each in _conflicts(settings, need) if not _mentions(each, broken)]
    if faults:
        raise SettingsFaults(tuple(faults))
    return settings


def _default(name: str) -> Any:
    return Settings.model_fields[name].get_default(call_default_factory=True, validated_data={})


def _mentions(sentence: str, names: set[str]) -> bool:
    return any(f"{PREFIX}{name.upper()}" in sentence for name in names)


def _sentences(error: ValidationError) -> Iterator[str]:
    for fault in error.errors():
        name = str(fault["loc"][0])
        allowed = ALLOWED.get(name, str(fault["msg"]))
        found = "" if name in _SECRET else f" is {str(fault['input'])[:200]!r}"
        yield f"{PREFIX}{name.upper()}{found}; allowed is {allowed}."


def _conflicts(settings: Settings, need: Need) -> Iterator[str]:
    if bool(settings.oauth_client_id) != bool(settings.oauth_client_secret.get_secret_value()):
        yield (
            "MERGEBOT_OAUTH_CLIENT_ID and MERGEBOT_OAUTH_CLIENT_SECRET belong together; set both"
            " or none."
        )
    if bool(settings.notify_url.get_secret_value()) != bool(
        settings.notify_secret.get_secret_value()
    ):
        yield (
            "MERGEBOT_NOTIFY_URL and MERGEBOT_NOTIFY_SECRET belong together: without the secret"
            " the receiver could not tell who speaks; set both or none."
        )
    if bool(settings.commit_key_file) != bool(settings.commit_email):
        yield (
            "MERGEBOT_COMMIT_KEY_FILE and MERGEBOT_COMMIT_EMAIL belong together: a forge verifies a"
            " signature by an address of the account that knows the key; set both or none."
        )
    if Need.FORGE in need:
        yield from _credentials(settings)
        if not settings.repos and settings.github_app_id is None:
            yield "MERGEBOT_REPOS is not set; name the repositories to serve, as owner/name."
    if Need.WEBHOOKS in need and not settings.webhook_secrets:
        yield (
            "MERGEBOT_WEBHOOK_SECRET is not set; without it anybody could send events. Use the one"
            " that the webhook was given."
        )
    if Need.REDIS in need and not settings.redis:
        yield (
            "MERGEBOT_REDIS_URL is not set, and no `mergebot up` runs its own server under"
            f" {settings.home}; set it to the Redis that all parts share."
        )


def _credentials(settings: Settings) -> Iterator[str]:
    token = bool(settings.github_token.get_secret_value())
    app, key = settings.github_app_id is not None, settings.github_app_key_file is not None
    if token and (app or key):
        yield (
            "MERGEBOT_GITHUB_TOKEN and MERGEBOT_GITHUB_APP_ID or MERGEBOT_GITHUB_APP_KEY_FILE are"
            " both set; use the token or the App, not both."
        )
    elif app != key:
        missing = "MERGEBOT_GITHUB_APP_KEY_FILE" if app else "MERGEBOT_GITHUB_APP_ID"
        yield f"{missing} is not set; an App needs its id and its key file."
    elif not token and not app:
        yield (
            "MERGEBOT_GITHUB_TOKEN is not set; give a token, or an App by MERGEBOT_GITHUB_APP_ID"
            " and MERGEBOT_GITHUB_APP_KEY_FILE."
        )


def admin_token(settings: Settings) -> str:
    """Return the token that opens everything: the given one, else one that is made once.

    The made one lies in HOME/admin-token, for this user's eyes only.
    """
    return kept_admin_token(settings) or _make_token(settings.home / "admin-token")


def kept_admin_token(settings: Settings) -> str:
    """Return the given or the kept admin token, "" where there is none yet."""
    given = settings.admin_token.get_secret_value()
    path = settings.home / "admin-token"
    return given or (path.read_text("utf-8").strip() if path.is_file() else "")


def asking_token(settings: Settings) -> str:
    """Return what a command shows the bot: an agent's own forge token, else the admin token."""
    return settings.agent_token.get_secret_value() or kept_admin_token(settings)


def _make_token(path: Path) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = secrets.token_hex(24)
    written = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{token}\n")
    try:
        # Linking fails where another process was first; then its token is everybody's.
        path.hardlink_to(written)
    except FileExistsError:
        return path.read_text("utf-8").strip()
    finally:
        written.unlink()
    return token
