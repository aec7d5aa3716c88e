"""Reading request bodies: never more than allowed, never longer than allowed."""

import json
import re
from http import HTTPStatus

import anyio
from starlette.requests import ClientDisconnect, Request

from mergebot.domain.ids import Sha
from mergebot.web.problems import Problem

READ_S = 10.0
"""How long a body may take: GitHub itself gives up after ten seconds."""

JSON_BYTES_MAX = 64 * 1024
"""Of a request to the API; the largest useful one is a claim."""

REASON_CHARS_MAX = 500

# Possessive, and a text that nobody closes takes the rest: each byte is looked at once.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)


_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


async def read(request: Request, *, limit: int) -> bytes:
    """Return the raw body; raises Problem 413 past `limit` bytes, 408 past ten seconds."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(HTTPStatus.BAD_REQUEST, "the body must come without a content encoding")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    try:
        with anyio.fail_after(READ_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        sentence = f"the body did not arrive within {READ_S:g} seconds"
        raise Problem(HTTPStatus.REQUEST_TIMEOUT, sentence) from None
    except ClientDisconnect:
        sentence = "the connection closed before the body was complete"
        raise Problem(HTTPStatus.BAD_REQUEST, sentence) from None
    return bytes(body)


def _too_large(limit: int) -> Problem:
    sentence = f"the body is larger than the {limit:,} bytes allowed"
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)


def depth(body: bytes) -> int:
    """Return how deeply JSON is nested, without building it."""
    deepest = now = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            now += 1
            deepest = max(deepest, now)
        elif first in b"]}":
            now -= 1
    return deepest


def parse(body: bytes, *, depth_max: int) -> dict[str, object]:
    """Return the JSON object that a body is; raises Problem 400 for anything else."""
    if depth(body) > depth_max:
        sentence = f"the JSON is nested deeper than the {depth_max} levels allowed"
        raise Problem(HTTPStatus.BAD_REQUEST, sentence)
    try:
        found = json.loads(body)
        # Half of a surrogate pair can be read and kept, and then nothing that shows it can be sent.
        json.dumps(found, ensure_ascii=False).encode()
    except ValueError:
        raise Problem(HTTPStatus.BAD_REQUEST, "the body is not JSON") from None
    if not isinstance(found, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "the body must be a JSON object")
    return found


async def fields(request: Request) -> dict[str, object]:
    """Return the JSON object of a request to the API; an empty body is an empty object."""
    body = await read(request, limit=JSON_BYTES_MAX)
    return parse(body, depth_max=8) if body.strip() else {}


def commit_of(found: dict[str, object], name: str) -> Sha | None:
    """Return the commit that the request names, None where it names none; raises Problem 422."""
    value = found.get(name)
    if value is None:
        return None
    if isinstance(value, str) and _COMMIT.fullmatch(value):
        return Sha(value)
    sentence = f"{name} must be a whole commit id, 40 hex digits, not {json.dumps(value)[:60]}"
    raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, field=name)


def sentence_of(found: dict[str, object], name: str) -> str:
    """Return a sentence that the request must give; raises Problem 422 that names the field."""
    value = found.get(name)
    if isinstance(value, str) and 0 < len(value.strip()) <= REASON_CHARS_MAX:
        sentence = " ".join(value.split())
        if sentence.isprintable():
            return sentence
    shown = "nothing" if value is None else json.dumps(value)[:40]
    sentence = f"{name} must be a text of 1 to {REASON_CHARS_MAX} printable characters, not {shown}"
    raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, field=name)
