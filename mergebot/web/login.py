"""Signing in to the pages: by the admin token, by one's own forge token, or through the forge."""

import base64
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mergebot.domain.ids import Actor
from mergebot.domain.setup import sign_in_address
from mergebot.ports.errors import Refused
from mergebot.web.auth import admin, admin_mark, is_admin
from mergebot.web.buckets import knock
from mergebot.web.forms import form, inner, signed_in
from mergebot.web.parts import WebParts
from mergebot.web.problems import Problem
from mergebot.web.session import (
    ROUNDTRIPS,
    Session,
    drop_cookie,
    is_secure,
    new_session,
    session_of,
    set_cookie,
)

TOKEN_CHARS_MAX = 500
ROUNDTRIP_S = 600
ONWARD_CHARS_MAX = 500
STATE = "mergebot-oauth"
VERIFIERS = "oauth-verifier"
"""Never leaves this host but for the forge: whoever steals a code cannot redeem it."""


def page(request: Request) -> Response:
    """Show the form."""
    parts: WebParts = request.app.state.parts
    facts = {
        "next": inner(request.query_params.get("next", "/")),
        "signed_in": session_of(request),
        "oauth": parts.sign_in is not None,
    }
    return HTMLResponse(parts.pages.render("login.html.j2", facts))


async def sign_in(request: Request) -> Response:
    """Take a token and keep who it belongs to; the token itself is not kept."""
    knock(request, request.app.state.login_buckets)
    fields = await form(request)
    token = fields.get("token", "").strip()
    session = await run_in_threadpool(_session, request, token)
    answer = RedirectResponse(inner(fields.get("next", "/")), HTTPStatus.SEE_OTHER)
    set_cookie(request, answer, session)
    return answer


async def sign_out(request: Request) -> Response:
    """Forget who is signed in."""
    signed_in(request, await form(request))
    answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    drop_cookie(request, answer)
    return answer


def to_forge(request: Request) -> Response:
    """Send somebody to the forge to say who they are."""
    parts: WebParts = request.app.state.parts
    if parts.sign_in is None:
        raise Problem(HTTPStatus.NOT_FOUND, "signing in through the forge is not set up here")
    knock(request, request.app.state.login_buckets)
    session = new_session(Actor(0, ""), parts.clock.now())
    state = f"{session.nonce}.{parts.seals.seal(ROUNDTRIPS, session.nonce)}"
    verifier = parts.seals.seal(VERIFIERS, session.nonce)
    address = parts.sign_in.address(state, _back(parts), verifier=verifier)
    answer = RedirectResponse(address, HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        STATE,
        f"{state}.{_packed(request.query_params.get('next', '/'))}",
        max_age=ROUNDTRIP_S,
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
        path="/login",
    )
    return answer


def from_forge(request: Request) -> Response:
    """Take the forge's word for who came back, if it was this browser that was sent there."""
    parts: WebParts = request.app.state.parts
    given = request.query_params.get("state", "")
    kept, _, onward = request.cookies.get(STATE, "").rpartition(".")
    nonce, _, seal = given.partition(".")
    if parts.sign_in is None or not given or given != kept:
        raise Problem(HTTPStatus.FORBIDDEN, "this browser did not ask to sign in: begin again")
    if not parts.seals.sealed(ROUNDTRIPS, nonce, seal):
        raise Problem(HTTPStatus.FORBIDDEN, "this sign-in did not begin here: begin again")
    if request.query_params.get("error"):
        raise Problem(HTTPStatus.FORBIDDEN, "the forge did not say who you are: begin again")
    code, verifier = request.query_params.get("code", ""), parts.seals.seal(VERIFIERS, nonce)
    token = parts.sign_in.token(code, _back(parts), verifier=verifier)
    session = new_session(parts.forge.caller(token), parts.clock.now())
    answer = RedirectResponse(_unpacked(onward), HTTPStatus.SEE_OTHER)
    answer.delete_cookie(STATE, path="/login")
    set_cookie(request, answer, session)
    return answer


def _session(request: Request, token: str) -> Session:
    parts: WebParts = request.app.state.parts
    now = parts.clock.now()
    if not 0 < len(token) <= TOKEN_CHARS_MAX or not token.isascii():
        raise Problem(HTTPStatus.UNAUTHORIZED, "this token is not valid here")
    if is_admin(parts, token):
        return new_session(admin(parts), now, admin=admin_mark(parts))
    try:
        return new_session(parts.forge.caller(token), now)
    except Refused:
        raise Problem(HTTPStatus.UNAUTHORIZED, "this token is not valid here") from None


def _packed(onward: str) -> str:
    return base64.urlsafe_b64encode(inner(onward)[:ONWARD_CHARS_MAX].encode()).decode()


def _unpacked(packed: str) -> str:
    try:
        return inner(base64.urlsafe_b64decode(packed).decode())
    except ValueError:
        return "/"


def _back(parts: WebParts) -> str:
    return sign_in_address(parts.settings.public_url)


ROUTES = [
    Route("/login", page, methods=["GET"]),
    Route("/login", sign_in, methods=["POST"]),
    Route("/login/forge", to_forge),
    Route("/login/back", from_forge),
    Route("/logout", sign_out, methods=["POST"]),
]
