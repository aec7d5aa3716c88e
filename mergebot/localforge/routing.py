"""What a handler receives and returns, and the table of routes that the handlers fill."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal

from mergebot.localforge.errors import ApiError, invalid
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import Bare
from mergebot.localforge.store import Row, Store

PER_PAGE = 30
PER_PAGE_MAX = 100
Need = Literal["anyone", "user", "read", "triage", "write", "maintain", "admin", "app", "operator"]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: status, JSON value or ready bytes, and extra headers."""

    status: int
    content: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and what the token allows: an installation's token carries permissions."""

    user: Row | None
    kind: Literal["anonymous", "pat", "oauth", "installation", "app"] = "anonymous"
    permissions: dict[str, str] = field(default_factory=dict)
    repositories: frozenset[int] | None = None
    installation_id: int = 0
    app_id: int = 0
    token_id: int = 0


class Call:
    """One request, authenticated, with its repository looked up where the path names one."""

    def __init__(self, forge: Forge, caller: Caller, request: "Request") -> None:
        self.forge = forge
        self.caller = caller
        self.request = request
        self.params = request.params
        self.query = request.query
        self._repo: Row | None = None

    @property
    def store(self) -> Store:
        """The forge's memory."""
        return self.forge.store

    @property
    def user(self) -> Row:
        """The authenticated user."""
        if self.caller.user is None:
            raise ApiError(HTTPStatus.UNAUTHORIZED, "Requires authentication")
        return self.caller.user

    @property
    def repo(self) -> Row:
        """The repository that the path names."""
        if self._repo is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "Not Found")
        return self._repo

    @repo.setter
    def repo(self, repo: Row) -> None:
        self._repo = repo

    @property
    def bare(self) -> Bare:
        """The git side of the repository that the path names."""
        return self.forge.bare(self.repo["id"])

    @cached_property
    def json(self) -> Any:
        """The request's body; an absent one is an empty object."""
        if not self.request.body:
            return {}
        try:
            return json.loads(self.request.body)
        except ValueError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "Problems parsing JSON") from error

    @property
    def body(self) -> dict[str, Any]:
        """The request's body, which must be an object."""
        if not isinstance(self.json, dict):
            raise ApiError(HTTPStatus.BAD_REQUEST, "Body should be a JSON object")
        return self.json

    def text(self, resource: str, name: str) -> str:
        """Return a required string of the body."""
        value = self.body.get(name)
        if value is None or value == "":
            raise invalid(resource, name, "missing_field")
        if not isinstance(value, str):
            raise invalid(resource, name)
        return value

    def number(self) -> int:
        """Return the number of an issue or pull request in the path."""
        return int(self.params["number"])

    def page(self, items: list[Any]) -> list[Any]:
        """Return the asked page of a complete list, and note the links to the other pages."""
        size, number = self._asked("per_page", PER_PAGE), self._asked("page", 1)
        size = min(size, PER_PAGE_MAX)
        last = max(1, -(-len(items) // size))
        self.request.pages = (number, last) if last > 1 else None
        return items[(number - 1) * size : number * size]

    def _asked(self, name: str, default: int) -> int:
        value = self.query.get(name, "")
        return int(value) if value.isascii() and value.isdigit() and int(value) > 0 else default


@dataclass(slots=True)
class Request:
    """The parts of an HTTP request that handlers look at."""

    method: str
    path: str
    params: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    pages: tuple[int, int] | None = None


Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One entry of the table: where, who may, and what runs."""

    method: str
    path: str
    need: Need
    scope: str
    run: Handler


TABLE: list[Endpoint] = []


def endpoint(
    method: str, path: str, need: Need, scope: str = "metadata:read"
) -> Callable[[Handler], Handler]:
    """Enter a handler into the table.

    `need` is the least role of a user; `scope` the least permission of an App's installation.
    """

    def enter(handler: Handler) -> Handler:
        TABLE.append(Endpoint(method, path, need, scope, handler))
        return handler

    return enter


def ok(content: Any) -> Reply:
    """Answer 200 with a value."""
    return Reply(HTTPStatus.OK, content)


def created(content: Any) -> Reply:
    """Answer 201 with what was made."""
    return Reply(HTTPStatus.CREATED, content)


def no_content() -> Reply:
    """Answer 204."""
    return Reply(HTTPStatus.NO_CONTENT)
