"""The API of the claims: who may change which files, taking and giving back, and the audit."""

from collections.abc import Callable
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mergebot.domain.costs import Unusable
from mergebot.domain.dispatching import Nothing
from mergebot.domain.holding import (
    Deed,
    Denied,
    Done,
    Extend,
    Overseer,
    Park,
    Reclaim,
    Release,
    Renew,
    Right,
    Unpark,
)
from mergebot.domain.ids import Lane
from mergebot.domain.importing import ImportFaults, read_claims_file
from mergebot.domain.ledger import Taken, proof_of
from mergebot.domain.limits import PARK_REVIEW_S
from mergebot.ports.forge import Permission
from mergebot.services.boarding import claim_view
from mergebot.services.claim_desk import ClaimDesk, given_view, nothing_view, owned_view
from mergebot.services.claiming import Owned, Wanted, protected_fault
from mergebot.services.costing import Booked, Reporter
from mergebot.services.dispatching import Applicant, Given
from mergebot.web.auth import Caller, demand, visible_lane
from mergebot.web.bodies import fields, sentence_of
from mergebot.web.claims_bodies import (
    Fields,
    block_of,
    branch_of,
    choice_of,
    generation_of,
    line_of,
    patterns_of,
    reported_of,
    review_of,
    secret_of,
    session_of,
    worktrees_of,
    wrong,
)
from mergebot.web.parts import WebParts
from mergebot.web.problems import Problem

FAULTS_SHOWN = 20
"""Lines of a refused file that are named: enough to see what is wrong with it."""

Work = Callable[[Request, Lane, Caller, Fields], Response]


def _parts(request: Request) -> WebParts:
    parts: WebParts = request.app.state.parts
    return parts


def desk_of(request: Request) -> ClaimDesk:
    """Return what does with claims what a request asks."""
    return _parts(request).claims


def board(request: Request) -> Response:
    """Answer the whole board."""
    return JSONResponse(desk_of(request).board(visible_lane(request)))


def show(request: Request) -> Response:
    """Answer one claim and its story."""
    lane = visible_lane(request)
    name = request.path_params["id"]
    found = desk_of(request).show(lane, name)
    if found is None:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no claim {name[:60]} in {lane.repo}")
    return JSONResponse(found)


def look_over(request: Request) -> Response:
    """Answer what an audit would do now; it asks the forge, so it wants somebody known."""
    lane = visible_lane(request)
    demand(request, lane, needed=Permission.READ)
    return JSONResponse(desk_of(request).look_over(lane))


def asking(needed: Permission, work: Work) -> Callable[..., object]:
    """Return the endpoint of something that needs a permission."""

    async def endpoint(request: Request) -> Response:
        found = await fields(request)
        return await run_in_threadpool(_work, request, found)

    def _work(request: Request, found: Fields) -> Response:
        lane = visible_lane(request)
        return work(request, lane, demand(request, lane, needed=needed), found)

    return endpoint


def _claim(request: Request, lane: Lane, who: Caller, found: Fields) -> Response:
    block = block_of(found)
    wanted = Wanted(
        task=block.task,
        patterns=block.patterns,
        assumes=block.assumes,
        owner=line_of(found, "owner") or who.actor.login,
        branch=branch_of(found),
        permission=who.permission,
        session=secret_of(found),
    )
    desk = desk_of(request)
    match desk.claim(lane, wanted):
        case Owned() as owned:
            return JSONResponse(owned_view(owned), status_code=HTTPStatus.CREATED)
        case Taken() as taken:
            return JSONResponse(desk.taken_view(taken), status_code=HTTPStatus.CONFLICT)
        case Denied(sentence):
            raise Problem(HTTPStatus.FORBIDDEN, sentence, field="claims")


def _next(request: Request, lane: Lane, who: Caller, found: Fields) -> Response:
    applicant = Applicant(
        owner=line_of(found, "owner") or who.actor.login,
        permission=who.permission,
        branch=branch_of(found),
        patterns=patterns_of(found) if "claims" in found else (),
        session=secret_of(found),
    )
    fault = protected_fault(desk_of(request).parts, lane, applicant.patterns, who.permission)
    if fault:
        raise Problem(HTTPStatus.FORBIDDEN, fault, field="claims")
    match desk_of(request).next(lane, applicant):
        case Given() as given:
            return JSONResponse(given_view(given), status_code=HTTPStatus.CREATED)
        case Nothing() as nothing:
            return JSONResponse(nothing_view(nothing), status_code=HTTPStatus.CONFLICT)


def _import(request: Request, lane: Lane, who: Caller, found: Fields) -> Response:
    text = found.get("file")
    if not isinstance(text, str) or not text.strip():
        raise wrong("file", "file must be the text of a claims file: lines of task | owner | time")
    lines = read_claims_file(text)
    if isinstance(lines, ImportFaults):
        raise wrong("file", " ".join(lines.faults[:FAULTS_SHOWN]))
    for line in lines:
        fault = protected_fault(desk_of(request).parts, lane, line.patterns, who.permission)
        if fault:
            raise Problem(HTTPStatus.FORBIDDEN, f"Line {line.number}: {fault}", field="file")
    return JSONResponse(desk_of(request).take_over(lane, lines))


def _audit(request: Request, lane: Lane, _who: Caller, _found: Fields) -> Response:
    return JSONResponse(desk_of(request).audit(lane))


