"""Refusals over HTTP: one sentence, as JSON for programs and as a page for people."""

from http import HTTPStatus
from math import ceil

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.letters import Letters

PROGRAMS = ("/api/", "/hooks/", "/healthz", "/readyz", "/metrics", "/static/")


class Problem(Exception):
    """A request that will not be served; `field` names what was wrong with it, where one was."""

    def __init__(self, status: int, sentence: str, *, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.field = field


def answer(request: Request, problem: Problem) -> Response:
    """Return a problem in the form that its reader wants."""
    sentence = str(problem)
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == HTTPStatus.UNAUTHORIZED else None
    if request.url.path.startswith(PROGRAMS):
        body = {"error": sentence, "field": problem.field}
        return JSONResponse(body, status_code=problem.status, headers=headers)
    pages: Letters = request.app.state.parts.pages
    facts = {"status": problem.status, "sentence": sentence}
    return HTMLResponse(pages.render("problem.html.j2", facts), status_code=problem.status)


async def on_problem(request: Request, error: Exception) -> Response:
    """Answer what a handler refused."""
    response = answer(request, sort(error))
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    if isinstance(error, Unavailable) and error.retry_after_s > 0:
        response.headers["Retry-After"] = str(ceil(error.retry_after_s))
    return response


def sort(error: Exception) -> Problem:
    """Return the problem that an error means for whoever asked."""
    match error:
        case Problem():
            return error
        case Missing():
            return Problem(HTTPStatus.NOT_FOUND, str(error))
        case Refused():
            return Problem(HTTPStatus.CONFLICT, str(error))
        case Unavailable():
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}; try again in a moment")
        case HTTPException(status_code=HTTPStatus.NOT_FOUND):
            return Problem(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        case HTTPException(status_code=HTTPStatus.METHOD_NOT_ALLOWED):
            sentence = "this address does not take that method"
            return Problem(HTTPStatus.METHOD_NOT_ALLOWED, sentence)
        case HTTPException():
            return Problem(error.status_code, error.detail)
        case _:
            sentence = "something went wrong here; the server's log has the details"
            return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, sentence)


HANDLED = (Problem, Refused, Unavailable, HTTPException)
