"""The pages of the sign-in for other sites: they ask who somebody is, and whether that may be told."""

import json
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mergebot.localforge import oauth, pages
from mergebot.localforge.errors import ApiError
from mergebot.localforge.forge import Forge

AUTHORIZE = "/login/oauth/authorize"
FORM_BYTES_MAX = 16 * 1024


def routes(forge: Forge) -> list[Route]:
    """Return the routes of the sign-in."""

    async def ask(request: Request) -> Response:
        return await run_in_threadpool(_shown, forge, dict(request.query_params), "")

    async def decide(request: Request) -> Response:
        fields = await _form(request)
        return await run_in_threadpool(_decided, forge, dict(request.query_params), fields)

    async def trade(request: Request) -> Response:
        fields = await _form(request)
        accept = request.headers.get("accept", "")
        return await run_in_threadpool(_traded, forge, fields, accept)

    return [
        Route(AUTHORIZE, ask, methods=["GET"]),
        Route(AUTHORIZE, decide, methods=["POST"]),
        Route("/login/oauth/access_token", trade, methods=["POST"]),
    ]


async def _form(request: Request) -> dict[str, str]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES_MAX:
            return {}
    if request.headers.get("content-type", "").startswith("application/json"):
        found = json.loads(body)
        return {str(key): str(value) for key, value in found.items()}
    return dict(parse_qsl(body.decode("utf-8", "replace")))


def _shown(forge: Forge, query: dict[str, str], trouble: str) -> Response:
    try:
        app = oauth.app_of(forge, query)
        oauth.checked(query)
    except ApiError as error:
        return Response(error.message, error.status, pages.HEADERS, "text/plain")
    back = oauth.back_of(app, query)
    if not back:
        return _sent(oauth.elsewhere(app, query))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if trouble else HTTPStatus.OK
    site = urlsplit(back)
    text = pages.templates().get_template("authorize.html")
    shown = text.render(
        name=app["name"], site=site.netloc, trouble=trouble, action=f"?{urlencode(query)}"
    )
    # A browser holds the answer to a form, too, to this policy: the site is where it leads.
    policy = pages.HEADERS["Content-Security-Policy"].replace(
        "form-action 'none'", f"form-action 'self' {site.scheme}://{site.netloc}"
    )
    headers = {**pages.HEADERS, "Content-Security-Policy": policy}
    return Response(shown, status, headers, "text/html; charset=utf-8")


def _decided(forge: Forge, query: dict[str, str], fields: dict[str, str]) -> Response:
    try:
        app = oauth.app_of(forge, query)
        oauth.checked(query)
        back = oauth.back_of(app, query)
        if not back:
            return _sent(oauth.elsewhere(app, query))
        if fields.get("answer") != "allow":
            return _sent(oauth.denied(back, query))
        return _sent(oauth.grant(forge, query, back, fields.get("token", "").strip()))
    except ApiError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            return _shown(forge, query, "this is no token of a person here")
        return Response(error.message, error.status, pages.HEADERS, "text/plain")


def _traded(forge: Forge, fields: dict[str, str], accept: str) -> Response:
    try:
        given = oauth.trade(forge, fields)
    except ApiError as error:
        return Response(json.dumps({"error": error.message}), error.status, {}, "application/json")
    if "json" in accept:
        return Response(json.dumps(given), media_type="application/json; charset=utf-8")
    form = "application/x-www-form-urlencoded; charset=utf-8"
    return Response(urlencode(given), media_type=form)


def _sent(address: str) -> Response:
    return RedirectResponse(address, HTTPStatus.FOUND, {"Cache-Control": "no-store"})
