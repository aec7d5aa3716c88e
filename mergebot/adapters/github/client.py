"""One request to the forge through PyGithub: who asks, how long it may take, what may be repeated.

PyGithub keeps the request it is working on in the connection object, so every thread gets a
`Github` of its own. Its habit of repeating writes and of sleeping through rate limits is switched
off; its objects are not used either, because each would cost requests that we do not need.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Protocol

from github import Auth, Github, GithubException
from urllib3.exceptions import HTTPError
from urllib3.util import Retry

from mergebot.adapters.github.errors import (
    Answer,
    Ask,
    BadToken,
    odd_answer,
    sentence,
    trouble_from,
    trouble_in,
    wait_after_s,
)
from mergebot.adapters.github.shelf import OwnShelf, Shelf, Tagged, Tags, Waits, address_of
from mergebot.adapters.redact import Redactor
from mergebot.ports.errors import Refused, Unavailable

API_VERSION = "2022-11-28"
GITHUB_URL = "https://api.github.com"
PER_PAGE = 100
PAGES_MAX = 1000
"""A listing that never ends is a fault of the forge: 100,000 things are more than any queue has."""

_RETRY = Retry(
    total=2,
    connect=1,
    read=1,
    status=2,
    other=0,
    redirect=0,
    allowed_methods={"GET", "HEAD"},
    status_forcelist={502, 503, 504},
    backoff_factor=0.1,
    raise_on_status=False,
    respect_retry_after_header=False,
)


class Credentials(Protocol):
    """Who the bot is on the forge."""

    def token(self, repo: str) -> str:
        """Return a token for `repo`, or for no repository in particular where it is empty."""
        ...

    def rejected(self, repo: str) -> None:
        """Learn that the forge did not accept the token for `repo`."""
        ...


@dataclass(frozen=True, slots=True)
class Server:
    """Where the forge's API is, what must not leak from it, and how long one answer may take.

    `shelf` is shared by every process that speaks for the same account.
    """

    redactor: Redactor
    url: str = GITHUB_URL
    timeout_s: int = 10
    shelf: Shelf = field(default_factory=OwnShelf)


class _Bearer(Auth.Auth):
    """The token of the request at hand; each thread has its own."""

    def __init__(self) -> None:
        self.current = ""

    @property
    def token_type(self) -> str:
        return "Bearer"

    @property
    def token(self) -> str:
        return self.current


class _Mine(threading.local):
    """What belongs to one thread of one process: a fork must not share its parent's sockets."""

    pid = 0
    github: Github
    bearer: _Bearer


