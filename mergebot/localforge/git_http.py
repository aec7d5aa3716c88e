"""git over HTTP: `git http-backend` as CGI, with the forge's tokens, hooks and bookkeeping around it."""

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mergebot.localforge import access, people, protection, pushes, repositories
from mergebot.localforge.errors import ApiError
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ENVIRONMENT, Bare, Update
from mergebot.localforge.routing import Caller
from mergebot.localforge.store import Row

RECEIVE, UPLOAD = "git-receive-pack", "git-upload-pack"
CHUNK_BYTES = 65_536
CONFIG = {
    "http.receivepack": "true",
    "http.uploadpack": "true",
    "receive.advertisePushOptions": "true",
    "receive.procReceiveRefs": "refs/for",
    "receive.denyDeleteCurrent": "refuse",
    "receive.autogc": "false",
    "receive.maxInputSize": str(4 * 1024**3),
    "transfer.fsckObjects": "false",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowReachableSHA1InWant": "true",
    "uploadpack.allowTipSHA1InWant": "true",
}
# Pull requests' refs are the forge's own: everybody may fetch them and nobody may push them.
# A name that starts with refs/ would make git find two refs of one name; GitHub refuses it, too.
# One setting may be given several times, here by its name in another case.
HIDDEN = {
    "receive.hideRefs": "refs/pull",
    "receive.hiderefs": "refs/tags/refs",
    "transfer.hideRefs": "refs/heads/refs",
    "uploadpack.hideRefs": "refs/forge",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a git client: whose, to which repository, for which service."""

    forge: Forge
    request: Request
    repo: Row
    caller: Caller
    path: str
    service: str


@cache
def backend() -> str:
    """Return the path of git's CGI program; starting it directly saves one process a request."""
    return str(Path(Bare(Path.cwd()).run("--exec-path").strip()) / "git-http-backend")


def routes(forge: Forge) -> list[Route]:
    """Return the routes of the smart protocol, with and without `.git`."""
    serve = partial(_serve, forge)
    base = "/{owner}/{repo}"
    return [
        Route(f"{base}/info/refs", serve, methods=["GET"]),
        Route(f"{base}/{UPLOAD}", serve, methods=["POST"]),
        Route(f"{base}/{RECEIVE}", serve, methods=["POST"]),
    ]


def install_hooks(forge: Forge) -> None:
    """Write the hooks that git will start; they name this very interpreter and file."""
    script = shlex.quote(str(files(__package__).joinpath("hooks/callback.py")))
    python = shlex.quote(sys.executable)
    scripts = {
        "post-receive": '#!/bin/sh\nexec cat >"$FORGE_RECEIVED"\n',
        "proc-receive": f"#!/bin/sh\nexec {python} -I -S {script} proc-receive\n",
        "update": f'#!/bin/sh\nexec {python} -I -S {script} update "$@"\n',
    }
    for kind, names in {"plain": [*scripts][:2], "guarded": [*scripts]}.items():
        folder = forge.root / "hooks" / kind
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            path = folder / name
            path.write_text(scripts[name], "utf-8")
            path.chmod(0o755)


async def _serve(forge: Forge, request: Request) -> Response:
    path = request.url.path.rsplit("/", 1)[1]
    asked = request.query_params.get("service", "") if path == "refs" else path
    try:
        visit = await run_in_threadpool(_admit, forge, request, asked)
    except ApiError as error:
        headers = {}
        if error.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = 'Basic realm="GitHub"'
        return Response(error.message, error.status, headers, "text/plain")
    if visit.service == RECEIVE and path == RECEIVE:
        return await _receive(visit)
    return await _run(visit, {})


def _begins_push(path: str, service: str) -> bool:
    return path.endswith("/info/refs") and service == RECEIVE


def _admit(forge: Forge, request: Request, service: str) -> Visit:
    owner, name = request.path_params["owner"], request.path_params["repo"].removesuffix(".git")
    path = request.url.path
    # The first request of a push differs from that of a fetch by its query alone.
    forge.faults.before(
        request.method, f"{path}?service={RECEIVE}" if _begins_push(path, service) else path
    )
    caller = access.authenticate(forge, request.headers.get("authorization", ""))
    store = forge.store
    repo = repositories.by_name(store, owner, name) or repositories.by_old_name(store, owner, name)
    if repo is None or not access.sees(forge, caller, repo):
        anonymous = caller.kind == "anonymous"
        code = HTTPStatus.UNAUTHORIZED if anonymous else HTTPStatus.NOT_FOUND
        raise ApiError(code, "Authentication required" if anonymous else "Repository not found.")
    if service not in {RECEIVE, UPLOAD}:
        raise ApiError(HTTPStatus.FORBIDDEN, "Please upgrade your git client.")
    if service == RECEIVE:
        _check_push(forge, caller, repo)
    tail = "/info/refs" if path.endswith("/info/refs") else f"/{service}"
    return Visit(forge, request, repo, caller, tail, service)


def _check_push(forge: Forge, caller: Caller, repo: Row) -> None:
    if caller.user is None:
        raise ApiError(HTTPStatus.UNAUTHORIZED, "Authentication required")
    if caller.kind == "installation":
        mine = repo["id"] in (caller.repositories or ())
        allowed = mine and caller.permissions.get("contents") == "write"
    else:
        held = repositories.role(forge.store, repo, caller.user)
        allowed = repositories.allows(held, "write") or bool(
            protection.lent(forge.store, repo, caller.user)
        )
    full = repositories.full_name(repo)
    if not allowed:
        raise ApiError(
            HTTPStatus.FORBIDDEN, f"Permission to {full}.git denied to {caller.user['login']}."
        )
    if repo["archived"]:
        raise ApiError(HTTPStatus.FORBIDDEN, "This repository was archived so it is read-only.")


def _environment(visit: Visit) -> dict[str, str]:
    request, headers = visit.request, visit.request.headers
    guest = visit.caller.user and protection.lent(visit.forge.store, visit.repo, visit.caller.user)
    guarded = guest or protection.any_in(visit.forge.store, visit.repo["id"])
    hooks = visit.forge.root / "hooks" / ("guarded" if guarded else "plain")
    config = CONFIG | HIDDEN | {"core.hooksPath": str(hooks.resolve())}
    env = ENVIRONMENT | {
        "GIT_PROJECT_ROOT": str(visit.forge.bare(visit.repo["id"]).path.resolve()),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_HTTP_MAX_REQUEST_BUFFER": "256M",
        "PATH_INFO": visit.path,
        "QUERY_STRING": request.url.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": headers.get("content-type", ""),
        "GIT_CONFIG_COUNT": str(len(config)),
    }
    for index, (key, value) in enumerate(config.items()):
        env |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    for variable, header in {
        "CONTENT_LENGTH": "content-length",
        "HTTP_CONTENT_ENCODING": "content-encoding",
        "GIT_PROTOCOL": "git-protocol",
    }.items():
        if header in headers:
            env[variable] = headers[header]
    if visit.caller.user is not None:
        env["REMOTE_USER"] = visit.caller.user["login"]
    return env


async def _feed(request: Request, process: asyncio.subprocess.Process) -> None:
    """Pass the request's body on as it comes; a git that stops reading ends it quietly."""
    stdin = process.stdin
    if stdin is None:
        return
    try:
        async for chunk in request.stream():
            stdin.write(chunk)
            await stdin.drain()
    except (ConnectionError, ClientDisconnect):
        pass
    finally:
        stdin.close()


async def _head(stdout: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Return status and headers of a CGI answer."""
    status, headers = HTTPStatus.OK.value, {}
    while line := (await stdout.readline()).decode("latin-1").strip():
        name, _, value = line.partition(":")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            headers[name] = value.strip()
    if not headers:
        return HTTPStatus.INTERNAL_SERVER_ERROR.value, {}
    return status, headers


async def _run(visit: Visit, more: dict[str, str]) -> Response:
    """Start http-backend and stream what it says."""
    env = await run_in_threadpool(_environment, visit)
    process = await asyncio.create_subprocess_exec(
        backend(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=env | more,
        limit=CHUNK_BYTES,
    )
    feeding = asyncio.create_task(_feed(visit.request, process))
    stdout = process.stdout
    if stdout is None:
        return Response("git did not start", HTTPStatus.INTERNAL_SERVER_ERROR)
    status, headers = await _head(stdout)

    async def body() -> AsyncIterator[bytes]:
        try:
            while chunk := await stdout.read(CHUNK_BYTES):
                yield chunk
        finally:
            feeding.cancel()
            if process.returncode is None:
                if not stdout.at_eof():
                    process.kill()
                await process.wait()

    return StreamingResponse(body(), status, headers)


async def _receive(visit: Visit) -> Response:
    """Run a push to its end, follow what it moved, and only then let the client return."""
    forge, repo, user = visit.forge, visit.repo, visit.caller.user or {}
    prefix = f"{repo['id']}-{user['id']}-"
    opened, name = tempfile.mkstemp(prefix=prefix, dir=forge.root / "spool")
    os.close(opened)
    received = Path(name)
    ticket = forge.admit(repo["id"], user["id"])
    server = visit.request.scope.get("server") or ("127.0.0.1", 80)
    host = "127.0.0.1" if server[0] in {"0.0.0.0", "::"} else server[0]  # noqa: S104 - compared only
    more = {
        "FORGE_RECEIVED": str(received),
        "FORGE_TICKET": ticket,
        "FORGE_ADDRESS": f"{host}:{server[1]}",
    }
    try:
        response = await _run(visit, more)
        chunks = []
        if isinstance(response, StreamingResponse):
            chunks = [bytes(chunk) async for chunk in response.body_iterator]  # type: ignore[arg-type]  # our own body yields bytes only
        await run_in_threadpool(_follow, visit, received)
    finally:
        forge.tickets.pop(ticket, None)
    return Response(b"".join(chunks), response.status_code, dict(response.headers))


def _follow(visit: Visit, received: Path) -> None:
    updates = _updates(received)
    pushes.follow(visit.forge, visit.repo, visit.caller.user or {}, updates)
    received.unlink(missing_ok=True)


def _updates(received: Path) -> list[Update]:
    # A branch may be named with what Python, too, takes for the end of a line.
    rows = [line.split(" ", 2) for line in received.read_text("utf-8").split("\n") if line]
    return [Update(ref, old, new) for old, new, ref in rows]


def finish_pushes(forge: Forge) -> None:
    """Follow the pushes that git had accepted when an earlier run of the forge was cut off."""
    for left in sorted((forge.root / "spool").iterdir()):
        repo_id, user_id, _ = left.name.split("-", 2)
        repo = repositories.by_id(forge.store, int(repo_id))
        updates = _updates(left)
        if repo is not None:
            pushes.follow(forge, repo, people.by_id(forge.store, int(user_id)), updates)
        left.unlink(missing_ok=True)
