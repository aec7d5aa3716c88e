"""The running bot, asked over its HTTP API by commands and by agents' tools."""

import json
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from secrets import token_urlsafe
from typing import Any, cast
from urllib.parse import quote

import requests

from mergebot.ports.errors import Refused, Unavailable

ANSWER_S = 30.0
ASKED_AGAIN = 2
Json = dict[str, Any]


class _Answer(Json):
    """A JSON object of the bot; raises Refused for a field that a mergebot would have given."""

    def __missing__(self, name: str) -> Any:
        raise Refused(
            f"What answers is no mergebot, or one of another version: it says no {name!r}."
        )


class Declined(Refused):
    """The bot said no, in one sentence; `answer` is all that it said."""

    def __init__(self, sentence: str, answer: Json) -> None:
        super().__init__(sentence)
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Bot:
    """A running bot at `address`. Every refusal is a Refused, silence is an Unavailable."""

    address: str
    token: str

    def get(self, path: str) -> Json:
        """Return the JSON at an address below /api/v1."""
        return self._send("GET", path, None)

    def post(self, path: str, body: Json) -> Json:
        """Ask for something to be done, and return the answer."""
        if not self.token:
            raise Refused(
                "There is no admin token: set MERGEBOT_ADMIN_TOKEN, or MERGEBOT_HOME to that of the"
                " running bot, or MERGEBOT_AGENT_TOKEN to a token of the forge."
            )
        return self._send("POST", path, body)

    def post_once(self, path: str, body: Json) -> Json:
        """Ask for a claim, again where no answer came: a secret of its own makes it the same one."""
        body = {**body, "session": token_urlsafe(32)}
        for _ in range(ASKED_AGAIN):
            with suppress(Unavailable):
                return self.post(path, body)
        return self.post(path, body)

    def _send(self, method: str, path: str, body: Json | None) -> Json:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        url = f"{self.address}/api/v1{path}"
        try:
            answer = requests.request(method, url, json=body, headers=headers, timeout=ANSWER_S)
        except requests.exceptions.InvalidJSONError:
            raise Refused("A number that is none, such as NaN, cannot be sent.") from None
        except requests.RequestException:
            raise Unavailable(
                f"No mergebot answers at {self.address}; start `mergebot up`, or set"
                " MERGEBOT_PUBLIC_URL."
            ) from None
        return _read(answer, self.address)


def of(repo: str, *rest: object) -> str:
    """Return the path of something of a repository."""
    return "/repos/" + "/".join(quote(str(each), safe="/") for each in (repo, *rest))


def _read(answer: requests.Response, address: str) -> Json:
    try:
        found = answer.json(object_hook=_Answer)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise Refused(f"What answers at {address} is no mergebot.")
    if answer.status_code >= HTTPStatus.BAD_REQUEST:
        sentence = str(found.get("error") or f"refused ({answer.status_code})")
        raise Declined(sentence, cast("Json", found))
    return cast("Json", found)
