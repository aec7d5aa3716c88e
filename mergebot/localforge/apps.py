"""GitHub Apps: what they may do, where they are installed, and how their JWT is checked."""

import base64
import json
import time
from http import HTTPStatus
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from mergebot.localforge.errors import ApiError
from mergebot.localforge.store import Row, Store

JWT_SECONDS_MAX = 600
CLOCK_SKEW_S = 60


def _undecodable() -> ApiError:
    return ApiError(HTTPStatus.UNAUTHORIZED, "A JSON web token could not be decoded")


def _part(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def from_jwt(store: Store, token: str) -> Row:
    """Return the App that signed a JWT; refuse a wrong signature, issuer or time."""
    try:
        head, claims, signature = token.split(".")
        header, body = json.loads(_part(head)), json.loads(_part(claims))
        app = store.one("SELECT * FROM apps WHERE id = ?", int(body["iss"]))
        issued, expires = float(body.get("iat", 0)), float(body["exp"])
    except (ValueError, KeyError, TypeError) as error:
        raise _undecodable() from error
    if app is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "Integration not found")
    if header.get("alg") != "RS256" or not _signed(app, f"{head}.{claims}", _part(signature)):
        raise _undecodable()
    moment = time.time()
    if expires <= moment:
        raise ApiError(
            HTTPStatus.UNAUTHORIZED,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time"
            " at which the assertion expires",
        )
    if expires > moment + JWT_SECONDS_MAX + CLOCK_SKEW_S:
        raise ApiError(
            HTTPStatus.UNAUTHORIZED, "'Expiration time' claim ('exp') is too far in the future"
        )
    if issued > moment + CLOCK_SKEW_S:
        raise ApiError(
            HTTPStatus.UNAUTHORIZED,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion"
            " was issued",
        )
    return app


def _signed(app: Row, message: str, signature: bytes) -> bool:
    key = serialization.load_pem_public_key(app["public_key"].encode())
    if not isinstance(key, rsa.RSAPublicKey):
        return False
    try:
        key.verify(signature, message.encode(), padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def new_key() -> tuple[str, str]:
    """Return a new private key and its public half, both as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


def repositories_of(store: Store, installation: Row) -> frozenset[int]:
    """Return the ids of the repositories that an installation reaches."""
    if installation["repositories"] is not None:
        return frozenset(json.loads(installation["repositories"]))
    rows = store.all("SELECT id FROM repos WHERE owner_id = ?", installation["account_id"])
    return frozenset(row["id"] for row in rows)


def permissions_for(app: Row, asked: dict[str, Any]) -> dict[str, str] | None:
    """Return the permissions of a token: all of the App's, or the asked subset; None is refusal."""
    granted: dict[str, str] = {"metadata": "read"} | json.loads(app["permissions"])
    if not asked:
        return granted
    levels = ("none", "read", "write", "admin")
    for name, level in asked.items():
        if levels.index(granted.get(name, "none")) < levels.index(str(level)):
            return None
    return {"metadata": "read"} | {name: str(level) for name, level in asked.items()}
