"""The webhook receiver: a delivery is durable before it is answered, and nothing else is done."""

import re
from http import HTTPStatus

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mergebot.domain.limits import WEBHOOK_BYTES_MAX, WEBHOOK_DEPTH_MAX
from mergebot.ports.errors import Unavailable
from mergebot.web.bodies import parse, read
from mergebot.web.buckets import knock
from mergebot.web.parts import WebParts
from mergebot.web.problems import Problem

_GUID = re.compile(r"[0-9A-Za-z-]{1,80}")
_EVENT = re.compile(r"[a-z0-9_]{1,60}")

log = structlog.get_logger(__name__)


async def github(request: Request) -> Response:
    """Keep a signed delivery and answer 202; one that was kept before is answered the same."""
    parts: WebParts = request.app.state.parts
    knock(request, request.app.state.hook_buckets)
    body = await read(request, limit=WEBHOOK_BYTES_MAX)
    if not parts.verify(body, request.headers.get("x-hub-signature-256", "")):
        request.app.state.hook_buckets.fine(request)
        raise Problem(HTTPStatus.UNAUTHORIZED, "the signature does not match the body")
    event = _header(request, "X-GitHub-Event", _EVENT)
    guid = _header(request, "X-GitHub-Delivery", _GUID)
    if "x-www-form-urlencoded" in request.headers.get("content-type", ""):
        sentence = "set the webhook's content type to application/json"
        raise Problem(HTTPStatus.BAD_REQUEST, sentence, field="Content-Type")
    if event == "ping":
        parse(body, depth_max=WEBHOOK_DEPTH_MAX)
        return JSONResponse({"accepted": True, "pong": True}, status_code=HTTPStatus.ACCEPTED)
    new = await run_in_threadpool(_keep, parts, guid, event, body)
    answer = {"accepted": True, "duplicate": not new}
    return JSONResponse(answer, status_code=HTTPStatus.ACCEPTED)


def _header(request: Request, name: str, pattern: re.Pattern[str]) -> str:
    value = request.headers.get(name, "")
    if not pattern.fullmatch(value):
        sentence = f"the header {name} is {'wrong' if value else 'missing'}"
        raise Problem(HTTPStatus.BAD_REQUEST, sentence, field=name)
    return value


def _keep(parts: WebParts, guid: str, event: str, body: bytes) -> bool:
    parse(body, depth_max=WEBHOOK_DEPTH_MAX)
    new = parts.inbox.put(guid, event, body)
    try:
        parts.doorbell.intake()
    except Unavailable as error:
        log.warning("nobody heard the bell; the reconciler will look", error=str(error))
    return new
