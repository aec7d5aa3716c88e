"""Users and their tokens. Only a token's digest is kept."""

import hashlib
import json
import os
import re
import secrets
from pathlib import Path

from mergebot.localforge.errors import invalid
from mergebot.localforge.forge import ADMIN, Forge
from mergebot.localforge.store import Row, Store
from mergebot.localforge.times import now

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?(?:\[bot\])?\Z")


def digest(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def by_login(store: Store, login: str) -> Row | None:
    """Return the user with this login, in any case, or None."""
    return store.one("SELECT * FROM users WHERE login_key = ?", login.lower())


def by_id(store: Store, user_id: int) -> Row:
    """Return the user with this id; an unknown id is GitHub's `ghost`."""
    found = store.one("SELECT * FROM users WHERE id = ?", user_id)
    ghost = {"id": 10137, "login": "ghost", "name": None, "type": "User", "site_admin": 0}
    return found or ghost | {"created_at": "2012-05-01T00:00:00Z"}


def create(store: Store, login: str, name: str | None = None, *, kind: str = "User") -> Row:
    """Create a user; refuse a login that is taken or that GitHub would not allow."""
    if not _LOGIN.match(login):
        raise invalid("User", "login")
    with store.write():
        if by_login(store, login):
            raise invalid("User", "login", "already_exists")
        made = store.run(
            "INSERT INTO users (login, login_key, name, type, site_admin, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            *(login, login.lower(), name, kind, int(login == ADMIN), now()),
        )
    return by_id(store, made)


def ensure(store: Store, login: str) -> Row:
    """Return the user with this login, created where missing."""
    with store.write():
        return by_login(store, login) or create(store, login)


def mint(store: Store, user_id: int) -> str:
    """Return a new personal token of a user."""
    token = f"ghp_{secrets.token_hex(18)}"
    with store.write():
        store.run(
            "INSERT INTO tokens (digest, user_id, kind, created_at) VALUES (?, ?, 'pat', ?)",
            *(digest(token), user_id, now()),
        )
    return token


def mint_for_site(store: Store, user_id: int) -> str:
    """Return a new token by which another site knows a user: it has no scope, so it only reads."""
    token = f"gho_{secrets.token_hex(18)}"
    with store.write():
        store.run(
            "INSERT INTO tokens (digest, user_id, kind, created_at) VALUES (?, ?, 'oauth', ?)",
            *(digest(token), user_id, now()),
        )
    return token


def mint_for_installation(
    store: Store, installation: Row, permissions: dict[str, str], expires_at: float
) -> str:
    """Return a new token of an App's installation, acting as the App's bot."""
    token = f"ghs_{secrets.token_hex(18)}"
    app = store.one("SELECT * FROM apps WHERE id = ?", installation["app_id"])
    with store.write():
        store.run(
            "INSERT INTO tokens (digest, user_id, kind, installation_id, permissions, repositories,"
            " expires_at, created_at) VALUES (?, ?, 'installation', ?, ?, ?, ?, ?)",
            *(digest(token), app["bot_id"] if app else 0, installation["id"]),
            *(json.dumps(permissions), installation["repositories"], expires_at, now()),
        )
    return token


def ensure_admin(forge: Forge) -> str:
    """Make the admin on the first start; return the token kept in ROOT/admin-token."""
    path: Path = forge.root / "admin-token"
    admin = by_login(forge.store, ADMIN) or create(forge.store, ADMIN, "Administrator")
    if path.exists():
        return path.read_text("utf-8").strip()
    token = mint(forge.store, admin["id"])
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.write(f"{token}\n")
    return token
