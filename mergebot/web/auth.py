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


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and what they may do in the repository that they ask about."""

    actor: Actor
    permission: Permission


def caller(request: Request, lane: Lane) -> Caller | None:
    """Return who asks, None for somebody without a token; raises Problem 401 for a wrong one."""
    parts: WebParts = request.app.state.parts
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    if not token or scheme.lower() not in {"bearer", "token"}:
        return None
    admin = parts.settings.admin_token
    if admin and compare_digest(token.encode(), admin.encode()):
        return Caller(_admin(parts), Permission.ADMIN)
    try:
        actor = parts.forge.caller(token)
    except Refused:
        raise Problem(HTTPStatus.UNAUTHORIZED, "this token is not valid here") from None
    return Caller(actor, parts.forge.permission(lane.repo, actor))


def _admin(parts: WebParts) -> Actor:
    """Return the holder of the admin token, who acts through the bot's own account."""
    try:
        return Actor(parts.forge.me().id, "admin")
    except (Refused, Unavailable):
        return Actor(0, "admin")


def demand(request: Request, lane: Lane, *, needed: Permission) -> Caller:
    """Return who asks; raises Problem 401 without a token and 403 without the permission."""
    found = caller(request, lane)
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
    """Return the lanes that whoever asks may see, by name."""
    parts: WebParts = request.app.state.parts
    lanes = sorted(parts.store.lanes(), key=lambda lane: lane.repo)
    return [lane for lane in lanes if not parts.private(lane) or _may_read(request, lane)]


def _may_read(request: Request, lane: Lane) -> bool:
    found = caller(request, lane)
    return found is not None and found.permission >= Permission.READ
