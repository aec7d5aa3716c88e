"""The JSON twins of the pages, and the actions."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mergebot.domain.ids import Lane
from mergebot.domain.pulls import TO_HALT
from mergebot.domain.status import Document
from mergebot.ports.forge import Permission
from mergebot.services.reporting import Find
from mergebot.web.addresses import NUMBER
from mergebot.web.auth import Caller, demand, visible_lane, visible_lanes
from mergebot.web.bodies import commit_of, fields, sentence_of
from mergebot.web.claims_api import ROUTES as CLAIM_ROUTES
from mergebot.web.parts import WebParts
from mergebot.web.problems import Problem

SIZE_MAX = 1000
SEARCH_CHARS_MAX = 200
RUN = re.compile(r"[A-Za-z0-9._-]{1,80}")


def parts_of(request: Request) -> WebParts:
    """Return what the application works with."""
    parts: WebParts = request.app.state.parts
    return parts


def number(request: Request, name: str, default: int, *, most: int = 10**9) -> int:
    """Return a whole number from the query; raises Problem 400 that names what is allowed."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and int(text) <= most:
        return int(text)
    sentence = f"{name} must be a whole number up to {most}, not {text[:40]!r}"
    raise Problem(HTTPStatus.BAD_REQUEST, sentence, field=name)


def find(request: Request, *, size: int) -> Find:
    """Return what the query asks for."""
    words = request.query_params.get("q", "")[:SEARCH_CHARS_MAX]
    size = max(number(request, "per_page", size, most=SIZE_MAX), 1)
    return Find(words, max(number(request, "page", 1), 1), size)


def repos(request: Request) -> Response:
    """Answer every lane that the caller may see."""
    return JSONResponse(parts_of(request).reporting.overview(visible_lanes(request)))


def queue(request: Request) -> Response:
    """Answer the queue."""
    lane = visible_lane(request)
    return JSONResponse(parts_of(request).reporting.queue(lane, find(request, size=SIZE_MAX)))


def candidate(request: Request) -> Response:
    """Answer everything about one PR."""
    return JSONResponse(candidate_of(request, visible_lane(request)))


def candidate_of(request: Request, lane: Lane) -> Document:
    """Return everything about the PR that the address names; raises Problem 404."""
    pr = request.path_params["number"]
    found = parts_of(request).reporting.candidate(lane, pr)
    if found is None:
        sentence = f"#{pr} of {lane.repo} was never queued here"
        raise Problem(HTTPStatus.NOT_FOUND, sentence)
    return found


def gate_log(request: Request) -> Response:
    """Answer a gate run's output from an offset on."""
    lane = visible_lane(request)
    run = run_name(request.query_params.get("run", ""))
    text, offset, ended = parts_of(request).reporting.log(
        lane, run, offset=number(request, "offset", 0)
    )
    return JSONResponse({"run": run, "text": text, "offset": offset, "ended": ended})


def run_name(text: str) -> str:
    """Return the name of a gate run; raises Problem 404 for what cannot be one."""
    if not RUN.fullmatch(text):
        raise Problem(HTTPStatus.NOT_FOUND, "there is no gate run of that name", field="run")
    return text


def landings(request: Request) -> Response:
    """Answer the receipts."""
    lane = visible_lane(request)
    return JSONResponse(parts_of(request).reporting.landings(lane, find(request, size=50)))


def audit(request: Request) -> Response:
    """Answer what people did by hand."""
    return JSONResponse(parts_of(request).reporting.audit(visible_lane(request)))


def stats(request: Request) -> Response:
    """Answer the statistics."""
    return JSONResponse(parts_of(request).statistics.of(visible_lane(request)))


def health(request: Request) -> Response:
    """Answer what the machine room looks like."""
    return JSONResponse(parts_of(request).reporting.health(visible_lane(request)))


@dataclass(frozen=True, slots=True)
class Ask:
    """An authorised request to do something."""

    parts: WebParts
    lane: Lane
    caller: Caller
    pr: int
    fields: dict[str, object]


def action(needed: Permission, do: Callable[[Ask], None]) -> Callable[..., object]:
    """Return the endpoint of an action that needs a permission."""

    async def endpoint(request: Request) -> Response:
        found = await fields(request)
        return await run_in_threadpool(_act, request, found)

    def _act(request: Request, found: dict[str, object]) -> Response:
        lane = visible_lane(request)
        who = demand(request, lane, needed=needed)
        parts = parts_of(request)
        pr = request.path_params.get("number", 0)
        do(Ask(parts, lane, who, pr, found))
        done: Document = {"accepted": True, "by": who.actor.login}
        if pr:
            now = parts.reporting.candidate(lane, pr) or {"repo": lane.repo, "pr": pr}
            return JSONResponse(now | done, status_code=HTTPStatus.ACCEPTED)
        return JSONResponse(parts.reporting.health(lane) | done)

    return endpoint


def _enqueue(ask: Ask) -> None:
    seen = commit_of(ask.fields, "head")
    ask.parts.operator.enqueue(ask.lane, ask.pr, ask.caller.actor, seen=seen)


def _cancel(ask: Ask) -> None:
    ask.parts.operator.cancel(ask.lane, ask.pr, ask.caller.actor)


def _retry(ask: Ask) -> None:
    reason = sentence_of(ask.fields, "reason")
    seen = commit_of(ask.fields, "head")
    ask.parts.operator.retry(ask.lane, ask.pr, ask.caller.actor, reason, seen=seen)


def _halt(ask: Ask) -> None:
    ask.parts.operator.halt(ask.lane, ask.caller.actor, sentence_of(ask.fields, "reason"))


def _resume(ask: Ask) -> None:
    ask.parts.operator.resume(ask.lane, ask.caller.actor, sentence_of(ask.fields, "reason"))


REPO = "/repos/{owner}/{repo}"
PR = REPO + f"/candidates/{NUMBER}"

ROUTES = [
    Route("/repos", repos),
    Route(REPO + "/queue", queue),
    Route(PR, candidate),
    Route(PR + "/log", gate_log),
    *CLAIM_ROUTES,
    Route(REPO + "/landings", landings),
    Route(REPO + "/audit", audit),
    Route(REPO + "/stats", stats),
    Route(REPO + "/health", health),
    Route(PR, action(Permission.WRITE, _enqueue), methods=["POST"]),
    Route(PR + "/cancel", action(Permission.WRITE, _cancel), methods=["POST"]),
    Route(PR + "/retry", action(Permission.WRITE, _retry), methods=["POST"]),
    Route(REPO + "/halt", action(TO_HALT, _halt), methods=["POST"]),
    Route(REPO + "/resume", action(TO_HALT, _resume), methods=["POST"]),
]
