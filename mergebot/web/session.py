"""Who is signed in to the pages: a sealed cookie, and a token in each form that it fits.

A session says who somebody is and for how long, and nothing of what they may do: that is asked
from the forge. It is sealed with a key that is derived from the signing key, so nobody can make
one. It opens the pages only; the API takes no cookies, because programs carry no form tokens.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from hmac import compare_digest
from secrets import token_urlsafe

from starlette.requests import Request
from starlette.responses import Response

from mergebot.domain.ids import Actor
from mergebot.ports.signing import SESSIONS, Seals

SESSION_S = 8 * 3600
"""A working day; after that somebody signs in again."""

FORMS = "form"
ROUNDTRIPS = "oauth"


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody signed in until `until` (Unix seconds).

    `admin` is empty but for who gave the admin token: then it is the mark of that very token.
    """

    actor: Actor
    admin: str
    until: float
    nonce: str


def new_session(actor: Actor, now: float, *, admin: str = "") -> Session:
    """Return a session that begins now."""
    return Session(actor, admin, now + SESSION_S, token_urlsafe(24))


def form_token(seals: Seals, session: Session) -> str:
    """Return what every form of this session must carry."""
    return seals.seal(FORMS, session.nonce)


def fits(seals: Seals, session: Session, token: str) -> bool:
    """Tell whether a form was made for this session."""
    return compare_digest(form_token(seals, session).encode(), token.encode())


def written(seals: Seals, session: Session) -> str:
    """Return the session as the value of a cookie."""
    facts = [session.actor.id, session.actor.login, session.admin, session.until, session.nonce]
    text = json.dumps(facts)
    return f"{base64.urlsafe_b64encode(text.encode()).decode()}.{seals.seal(SESSIONS, text)}"


def read(seals: Seals, value: str, now: float) -> Session | None:
    """Return the session that a cookie holds, None for one that is over or was not made here."""
    encoded, _, seal = value.partition(".")
    try:
        text = base64.urlsafe_b64decode(encoded.encode()).decode()
    except (binascii.Error, ValueError):
        return None
    if not seals.sealed(SESSIONS, text, seal):
        return None
    number, login, admin, until, nonce = json.loads(text)
    return Session(Actor(number, login), admin, until, nonce) if now < until else None


def session_of(request: Request) -> Session | None:
    """Return who is signed in."""
    parts = request.app.state.parts
    value = request.cookies.get(cookie_name(request), "")
    return read(parts.seals, value, parts.clock.now()) if value else None


def set_cookie(request: Request, answer: Response, session: Session) -> None:
    """Let the browser keep a session, out of the reach of any script."""
    value = written(request.app.state.parts.seals, session)
    answer.set_cookie(
        cookie_name(request),
        value,
        max_age=SESSION_S,
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
        path="/",
    )


def drop_cookie(request: Request, answer: Response) -> None:
    """Let the browser forget its session."""
    answer.delete_cookie(
        cookie_name(request), secure=is_secure(request), httponly=True, samesite="lax", path="/"
    )


def cookie_name(request: Request) -> str:
    """Return the cookie's name; with https, one that no neighbouring host can set."""
    return "__Host-mergebot" if is_secure(request) else "mergebot"


def is_secure(request: Request) -> bool:
    """Tell whether people reach the pages by https."""
    url: str = request.app.state.parts.settings.public_url
    return url.startswith("https://")
