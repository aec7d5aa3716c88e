"""What the forms on the pages do: the API's actions, for somebody who is signed in."""

from collections.abc import Callable
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mergebot.domain.ids import Actor, Lane
from mergebot.domain.pulls import TO_HALT
from mergebot.ports.forge import Permission
from mergebot.ports.operator import Operator
from mergebot.web.addresses import NUMBER
from mergebot.web.auth import caller_of, demand_of, visible_lane
from mergebot.web.bodies import REASON_CHARS_MAX
from mergebot.web.forms import form, signed_in
from mergebot.web.pages import REPO
from mergebot.web.problems import Problem

Fields = dict[str, str]
Do = Callable[[Operator, Lane, Actor, int, Fields], None]


def hand(needed: Permission, do: Do) -> Callable[..., object]:
    """Return the endpoint of a form that needs a permission, asked from the forge each time."""

    async def endpoint(request: Request) -> Response:
        fields = await form(request)
        return await run_in_threadpool(_act, request, fields)

    def _act(request: Request, fields: Fields) -> Response:
        session = signed_in(request, fields)
        lane = visible_lane(request)
        who = demand_of(caller_of(request, session, lane), lane, needed=needed)
        pr = request.path_params.get("number", 0)
        do(request.app.state.parts.operator, lane, who.actor, pr, fields)
        back = f"/{lane.repo}/pull/{pr}" if pr else f"/{lane.repo}"
        return RedirectResponse(back, HTTPStatus.SEE_OTHER)

    return endpoint


def _reason(fields: Fields) -> str:
    text = " ".join(fields.get("reason", "").split())
    if 0 < len(text) <= REASON_CHARS_MAX:
        return text
    sentence = f"say why, in 1 to {REASON_CHARS_MAX} characters"
    raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, field="reason")


ROUTES = [
    Route(
        REPO + f"/pull/{NUMBER}/queue",
        hand(Permission.WRITE, lambda to, lane, by, pr, _: to.enqueue(lane, pr, by)),
        methods=["POST"],
    ),
    Route(
        REPO + f"/pull/{NUMBER}/retry",
        hand(Permission.WRITE, lambda to, lane, by, pr, f: to.retry(lane, pr, by, _reason(f))),
        methods=["POST"],
    ),
    Route(
        REPO + f"/pull/{NUMBER}/cancel",
        hand(Permission.WRITE, lambda to, lane, by, pr, _: to.cancel(lane, pr, by)),
        methods=["POST"],
    ),
    Route(
        REPO + f"/pull/{NUMBER}/hold",
        hand(Permission.WRITE, lambda to, lane, by, pr, _: to.hold(lane, pr, by)),
        methods=["POST"],
    ),
    Route(
        REPO + f"/pull/{NUMBER}/unhold",
        hand(Permission.WRITE, lambda to, lane, by, pr, _: to.unhold(lane, pr, by)),
        methods=["POST"],
    ),
    Route(
        REPO + "/halt",
        hand(TO_HALT, lambda to, lane, by, _pr, f: to.halt(lane, by, _reason(f))),
        methods=["POST"],
    ),
    Route(
        REPO + "/resume",
        hand(TO_HALT, lambda to, lane, by, _pr, f: to.resume(lane, by, _reason(f))),
        methods=["POST"],
    ),
]