class Client:
    """Sends requests for one set of credentials; safe to share between threads."""

    def __init__(self, server: Server, credentials: Credentials) -> None:
        self._server = server
        self._credentials = credentials
        self._mine = _Mine()
        self._guard = threading.Lock()
        self._requests: Counter[str] = Counter()
        self._tags = Tags(server.shelf)
        self._waits = Waits(server.shelf)

    @property
    def requests(self) -> Mapping[str, int]:
        """How many requests were sent so far, by method; repeated reads count once."""
        with self._guard:
            return dict(self._requests)

    def send(self, ask: Ask) -> Any:
        """Send one request and return the JSON of its answer (None for an empty one).

        Raises Unavailable (Unclear for a write that may have happened) or Refused.
        """
        return self._read(ask, self._exchange(ask))

    def headers(self, ask: Ask) -> Mapping[str, str]:
        """Send one request and return the headers of its answer, their names in lower case."""
        answer = self._exchange(ask)
        self._read(ask, answer)
        return answer.headers

    def pages(self, ask: Ask) -> list[dict[str, Any]]:
        """Send a listing request, follow it to its end, and return every item."""
        return self.pages_of(ask, "")

    def pages_of(self, ask: Ask, key: str) -> list[dict[str, Any]]:
        """Do the same for a listing whose items stand under `key` of each answer."""
        items: list[dict[str, Any]] = []
        ask = replace(ask, query={**ask.query, "per_page": PER_PAGE})
        for _ in range(PAGES_MAX):
            answer = self._exchange(ask)
            page = self._read(ask, answer)
            if key:
                page = page.get(key) if isinstance(page, dict) else None
            if not isinstance(page, list) or not all(isinstance(item, dict) for item in page):
                raise odd_answer(ask)
            items += page
            ask = replace(ask, path=_next_page(answer), query={})
            if not ask.path:
                return items
        raise Unavailable(sentence(ask, f"the listing has more than {PAGES_MAX} pages"))

    def _exchange(self, ask: Ask) -> Answer:
        token = self._credentials.token(ask.repo)
        if (left_s := self._waits.left_s(token)) > 0:
            raise Unavailable(sentence(ask, "the forge asked us to slow down"), left_s)
        answer = self._sent(ask, token) if ask.writes else self._asked_again(ask, token)
        self._waits.begin(token, wait_after_s(answer))
        return answer

    def _asked_again(self, ask: Ask, token: str) -> Answer:
        """Read something, for free where it is what it was when somebody read it last."""
        address = address_of(ask.path, ask.query)
        kept = self._tags.find(token, address)
        answer = self._sent(ask, token, kept.tag if kept else "")
        if kept and answer.status == HTTPStatus.NOT_MODIFIED:
            return Answer(HTTPStatus.OK, answer.headers | {"link": kept.link}, kept.text)
        tag = answer.headers.get("etag", "")
        if tag and answer.status == HTTPStatus.OK:
            tagged = Tagged(tag, answer.text, answer.headers.get("link", ""))
            self._tags.keep(token, address, tagged)
        return answer

    def _sent(self, ask: Ask, token: str, tag: str = "") -> Answer:
        with self._guard:
            self._requests[ask.verb] += 1
        wanted = {"If-None-Match": tag} if tag else {}
        try:
            status, headers, text = self._github(token).requester.requestJson(
                ask.verb, ask.path, parameters=dict(ask.query), headers=wanted, input=ask.body
            )
        except GithubException as error:
            document = json.dumps(error.data) if isinstance(error.data, dict) else ""
            status, headers, text = error.status, error.headers or {}, document
        except (OSError, HTTPError, RuntimeError, ValueError) as error:
            raise self._clean(trouble_from(ask, error)) from error
        return Answer(status, {name: str(value) for name, value in headers.items()}, text)

    def _read(self, ask: Ask, answer: Answer) -> Any:
        trouble = trouble_in(ask, answer)
        if isinstance(trouble, BadToken):
            self._credentials.rejected(ask.repo)
        if trouble is not None:
            raise self._clean(trouble)
        if not answer.text:
            return None
        try:
            return json.loads(answer.text)
        except ValueError as error:
            raise odd_answer(ask) from error

    def _clean(self, trouble: Unavailable | Refused) -> Unavailable | Refused:
        trouble.args = (self._server.redactor.text(str(trouble)),)
        return trouble

    def _github(self, token: str) -> Github:
        mine = self._mine
        if mine.pid != os.getpid():
            mine.bearer = _Bearer()
            mine.github = Github(
                auth=mine.bearer if token else None,
                base_url=self._server.url.rstrip("/"),
                timeout=self._server.timeout_s,
                user_agent="mergebot",
                per_page=PER_PAGE,
                retry=_RETRY,
                seconds_between_requests=None,
                seconds_between_writes=None,
                lazy=True,
                api_version=API_VERSION,
            )
            mine.pid = os.getpid()
        mine.bearer.current = token
        return mine.github


def _next_page(answer: Answer) -> str:
    """Return the address of the next page; only its path is used, on the forge's own host."""
    for link in answer.headers.get("link", "").split(","):
        address, _, relation = link.partition(";")
        if 'rel="next"' in relation:
            return address.strip().strip("<>")
    return ""
