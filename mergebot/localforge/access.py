"""Who calls, and whether they may: tokens, roles, and the permissions of an App's installation."""

import base64
import binascii
import json
import time
from http import HTTPStatus

from mergebot.localforge import apps, people, repositories
from mergebot.localforge.errors import ApiError, forbidden, not_found
from mergebot.localforge.forge import Forge
from mergebot.localforge.routing import Caller, Endpoint
from mergebot.localforge.store import Row

ANONYMOUS = Caller(None)
LEVELS = ("none", "read", "write", "admin")


def bad_credentials() -> ApiError:
    """Return the refusal of a token that is unknown or has expired."""
    return ApiError(HTTPStatus.UNAUTHORIZED, "Bad credentials")


def authenticate(forge: Forge, header: str) -> Caller:
    """Return the caller behind an Authorization header; refuse a token that is not good."""
    kind, _, credential = header.partition(" ")
    credential = credential.strip()
    match kind.lower():
        case "":
            return ANONYMOUS
        case "token" | "bearer" if credential.count(".") == 2:  # noqa: PLR2004 - a JWT's dots
            app = apps.from_jwt(forge.store, credential)
            return Caller(None, "app", app_id=app["id"])
        case "token" | "bearer":
            return from_token(forge, credential)
        case "basic":
            try:
                user, _, password = base64.b64decode(credential).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError) as error:
                raise bad_credentials() from error
            return from_token(forge, password or user)
        case _:
            raise bad_credentials()


def from_token(forge: Forge, token: str) -> Caller:
    """Return the caller that a token stands for."""
    row = forge.store.one("SELECT * FROM tokens WHERE digest = ?", people.digest(token))
    if row is None or (row["expires_at"] is not None and row["expires_at"] <= time.time()):
        raise bad_credentials()
    user = people.by_id(forge.store, row["user_id"])
    if row["kind"] == "pat":
        return Caller(user, "pat", token_id=row["id"])
    if row["kind"] == "oauth":
        return Caller(user, "oauth", token_id=row["id"])
    installation = forge.store.one(
        "SELECT * FROM installations WHERE id = ?", row["installation_id"]
    )
    if installation is None:
        raise bad_credentials()
    reached = apps.repositories_of(forge.store, installation)
    if row["repositories"] is not None:
        reached &= frozenset(json.loads(row["repositories"]))
    return Caller(
        user,
        "installation",
        permissions=json.loads(row["permissions"]),
        repositories=reached,
        installation_id=installation["id"],
        app_id=installation["app_id"],
        token_id=row["id"],
    )


def sees(forge: Forge, caller: Caller, repo: Row) -> bool:
    """Tell whether a caller may know that a repository exists."""
    if caller.kind == "installation":
        return not repo["private"] or repo["id"] in (caller.repositories or ())
    if caller.kind == "oauth":
        return not repo["private"]
    return repositories.role(forge.store, repo, caller.user) != "none"


def check(forge: Forge, caller: Caller, endpoint: Endpoint, repo: Row | None) -> None:
    """Refuse a caller that may not use an endpoint, in the words that GitHub uses."""
    match endpoint.need, caller.kind:
        case "anyone", _:
            return
        case "app", "app":
            return
        case "app", "anonymous":
            raise ApiError(HTTPStatus.UNAUTHORIZED, "A JSON web token could not be decoded")
        case "operator", _:
            if caller.user is None or not caller.user["site_admin"]:
                raise not_found()
        case "read", "anonymous":
            return
        case _, "anonymous" | "app":
            raise ApiError(HTTPStatus.UNAUTHORIZED, "Requires authentication")
        case _, "installation":
            _check_installation(caller, endpoint, repo)
        case _, "oauth" if endpoint.method != "GET" or endpoint.need not in {"user", "read"}:
            raise not_found()
        case "app", _:
            raise forbidden("You must authenticate via a GitHub App.")
        case _:
            _check_role(forge, caller, endpoint, repo)


def _check_installation(caller: Caller, endpoint: Endpoint, repo: Row | None) -> None:
    name, _, level = endpoint.scope.partition(":")
    held = "read" if name == "metadata" else "none"
    granted = LEVELS.index(caller.permissions.get(name, held)) >= LEVELS.index(level or "read")
    mine = repo is None or repo["id"] in (caller.repositories or ())
    if not granted or not (mine or level == "read"):
        raise forbidden("Resource not accessible by integration")


def _check_role(forge: Forge, caller: Caller, endpoint: Endpoint, repo: Row | None) -> None:
    if endpoint.scope == "checks:write":
        raise forbidden("You must authenticate via a GitHub App.")
    if repo is None or endpoint.need in {"user", "read"}:
        return
    held = repositories.role(forge.store, repo, caller.user)
    if not repositories.allows(held, endpoint.need):
        admin = endpoint.need in {"admin", "maintain"}
        word = "Must have admin rights to Repository." if admin else _PUSH
        raise forbidden(word)


_PUSH = "Must have push access to repository."
