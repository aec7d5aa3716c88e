"""From a handler's reply to the bytes on the wire: GitHub's headers, ETag, pages, quota."""

import hashlib
import json
import re
import secrets
import time
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.responses import Response

from mergebot.localforge.errors import ApiError
from mergebot.localforge.faults import RateLimitedError
from mergebot.localforge.forge import Forge
from mergebot.localforge.routing import Caller, Reply, Request
from mergebot.localforge.store import Row

# GitHub allows 5,000 requests an hour. A forge of one's own has no reason to be that sparing; the
# switch `rate_limit` sets any other number.
RATE_LIMIT = 1_000_000
HOUR_S = 3600
REPO_PATH = re.compile(r"/api/v3/repos/[^/]+/[^/]+")


class Quota:
    """How many requests each token has made in its present hour."""

    def __init__(self) -> None:
        self._used: dict[int, tuple[int, int]] = {}

    def used(self, token_id: int) -> tuple[int, int]:
        """Return (requests used, end of the hour in seconds since 1970) of a token."""
        used, reset = self._used.get(token_id, (0, 0))
        moment = int(time.time())
        return (used, reset) if reset > moment else (0, moment + HOUR_S)

    def spend(self, token_id: int) -> tuple[int, int]:
        """Count one request and return the new numbers."""
        used, reset = self.used(token_id)
        self._used[token_id] = (used + 1, reset)
        return used + 1, reset


QUOTA = Quota()


def limit_of(forge: Forge) -> int:
    """Return how many requests a token may make in an hour."""
    return int(forge.store.switch("rate_limit", RATE_LIMIT))


def check_quota(forge: Forge, caller: Caller) -> None:
    """Refuse a caller that has used up its hour."""
    used, _ = QUOTA.used(caller.token_id)
    if used >= limit_of(forge):
        raise ApiError(
            HTTPStatus.FORBIDDEN,
            f"API rate limit exceeded for user ID {caller.user['id'] if caller.user else 0}.",
        )


def respond(
    forge: Forge, caller: Caller, request: Request, reply: Reply, repo: Row | None
) -> Response:
    """Return the response of a handler's reply."""
    if isinstance(reply.content, bytes):
        body = reply.content
    elif reply.status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
        body = b""
    else:
        body = json.dumps(reply.content, ensure_ascii=False, separators=(",", ":")).encode()
    status, headers = reply.status, {**reply.headers}
    if request.pages:
        headers["Link"] = links(forge, request, repo)
    if request.method == "GET" and status == HTTPStatus.OK:
        tag = f'W/"{hashlib.sha256(body).hexdigest()}"'
        headers |= {"ETag": tag, "Cache-Control": "private, max-age=60, s-maxage=60"}
        asked = request.headers.get("if-none-match", "")
        if tag in asked or tag.removeprefix("W/") in [t.strip() for t in asked.split(",")]:
            status, body = HTTPStatus.NOT_MODIFIED, b""
    free = status == HTTPStatus.NOT_MODIFIED or request.path == "/api/v3/rate_limit"
    headers |= quota_headers(forge, caller, spend=0 if free else 1)
    headers |= common_headers()
    if body:
        headers["Content-Type"] = reply.media_type
    return Response(body, status, headers)


def common_headers() -> dict[str, str]:
    """Return the headers that every answer of the API has."""
    return {
        "Server": "github.com",
        "X-GitHub-Media-Type": "github.v3; format=json",
        "X-GitHub-Request-Id": secrets.token_hex(12).upper(),
        "X-GitHub-Api-Version-Selected": "2022-11-28",
    }


def quota_headers(forge: Forge, caller: Caller, *, spend: int) -> dict[str, str]:
    """Return the rate limit headers, after counting a request that is not free."""
    counted = QUOTA.spend if spend else QUOTA.used
    used, reset = counted(caller.token_id)
    limit = limit_of(forge)
    return {
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": str(max(0, limit - used)),
        "X-RateLimit-Used": str(used),
        "X-RateLimit-Reset": str(reset),
        "X-RateLimit-Resource": "core",
    }


def refuse(forge: Forge, caller: Caller, error: ApiError) -> Response:
    """Return the response of a refusal."""
    headers = quota_headers(forge, caller, spend=1) | common_headers()
    headers["Content-Type"] = "application/json; charset=utf-8"
    if isinstance(error, RateLimitedError):
        if error.retry_after is not None:
            headers["Retry-After"] = str(error.retry_after)
        elif error.message.startswith("API rate limit"):
            headers["X-RateLimit-Remaining"] = "0"
            headers["X-RateLimit-Reset"] = str(int(time.time()) + 1)
    body = json.dumps(error.body(), ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, error.status, headers)


def links(forge: Forge, request: Request, repo: Row | None) -> str:
    """Return the Link header of one page among several."""
    if request.pages is None:
        return ""
    number, last = request.pages
    path = request.path
    if repo is not None:
        path = REPO_PATH.sub(f"/api/v3/repositories/{repo['id']}", path, count=1)
    targets = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    kept = {k for k in targets if (number > 1 if k in {"prev", "first"} else number < last)}
    parts = []
    for relation, page in targets.items():
        if relation in kept:
            query = urlencode({**request.query, "page": str(page)})
            parts.append(f'<{forge.url}{path}?{query}>; rel="{relation}"')
    return ", ".join(parts)
