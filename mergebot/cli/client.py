"""The running bot, asked over its HTTP API."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import click
import requests

from mergebot.settings import Settings, kept_admin_token, load

ANSWER_S = 30.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bot:
    """A running bot at `address`. Every refusal is a ClickException with its one sentence."""

    address: str
    token: str

    def get(self, path: str) -> Json:
        """Return the JSON at an address below /api/v1."""
        return self._send("GET", path, None)

    def post(self, path: str, body: Json) -> Json:
        """Ask for something to be done, and return the answer."""
        if not self.token:
            raise click.ClickException(
                "There is no admin token: set MERGEBOT_ADMIN_TOKEN, or MERGEBOT_HOME to that of the"
                " running bot."
            )
        return self._send("POST", path, body)

    def _send(self, method: str, path: str, body: Json | None) -> Json:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        url = f"{self.address}/api/v1{path}"
        try:
            answer = requests.request(method, url, json=body, headers=headers, timeout=ANSWER_S)
        except requests.RequestException:
            raise click.ClickException(
                f"No mergebot answers at {self.address}; start `mergebot up`, or set"
                " MERGEBOT_PUBLIC_URL."
            ) from None
        return _read(answer, self.address)


def _read(answer: requests.Response, address: str) -> Json:
    try:
        found = answer.json()
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise click.ClickException(f"What answers at {address} is no mergebot.")
    if answer.status_code >= HTTPStatus.BAD_REQUEST:
        raise click.ClickException(str(found.get("error") or f"refused ({answer.status_code})"))
    return cast("Json", found)


def bot() -> Bot:
    """Return the bot that the settings name; the address for people is the one that it answers at."""
    settings = load()
    return Bot(settings.pages, kept_admin_token(settings))


def repository(given: str, running: Bot, settings: Settings | None = None) -> str:
    """Return the repository meant: the given one, the only one of the settings, or of the bot."""
    if given:
        if given.count("/") != 1 or not all(given.split("/")):
            raise click.UsageError(f"--repo is {given!r}; it must be owner/name.")
        return given
    known = list((settings or load()).repos)
    if len(known) != 1:
        known = [str(lane["repo"]) for lane in running.get("/repos")["lanes"]]
    if len(known) == 1:
        return known[0]
    if not known:
        raise click.ClickException("The bot serves no repository yet.")
    raise click.UsageError(f"name one with --repo: {', '.join(sorted(known))}")


def of(repo: str, *rest: object) -> str:
    """Return the path of something of a repository."""
    return "/repos/" + "/".join(quote(str(each), safe="/") for each in (repo, *rest))
