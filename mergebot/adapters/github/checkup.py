"""How a repository on GitHub is set up for the bot: its webhooks, its labels, what it was given."""

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

from mergebot.adapters.github import values
from mergebot.adapters.github.client import Client
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.paths import at
from mergebot.domain.setup import PERMISSIONS
from mergebot.ports.checkup import Failure, Lack, Webhook
from mergebot.ports.errors import Refused

DELIVERIES_SHOWN = 100
"""One page: an hour or a day of a busy repository, and what a doctor may ask for again."""

ARRIVED = range(200, 300)
LEVELS = ("read", "write", "admin")
USEFUL = frozenset({"administration"})
SCOPES = {"repo": "needed", "workflow": "useful"}
_BUTTONS = {
    "allow_merge_commit": "merge",
    "allow_squash_merge": "squash",
    "allow_rebase_merge": "rebase",
    "allow_auto_merge": "auto-merge",
}


class GithubCheckup:
    """Keeps the port Checkup; its errors are those of the client.

    `app` speaks as the App itself, None where the bot is an account with a token.
    """

    def __init__(self, client: Client, app: Client | None) -> None:
        self._client = client
        self._app = app

    @property
    def by_app(self) -> bool:
        """Whether the bot is an App: it holds grants, and no role of a collaborator."""
        return self._app is not None

    def clock_ahead_s(self) -> float:
        """Return by how many seconds this host's clock is ahead of the forge's; below 0: behind."""
        ask = Ask("GET", "/rate_limit", "read the forge's clock")
        before = time.time()
        headers = self._client.headers(ask)
        with values.reading(ask):
            forge = parsedate_to_datetime(headers["date"]).timestamp()
        # The header has whole seconds, and the answer took a while.
        return (before + time.time()) / 2 - (forge + 0.5)

    def lack(self, repo: str) -> Lack:
        """Return what the bot may not do in a repository, as far as the forge tells."""
        return self._app_lacks(self._app, repo) if self._app else self._token_lacks()

    def _app_lacks(self, app: Client, repo: str) -> Lack:
        ask = Ask("GET", at(repo, "installation"), f"read what the App may do in {repo}", repo)
        with values.reading(ask):
            given = app.send(ask)["permissions"]
            short = [name for name in PERMISSIONS if _level(given.get(name)) < _wanted(name)]
        named = [f"{name}: {PERMISSIONS[name]}" for name in short if name not in USEFUL]
        return Lack(tuple(named), tuple(f"{name}: read" for name in short if name in USEFUL))

    def _token_lacks(self) -> Lack:
        """Return the scopes that a classic token lacks; of a fine-grained one nobody can tell."""
        headers = self._client.headers(Ask("GET", "/user", "read what the token may do"))
        told = headers.get("x-oauth-scopes")
        if told is None:
            return Lack()
        given = {each.strip() for each in told.split(",")}
        short = {
            how: tuple(name for name, need in SCOPES.items() if need == how and name not in given)
            for how in ("needed", "useful")
        }
        return Lack(short["needed"], short["useful"])

    def webhooks(self, repo: str) -> Sequence[Webhook]:
        """Return the webhooks that tell of a repository, with what they failed to deliver."""
        if self._app is not None:
            return [self._webhook_of_app(self._app)]
        ask = Ask("GET", at(repo, "hooks"), f"list the webhooks of {repo}", repo)
        with values.reading(ask):
            return [self._webhook(repo, each) for each in self._client.pages(ask)]

    def _webhook(self, repo: str, hook: Mapping[str, Any]) -> Webhook:
        config = hook["config"]
        path = at(repo, "hooks", hook["id"], "deliveries")
        aim = f"list the deliveries of a webhook of {repo}"
        return Webhook(
            id=hook["id"],
            url=str(config.get("url", "")),
            active=bool(hook["active"]),
            events=tuple(hook["events"]),
            failures=_failures(self._client, Ask("GET", path, aim, repo, _ONE_PAGE)),
        )

    def _webhook_of_app(self, app: Client) -> Webhook:
        asked = Ask("GET", "/app/hook/config", "read the App's webhook")
        about = Ask("GET", "/app", "read the App's events")
        listed = Ask("GET", "/app/hook/deliveries", "list the App's deliveries", "", _ONE_PAGE)
        with values.reading(asked):
            url = str(app.send(asked).get("url", ""))
        with values.reading(about):
            events = tuple(app.send(about)["events"])
        return Webhook(0, url, active=True, events=events, failures=_failures(app, listed))

    def redeliver(self, repo: str, webhook: Webhook, failure: Failure) -> None:
        """Ask the forge to deliver something again, under the same id."""
        aim = f"have a delivery of {failure.event} sent again"
        if self._app is not None and not webhook.id:
            path = f"/app/hook/deliveries/{failure.id:d}/attempts"
            self._app.send(Ask("POST", path, aim))
            return
        path = at(repo, "hooks", webhook.id, "deliveries", failure.id, "attempts")
        self._client.send(Ask("POST", path, aim, repo))

    def labels(self, repo: str) -> Sequence[str]:
        """Return the names of the labels that a repository has."""
        ask = Ask("GET", at(repo, "labels"), f"list the labels of {repo}", repo)
        with values.reading(ask):
            return [str(each["name"]) for each in self._client.pages(ask)]

    def buttons(self, repo: str) -> Sequence[str]:
        """Return the forge's own ways to merge a PR there that are switched on."""
        ask = Ask("GET", at(repo), f"read the settings of {repo}", repo)
        with values.reading(ask):
            shown = self._client.send(ask)
            return [word for key, word in _BUTTONS.items() if shown.get(key) is True]

    def signing_keys(self, login: str) -> Sequence[str]:
        """Return the public keys by which an account signs commits; raises Missing for nobody."""
        path = f"/users/{quote(login, safe='')}/ssh_signing_keys"
        ask = Ask("GET", path, f"list the signing keys of {login}")
        with values.reading(ask):
            return [" ".join(str(each["key"]).split()[:2]) for each in self._client.pages(ask)]


_ONE_PAGE: Mapping[str, str | int] = {"per_page": DELIVERIES_SHOWN}


def _failures(client: Client, ask: Ask) -> tuple[Failure, ...]:
    """Return what did not arrive at any try, newest first; nothing where nobody may look."""
    try:
        with values.reading(ask):
            found = client.send(ask)
            tried = [each for each in found if each["status_code"]]
            waiting = {each["guid"] for each in found if not each["status_code"]}
            arrived = {each["guid"] for each in tried if each["status_code"] in ARRIVED}
            newest = {each["guid"]: each for each in reversed(tried)}
            lost = [each for guid, each in newest.items() if guid not in arrived | waiting]
            return tuple(
                Failure(int(each["id"]), str(each["event"]), str(each["status"]))
                for each in sorted(lost, key=lambda each: -int(each["id"]))
            )
    except Refused:
        return ()


def _level(given: object) -> int:
    return LEVELS.index(given) if given in LEVELS else -1


def _wanted(name: str) -> int:
    return LEVELS.index(PERMISSIONS[name])
