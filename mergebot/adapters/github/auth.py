"""Who the bot is: the owner of a token, or a GitHub App that is installed in places.

An App signs a short-lived JWT with its key and trades it for an installation's token, which is
good for an hour, for the API and for git alike. Each opens one repository only. It is replaced five
minutes early, shared with the other processes under lock of the App's key, and the redactor knows it
for as long as it opens anything.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import jwt
from github import Auth

from mergebot.adapters.github.client import Client, Server
from mergebot.adapters.github.errors import Ask, odd_answer
from mergebot.adapters.github.shelf import Safe
from mergebot.ports.errors import Missing

RENEW_EARLY_S = 300.0
"""A token that ends sooner is replaced, so that none ends in the middle of a push."""


class TokenCredentials:
    """A personal access token, which is good for every repository it reaches."""

    is_app = False
    app: Client | None = None

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self, repo: str) -> str:  # noqa: ARG002 - the same for every repository
        """Return the token."""
        return self._token

    def rejected(self, repo: str) -> None:
        """Do nothing: only the operator can replace it."""

    def account_path(self) -> str:
        """Return where the API describes the bot's own account."""
        return "/user"

    def reachable(self) -> Sequence[str]:
        """Return nothing: an account reaches more repositories than want a queue."""
        return ()


@dataclass(frozen=True, slots=True)
class _Lease:
    token: str
    ends_at: float


class _Signer:
    """The App's own voice, for the few routes that take its JWT."""

    def __init__(self, app_id: str, key: str) -> None:
        self._auth = Auth.AppAuth(app_id, key)

    def token(self, repo: str) -> str:  # noqa: ARG002 - an App is one for all repositories
        return self._auth.create_jwt()

    def rejected(self, repo: str) -> None:
        """Do nothing: every request is signed anew."""


class AppCredentials:
    """A GitHub App; safe to share between threads."""

    is_app = True

    def __init__(self, server: Server, *, app_id: str, key_file: Path) -> None:
        """Read the App's key. Raises ValueError when it cannot be read or is no private key."""
        try:
            key = key_file.read_text()
            signer = _Signer(app_id, key or "empty")
            signer.token("")
        except (OSError, ValueError, jwt.PyJWTError):
            raise ValueError(
                f"MERGEBOT_GITHUB_APP_KEY_FILE is {key_file}, which holds no readable private key;"
                " it must be the PEM file that GitHub gave you for the App."
            ) from None
        server.redactor.add(key)
        self._server = server
        self._redactor = server.redactor
        self._client = Client(server, signer)
        self._safe = Safe(server.shelf, key)
        self._app = app_id
        self._guard = threading.Lock()
        self._installations: dict[str, int] = {}
        self._leases: dict[str, _Lease] = {}
        self._replaced: list[_Lease] = []

    def token(self, repo: str) -> str:
        """Return a token for `repo`, or of any installation for ""; raises Missing for none."""
        with self._guard:
            lease = self._leases.get(repo) or self._shared(repo)
            if lease is None or lease.ends_at - RENEW_EARLY_S <= time.time():
                lease = self._renew(repo)
            return lease.token

    @property
    def app(self) -> Client | None:
        """Return what asks as the App itself."""
        return self._client

    def rejected(self, repo: str) -> None:
        """Forget what is kept for `repo`: its token was revoked, or the App installed anew."""
        with self._guard:
            self._installations.pop(repo, None)
            lease = self._leases.pop(repo, None)
            if lease is not None:
                self._replaced.append(lease)
                self._safe.put(self._name(repo), "", 1.0)

    def reachable(self) -> Sequence[str]:
        """Return every repository that the App is installed on, by its present name."""
        ask = Ask("GET", "/app/installations", "find where the App is installed")
        names = []
        for each in self._client.pages(ask):
            if each.get("suspended_at") is None and isinstance(each.get("id"), int):
                names += self._repositories(each["id"])
        return sorted(names)

    def _repositories(self, installation: int) -> list[str]:
        token = TokenCredentials(self._made(installation, {}).token)
        ask = Ask("GET", "/installation/repositories", "list the App's repositories")
        found = Client(self._server, token).pages_of(ask, "repositories")
        return [each["full_name"] for each in found if each.get("archived") is not True]

    def account_path(self) -> str:
        """Return where the API describes the App's bot account."""
        ask = Ask("GET", "/app", "learn the App's name")
        app = self._client.send(ask)
        if not isinstance(app, dict) or not isinstance(app.get("slug"), str):
            raise odd_answer(ask)
        return f"/users/{quote(app['slug'] + '[bot]', safe='')}"

    def _installation(self, repo: str) -> int:
        if repo not in self._installations:
            self._installations[repo] = self._found(repo) if repo else self._any()
        return self._installations[repo]

    def _found(self, repo: str) -> int:
        path = "/".join(quote(part, safe="") for part in repo.split("/"))
        ask = Ask("GET", f"/repos/{path}/installation", f"find the App's installation on {repo}")
        found = self._client.send(ask)
        if not isinstance(found, dict) or not isinstance(found.get("id"), int):
            raise odd_answer(ask)
        return int(found["id"])

    def _any(self) -> int:
        ask = Ask("GET", "/app/installations", "find where the App is installed")
        found = [each["id"] for each in self._client.pages(ask) if isinstance(each.get("id"), int)]
        if not found:
            raise Missing("the App is not installed anywhere yet; install it on a repository.")
        return int(found[0])

    def _renew(self, repo: str) -> _Lease:
        scope = {"repositories": [repo.partition("/")[2]]} if repo else {}
        try:
            lease = self._made(self._installation(repo), scope)
        except Missing:
            self._installations.pop(repo, None)
            raise
        before = self._leases.get(repo)
        if before is not None:
            self._replaced.append(before)
        self._leases[repo] = lease
        good_s = lease.ends_at - RENEW_EARLY_S - time.time()
        self._safe.put(self._name(repo), f"{lease.ends_at} {lease.token}", max(good_s, 1.0))
        self._forget_ended()
        return lease

    def _made(self, installation: int, scope: Mapping[str, object]) -> _Lease:
        path = f"/app/installations/{installation}/access_tokens"
        ask = Ask("POST", path, f"get a token of the installation {installation}", body=scope)
        made = self._client.send(ask)
        try:
            ends_at = datetime.fromisoformat(made["expires_at"]).timestamp()
            lease = _Lease(str(made["token"]), ends_at)
        except (KeyError, TypeError, ValueError) as error:
            raise odd_answer(ask) from error
        self._redactor.add(lease.token)
        return lease

    def _shared(self, repo: str) -> _Lease | None:
        """Return the token that another process got for `repo`."""
        ends_at, _, token = (self._safe.get(self._name(repo)) or "").partition(" ")
        if not token:
            return None
        lease = self._leases[repo] = _Lease(token, float(ends_at))
        self._redactor.add(token)
        return lease

    def _name(self, repo: str) -> str:
        return f"token:{self._app}:{repo.lower()}"

    def _forget_ended(self) -> None:
        now = time.time()
        for old in [each for each in self._replaced if each.ends_at < now]:
            self._redactor.forget(old.token)
            self._replaced.remove(old)
