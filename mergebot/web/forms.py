"""Reading forms of the pages, and who may have sent them."""

from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from mergebot.web.bodies import read
from mergebot.web.problems import Problem
from mergebot.web.session import Session, fits, session_of

FORM_BYTES_MAX = 16 * 1024
FIELDS_MAX = 20


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form that one of our own pages sent; raises Problem."""
    _from_here(request)
    body = await read(request, limit=FORM_BYTES_MAX)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError:
        raise Problem(HTTPStatus.BAD_REQUEST, "the form cannot be read") from None
    return dict(pairs)


def signed_in(request: Request, fields: dict[str, str]) -> Session:
    """Return whose form it is; raises Problem 401 and 403."""
    session = session_of(request)
    if session is None:
        raise Problem(HTTPStatus.UNAUTHORIZED, "sign in first: your session is over")
    if not fits(request.app.state.parts.seals, session, fields.get("form", "")):
        sentence = "this form was not made for your session: load the page again"
        raise Problem(HTTPStatus.FORBIDDEN, sentence)
    return session


def inner(address: str) -> str:
    """Return an address of these pages to go on to, "/" for one that leads elsewhere."""
    plain = address.isprintable() and "\\" not in address
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"


def _from_here(request: Request) -> None:
    """Refuse what another site sends; every browser names itself on such a request."""
    origin = request.headers.get("origin", "")
    ours = {request.headers.get("host", ""), _host(request.app.state.parts.settings.public_url)}
    site = request.headers.get("sec-fetch-site", "same-origin")
    if _host(origin) not in ours or site not in {"same-origin", "none"}:
        raise Problem(HTTPStatus.FORBIDDEN, "this form came from another site")


def _host(address: str) -> str:
    return urlsplit(address).netloc
