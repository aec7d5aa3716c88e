"""Who is asking: the holder of the admin token, or somebody the forge vouches for."""

from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus

from starlette.requests import Request

from mergebot.domain.ids import Actor, Lane
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.forge import Permission
from mergebot.web.parts import WebParts
from mergebot.web.problems import Problem
from mergebot.web.session import Session, session_of

READS_S = 60.0
"""How long somebody who lost the right to read may go on reading pages that are open."""

RIGHTS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may do in the repository that they ask about."""

    actor: Actor
    permission: Permission


def caller(request: Request, lane: Lane) -> Caller | None:
    """Return who asks, None for somebody without a token; raises Problem 401 for a wrong one."""
    parts: WebParts = request.app.state.parts
    token = _bearer(request)
    if not token:
        return None
    if is_admin(parts, token):
        return Caller(admin(parts), Permission.ADMIN)
    try:
        actor = parts.forge.caller(token)
    except Refused:
        raise Problem(HTTPStatus.UNAUTHORIZED, "this token is not valid here") from None
    return Caller(actor, parts.forge.permission(lane.repo, actor))


def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() in {"bearer", "token"} else ""


def caller_of(request: Request, session: Session, lane: Lane) -> Caller | None:
    """Return what somebody who is signed in may do now; None where the admin token changed."""
    parts: WebParts = request.app.state.parts
    if session.admin:
        return Caller(session.actor, Permission.ADMIN) if _still(parts, session) else None
    return Caller(session.actor, parts.forge.permission(lane.repo, session.actor))


def is_admin(parts: WebParts, token: str) -> bool:
    """Tell whether this is the admin token; an empty one lets nobody in."""
    own = parts.settings.admin_token
    return bool(own) and compare_digest(token.encode(), own.encode())


def admin_mark(parts: WebParts) -> str:
    """Return what tells a session by the present admin token from one by an older one."""
    return parts.seals.seal("admin", parts.settings.admin_token)[:16]


def _still(parts: WebParts, session: Session) -> bool:
    return compare_digest(session.admin.encode(), admin_mark(parts).encode())


def admin(parts: WebParts) -> Actor:
    """Return the holder of the admin token, who acts through the bot's own account."""
    try:
        return Actor(parts.forge.me().id, "admin")
    except (Refused, Unavailable):
        return Actor(0, "admin")


def demand(request: Request, lane: Lane, *, needed: Permission) -> Caller:
    """Return who asks; raises Problem 401 without a token and 403 without the permission."""
    return demand_of(caller(request, lane), lane, needed=needed)


def demand_of(found: Caller | None, lane: Lane, *, needed: Permission) -> Caller:
    """Return who asks; raises Problem 401 for nobody and 403 without the permission."""
    if found is None:
        sentence = "send the admin token or your own forge token as a bearer token"
        raise Problem(HTTPStatus.UNAUTHORIZED, sentence)
    if found.permission < needed:
        has, needs = found.permission.name.lower(), needed.name.lower()
        sentence = f"{found.actor.login} has {has} permission in {lane.repo}; this needs {needs}"
        raise Problem(HTTPStatus.FORBIDDEN, sentence)
    return found


def visible_lane(request: Request) -> Lane:
    """Return the lane that the address names, if whoever asks may see it.

    Raises Problem 404 in the same words for one that is not there and one that is not theirs.
    """
    parts: WebParts = request.app.state.parts
    name = f"{request.path_params['owner']}/{request.path_params['repo']}"
    lane = parts.store.lane(name)
    if lane is None or (parts.private(lane) and not _may_read(request, lane)):
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no queue for {name[:100]} here")
    return lane


def visible_lanes(request: Request) -> list[Lane]:
    """Return the lanes that whoever asks may see, by name; the admin sees all, unasked."""
    parts: WebParts = request.app.state.parts
    lanes = sorted(parts.store.lanes(), key=lambda lane: lane.repo)
    if is_admin(parts, _bearer(request)):
        return lanes
    return [lane for lane in lanes if not parts.private(lane) or _may_read(request, lane)]


def _may_read(request: Request, lane: Lane) -> bool:
    found = caller(request, lane) or _reader(request, lane)
    return found is not None and found.permission >= Permission.READ


def _reader(request: Request, lane: Lane) -> Caller | None:
    """Return who is signed in and reads; what they may do is asked once a minute."""
    session = session_of(request)
    if session is None:
        return None
    parts: WebParts = request.app.state.parts
    rights: dict[tuple[str, int, str], tuple[float, Caller | None]] = request.app.state.rights
    key, now = (lane.key, session.actor.id, session.admin), parts.clock.now()
    at, known = rights.get(key, (-READS_S, None))
    if now - at < READS_S:
        return known
    if len(rights) >= RIGHTS_MAX:
        rights.clear()
    found = caller_of(request, session, lane)
    rights[key] = (now, found)
    return found
