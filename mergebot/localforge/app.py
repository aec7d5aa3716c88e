"""The forge as one ASGI application: REST under /api/v3, git, pages, and what is the forge's own."""

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from mergebot.localforge import access, answers, api, git_http, pages, repositories, sign_in_pages
from mergebot.localforge.errors import ApiError, forbidden, not_found
from mergebot.localforge.forge import Forge
from mergebot.localforge.routing import TABLE, Call, Caller, Endpoint, Reply, Request
from mergebot.localforge.store import Row

BODY_BYTES_MAX = 50 * 1024 * 1024
BY_ID = re.compile(r"/api/v3/repositories/(\d+)(/.*)?\Z")
OWN_PATHS = ("/_forge", "/api/graphql", "/settings/")
WRITES = {"POST", "PUT", "PATCH", "DELETE"}

log = logging.getLogger(__name__)


class MovedError(Exception):
    """The repository has another name now; carries the address to ask instead."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


def find_repo(forge: Forge, caller: Caller, request: Request) -> Row | None:
    """Return the repository that a path names; refuse one that the caller may not see."""
    if "owner" not in request.params:
        return None
    owner, name = request.params["owner"], request.params["repo"]
    repo = repositories.by_name(forge.store, owner, name)
    if repo is None:
        moved = repositories.by_old_name(forge.store, owner, name)
        if moved is not None and access.sees(forge, caller, moved):
            rest = request.path.split("/", 6)[6:]
            place = "/".join([f"{forge.api}/repositories/{moved['id']}", *rest])
            raise MovedError(place)
        raise not_found()
    if caller.kind == "app":
        return repo
    if not access.sees(forge, caller, repo):
        raise not_found()
    return repo


def perform(forge: Forge, endpoint: Endpoint, request: Request) -> Response:
    """Run one request from credential to response."""
    caller, repo = access.ANONYMOUS, None
    try:
        forge.faults.before(request.method, request.path)
        caller = access.authenticate(forge, request.headers.get("authorization", ""))
        answers.check_quota(forge, caller)
        repo = find_repo(forge, caller, request)
        access.check(forge, caller, endpoint, repo)
        call = Call(forge, caller, request)
        if repo is not None:
            call.repo = repo
            _check_archived(endpoint, request, repo)
        reply = endpoint.run(call)
    except MovedError as moved:
        code = HTTPStatus.MOVED_PERMANENTLY
        code = HTTPStatus.TEMPORARY_REDIRECT if request.method in WRITES else code
        content = {"message": "Moved Permanently", "url": moved.url}
        reply = Reply(code, content, {"Location": moved.url})
    except ApiError as error:
        return answers.refuse(forge, caller, error)
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return answers.refuse(forge, caller, ApiError(500, "Server Error"))
    return answers.respond(forge, caller, request, reply, repo)


def _check_archived(endpoint: Endpoint, request: Request, repo: Row) -> None:
    own = endpoint.path == "/repos/{owner}/{repo}"
    if repo["archived"] and request.method in WRITES and not own:
        raise forbidden("Repository was archived so is read-only.")


def _handler(forge: Forge, endpoint: Endpoint) -> Callable[[HttpRequest], Awaitable[Response]]:
    async def handle(http: HttpRequest) -> Response:
        request = Request(
            method=http.method,
            path=http.scope["path"],
            params={name: str(value) for name, value in http.path_params.items()},
            query=dict(http.query_params),
            headers=dict(http.headers),
            body=b"",
        )
        async for chunk in http.stream():
            request.body += chunk
            if len(request.body) > BODY_BYTES_MAX:
                too_large = ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Payload Too Large")
                return answers.refuse(forge, access.ANONYMOUS, too_large)
        return await run_in_threadpool(perform, forge, endpoint, request)

    return handle


def rest_routes(forge: Forge) -> list[Route]:
    """Return a route for every entry of the table; fixed paths before patterns."""
    api.load()
    routes = []
    for endpoint in sorted(TABLE, key=lambda e: ("{" in e.path, -e.path.count("/"))):
        prefix = "" if endpoint.path.startswith(OWN_PATHS) else "/api/v3"
        handle = _handler(forge, endpoint)
        routes.append(Route(prefix + endpoint.path, handle, methods=[endpoint.method]))
    return routes


class Application:
    """The whole forge for uvicorn: paths by repository id, faults after the fact, then Starlette."""

    def __init__(self, forge: Forge) -> None:
        self.forge = forge
        routes = [
            *rest_routes(forge),
            *git_http.routes(forge),
            *sign_in_pages.routes(forge),
            *pages.routes(forge),
        ]

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            forge.dispatcher.start()
            yield
            await run_in_threadpool(forge.close)

        handlers = {HTTPStatus.NOT_FOUND: self._unknown, HTTPStatus.METHOD_NOT_ALLOWED: _unknown}
        self._app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={**handlers})
        self._app.router.redirect_slashes = False

    async def _unknown(self, http: HttpRequest, error: Exception) -> Response:
        return await _unknown(http, error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._by_name(scope)
        rule = self.forge.faults.take("error_after", scope["method"], scope["path"])
        if rule is None:
            await self._app(scope, receive, send)
            return

        async def swallow(_: Message) -> None:
            return

        await self._app(scope, receive, swallow)
        status = rule.detail.get("status", 502)
        transport = getattr(getattr(send, "__self__", None), "transport", None)
        if status == "reset" and transport is not None:
            transport.abort()
            return
        await answers.refuse(self.forge, access.ANONYMOUS, ApiError(int(status), "Server Error"))(
            scope, receive, send
        )

    def _by_name(self, scope: Scope) -> None:
        found = BY_ID.match(scope["path"])
        repo = found and repositories.by_id(self.forge.store, int(found[1]))
        if found and repo:
            scope["path"] = f"/api/v3/repos/{repo['owner']}/{repo['name']}{found[2] or ''}"
            scope["raw_path"] = scope["path"].encode()


async def _unknown(http: HttpRequest, _: Exception) -> Response:
    if http.url.path.startswith("/api/"):
        status = HTTPStatus.NOT_FOUND
        return Response(
            '{"message":"Not Found","documentation_url":"https://docs.github.com/rest",'
            '"status":"404"}',
            status,
            answers.common_headers() | {"Content-Type": "application/json; charset=utf-8"},
        )
    return Response("Not Found", HTTPStatus.NOT_FOUND, media_type="text/plain")


def redirect(url: str) -> RedirectResponse:
    """Return a permanent redirect."""
    return RedirectResponse(url, HTTPStatus.MOVED_PERMANENTLY)