def _worktrees(request: Request, lane: Lane, _who: Caller, found: Fields) -> Response:
    host = line_of(found, "host")
    if not host:
        raise wrong("host", "host must name the machine that reports")
    trees = worktrees_of(found)
    concerned = desk_of(request).report(lane, host, trees)
    return JSONResponse({"host": host, "worktrees": len(trees), "claims": concerned})


def _decide(request: Request, lane: Lane, who: Caller, found: Fields) -> Response:
    name, choice = request.path_params["id"], choice_of(found)
    reason = sentence_of(found, "reason")
    desk_of(request).decide(lane, name, choice, by=who.actor, reason=reason)
    return JSONResponse({"id": name, "choice": choice, "by": who.actor.login, "reason": reason})


def _cost(request: Request, lane: Lane, who: Caller, found: Fields) -> Response:
    name, said = request.path_params["id"], reported_of(found)
    proof = proof_of(line_of(found, "token"))
    desk = desk_of(request)
    match desk.report_cost(lane, name, said, Reporter(who.actor, who.permission, proof)):
        case Booked() as booked:
            status = HTTPStatus.CREATED if booked.fresh else HTTPStatus.OK
            return JSONResponse(desk.booked_view(lane, booked), status_code=status)
        case Unusable(sentence, "unit"):
            raise wrong("unit", sentence)
        case Unusable(sentence, field):
            raise Problem(HTTPStatus.CONFLICT, sentence, field=field)
        case Denied(sentence, gone):
            raise Problem(HTTPStatus.NOT_FOUND if gone else HTTPStatus.FORBIDDEN, sentence)


def acting(read: Callable[[WebParts, Lane, Caller, Fields], Deed]) -> Callable[..., object]:
    """Return the endpoint of a deed, done by a session's token or by an admin."""

    def work(request: Request, lane: Lane, who: Caller, found: Fields) -> Response:
        deed = read(_parts(request), lane, who, found)
        name = request.path_params["id"]
        desk = desk_of(request)
        match desk.act(lane, name, deed, _right(who, found)):
            case Done(claim):
                fresh = {"token": line_of(found, "new_token")} if isinstance(deed, Reclaim) else {}
                return JSONResponse(claim_view(claim) | fresh)
            case Taken() as taken:
                return JSONResponse(desk.taken_view(taken), status_code=HTTPStatus.CONFLICT)
            case Denied(sentence, gone):
                status = HTTPStatus.NOT_FOUND if gone else HTTPStatus.CONFLICT
                raise Problem(status, sentence)

    return asking(Permission.WRITE, work)


def _right(who: Caller, found: Fields) -> Right:
    session = session_of(found)
    if session is not None:
        return session
    if who.permission < Permission.ADMIN:
        sentence = "send the claim's token and generation, or ask as an admin"
        raise Problem(HTTPStatus.FORBIDDEN, sentence, field="token")
    return Overseer(who.actor.login, generation_of(found))


def _release(_parts: WebParts, _lane: Lane, _who: Caller, found: Fields) -> Deed:
    return Release(line_of(found, "reason", most=500))


def _park(parts: WebParts, _lane: Lane, _who: Caller, found: Fields) -> Deed:
    default = parts.clock.now() + PARK_REVIEW_S
    return Park(sentence_of(found, "reason"), review_of(found, default))


def _unpark(_parts: WebParts, _lane: Lane, _who: Caller, _found: Fields) -> Deed:
    return Unpark()


def _renew(_parts: WebParts, _lane: Lane, _who: Caller, _found: Fields) -> Deed:
    return Renew()


def _extend(parts: WebParts, lane: Lane, who: Caller, found: Fields) -> Deed:
    patterns = patterns_of(found)
    fault = protected_fault(parts.claims.parts, lane, patterns, who.permission)
    if fault:
        raise Problem(HTTPStatus.FORBIDDEN, fault, field="claims")
    return Extend(patterns, branch_of(found))


def _reclaim(parts: WebParts, _lane: Lane, who: Caller, found: Fields) -> Deed:
    token = parts.claims.parts.tokens.new()
    found["new_token"] = token
    return Reclaim(line_of(found, "owner") or who.actor.login, proof_of(token))


CLAIMS = "/repos/{owner}/{repo}/claims"
ONE = CLAIMS + "/{id:str}"

ROUTES = [
    Route(CLAIMS, board),
    Route(CLAIMS, asking(Permission.WRITE, _claim), methods=["POST"]),
    Route(CLAIMS + "/next", asking(Permission.WRITE, _next), methods=["POST"]),
    Route(CLAIMS + "/import", asking(Permission.MAINTAIN, _import), methods=["POST"]),
    Route(CLAIMS + "/audit", look_over),
    Route(CLAIMS + "/audit", asking(Permission.MAINTAIN, _audit), methods=["POST"]),
    Route(CLAIMS + "/worktrees", asking(Permission.WRITE, _worktrees), methods=["POST"]),
    Route(ONE, show),
    Route(ONE + "/release", acting(_release), methods=["POST"]),
    Route(ONE + "/park", acting(_park), methods=["POST"]),
    Route(ONE + "/unpark", acting(_unpark), methods=["POST"]),
    Route(ONE + "/renew", acting(_renew), methods=["POST"]),
    Route(ONE + "/extend", acting(_extend), methods=["POST"]),
    Route(ONE + "/reclaim", acting(_reclaim), methods=["POST"]),
    Route(ONE + "/cost", asking(Permission.WRITE, _cost), methods=["POST"]),
    Route(ONE + "/decide", asking(Permission.WRITE, _decide), methods=["POST"]),
]
