"""The pages that people read; each shows the facts of its JSON twin."""

from http import HTTPStatus
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from mergebot.domain.status import Document
from mergebot.web.addresses import NUMBER
from mergebot.web.api import candidate_of, find, parts_of, run_name
from mergebot.web.auth import visible_lane, visible_lanes
from mergebot.web.problems import Problem
from mergebot.web.session import form_token, session_of

PAGE_SIZE = 50
LOG_CHARS_SHOWN = 64_000
"""Of a log, its end, in the page itself; the rest is one link away."""


def _page(request: Request, template: str, view: Document, **more: object) -> Response:
    parts, session = parts_of(request), session_of(request)
    kept = {key: value for key, value in request.query_params.items() if key in {"q", "per_page"}}
    facts: Document = {
        "view": view,
        "repo": view.get("repo"),
        "path": request.url.path,
        "query": urlencode(kept),
        "forge_url": parts.settings.forge_url.rstrip("/"),
        "signed_in": session,
        "form": form_token(parts.seals, session) if session else "",
        **more,
    }
    return HTMLResponse(parts.pages.render(template, facts))


def overview(request: Request) -> Response:
    """Show every lane."""
    view = parts_of(request).reporting.overview(visible_lanes(request))
    return _page(request, "overview.html.j2", view)


def queue(request: Request) -> Response:
    """Show one queue."""
    lane = visible_lane(request)
    view = parts_of(request).reporting.queue(lane, find(request, size=PAGE_SIZE))
    return _page(request, "queue.html.j2", view)


def pull(request: Request) -> Response:
    """Show one PR's whole story, and its gate's output as it grows."""
    lane = visible_lane(request)
    view = candidate_of(request, lane)
    run, text, offset, ended = view["run"], "", 0, True
    if isinstance(run, str):
        text, offset, ended = parts_of(request).reporting.log(lane, run, offset=0)
    log = {
        "text": text[-LOG_CHARS_SHOWN:],
        "cut": len(text) > LOG_CHARS_SHOWN,
        "offset": offset,
        "ended": ended,
    }
    return _page(request, "pull.html.j2", view, log=log)


def gate_log(request: Request) -> Response:
    """Show a gate run's whole output as plain text."""
    lane = visible_lane(request)
    run = run_name(request.path_params["run"])
    text, offset, _ended = parts_of(request).reporting.log(lane, run, offset=0)
    if not offset:
        sentence = (
            "this gate run has no output here: it printed nothing yet, or it was too long ago"
        )
        raise Problem(HTTPStatus.NOT_FOUND, sentence)
    return PlainTextResponse(text)


def claims(request: Request) -> Response:
    """Show who may change which files."""
    view = parts_of(request).claims.board(visible_lane(request))
    return _page(request, "claims.html.j2", view)


def landings(request: Request) -> Response:
    """Show what landed, with receipts."""
    lane = visible_lane(request)
    view = parts_of(request).reporting.landings(lane, find(request, size=PAGE_SIZE))
    return _page(request, "landings.html.j2", view)


def audit(request: Request) -> Response:
    """Show what people did by hand."""
    view = parts_of(request).reporting.audit(visible_lane(request))
    return _page(request, "audit.html.j2", view)


def stats(request: Request) -> Response:
    """Show where the time goes."""
    lane = visible_lane(request)
    view = parts_of(request).statistics.of(lane)
    return _page(request, "stats.html.j2", view | {"repo": lane.repo})


REPO = "/{owner}/{repo}"

ROUTES = [
    Route("/", overview),
    Route(REPO, queue),
    Route(REPO + f"/pull/{NUMBER}", pull),
    Route(REPO + f"/pull/{NUMBER}/log/{{run}}", gate_log),
    Route(REPO + "/claims", claims),
    Route(REPO + "/landings", landings),
    Route(REPO + "/audit", audit),
    Route(REPO + "/stats", stats),
]
