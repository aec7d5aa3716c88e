"""GitHub's sign-in for other sites: OAuth's code flow, with PKCE where the site asks for it.

    authorize?client_id -> a page that asks who it is -> back to the site with a code -> token

GitHub knows its users by a session of theirs. Here whoever signs in shows a token of the forge.
"""

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit

from mergebot.localforge import access, people
from mergebot.localforge.errors import ApiError, not_found
from mergebot.localforge.forge import Forge
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

CODE_S = 600.0
"""GitHub's codes end after ten minutes."""

HELP = "/apps/managing-oauth-apps/troubleshooting"
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
DENIED = "The user has denied your application access."
ELSEWHERE = "The redirect_uri MUST match the registered callback URL for this application."


@dataclass(frozen=True, slots=True)
class Code:
    """What a code stands for, until `until` and once."""

    client_id: str
    user_id: int
    back: str
    challenge: str
    until: float


def register(forge: Forge, name: str, callback: str, *, kind: str = "Ov23") -> tuple[str, str]:
    """Make an OAuth App; return its client id, which begins with `kind`, and, once, its secret."""
    client_id, secret = f"{kind}{secrets.token_hex(8)}", secrets.token_hex(20)
    with forge.store.write():
        forge.store.run(
            "INSERT INTO oauth_apps (name, client_id, secret, callback_url, created_at)"
            " VALUES (?, ?, ?, ?, ?)",
            *(name, client_id, people.digest(secret), callback, now()),
        )
    return client_id, secret


def app_of(forge: Forge, query: dict[str, str]) -> Row:
    """Return the App that a request names; an unknown one is not found."""
    client_id = query.get("client_id", "")
    found = forge.store.one("SELECT * FROM oauth_apps WHERE client_id = ?", client_id)
    if found is None:
        raise not_found()
    return found


def back_of(app: Row, query: dict[str, str]) -> str:
    """Return where the browser goes back to, "" where the App did not register that place."""
    registered, asked = str(app["callback_url"]), query.get("redirect_uri", "")
    if not asked:
        return registered
    ours, theirs = urlsplit(registered), urlsplit(asked)
    # On loopback any port will do: a program there gets whichever is free.
    near = ours.hostname in LOOPBACK and ours.hostname == theirs.hostname
    same = near or ours.netloc == theirs.netloc
    below = theirs.path == ours.path or theirs.path.startswith(ours.path.rstrip("/") + "/")
    clean = ".." not in theirs.path and not theirs.fragment and "@" not in theirs.netloc
    return asked if same and below and clean and ours.scheme == theirs.scheme else ""


def elsewhere(app: Row, query: dict[str, str]) -> str:
    """Return the address that tells the App of a place it did not register."""
    error = {"error": "redirect_uri_mismatch", "error_description": ELSEWHERE}
    return _with(str(app["callback_url"]), error, query)


def denied(back: str, query: dict[str, str]) -> str:
    """Return the address that tells the App that somebody would rather not."""
    return _with(back, {"error": "access_denied", "error_description": DENIED}, query)


def grant(forge: Forge, query: dict[str, str], back: str, token: str) -> str:
    """Return the address with a code for whoever holds `token`; raises ApiError for nobody."""
    caller = access.from_token(forge, token)
    if caller.kind != "pat" or caller.user is None:
        raise access.bad_credentials()
    code = secrets.token_hex(10)
    challenge = query.get("code_challenge", "")
    forge.codes[code] = Code(
        query["client_id"], caller.user["id"], back, challenge, time.time() + CODE_S
    )
    return _with(back, {"code": code}, query)


def trade(forge: Forge, body: dict[str, str]) -> dict[str, str]:
    """Return a token for a code, or the error that GitHub answers with; the code is spent."""
    app = app_of(forge, body)
    if not compare_digest(people.digest(body.get("client_secret", "")), app["secret"]):
        what = "The client_id and/or client_secret passed are incorrect."
        return _error("incorrect_client_credentials", what)
    code = forge.codes.pop(body.get("code", ""), None)
    good = code is not None and code.client_id == app["client_id"] and time.time() < code.until
    if code is None or not good or not _fits(code.challenge, body.get("code_verifier", "")):
        return _error("bad_verification_code", "The code passed is incorrect or expired.")
    if body.get("redirect_uri", code.back) != code.back:
        return _error("redirect_uri_mismatch", ELSEWHERE)
    token = people.mint_for_site(forge.store, code.user_id)
    return {"access_token": token, "token_type": "bearer", "scope": ""}


def _fits(challenge: str, verifier: str) -> bool:
    if not challenge:
        return True
    digest = hashlib.sha256(verifier.encode()).digest()
    return compare_digest(base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), challenge)


def _error(name: str, text: str) -> dict[str, str]:
    place = f"{HELP}-oauth-app-access-token-request-errors/#{name.replace('_', '-')}"
    return {"error": name, "error_description": text, "error_uri": place}


def _with(address: str, more: dict[str, str], query: dict[str, str]) -> str:
    state = {"state": query["state"]} if query.get("state") else {}
    parts = urlsplit(address)
    given = [*parse_qsl(parts.query), *more.items(), *state.items()]
    return parts._replace(query=urlencode(given)).geturl()


def checked(query: dict[str, str]) -> None:
    """Refuse a challenge of a kind that GitHub does not take."""
    if query.get("code_challenge") and query.get("code_challenge_method") != "S256":
        raise ApiError(HTTPStatus.BAD_REQUEST, "code_challenge_method must be S256")
