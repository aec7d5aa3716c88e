"""The SSH keys by which an account signs commits."""

from typing import Any

from mergebot.localforge import people, signatures
from mergebot.localforge.errors import invalid, not_found
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

MINE = "/user/ssh_signing_keys"
ONE = f"{MINE}/{{id:int}}"


def _shown(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "key", "title", "created_at")}


def _of(call: Call, user: Row) -> list[Row]:
    return call.store.all("SELECT * FROM signing_keys WHERE user_id = ? ORDER BY id", user["id"])


def _found(call: Call) -> Row:
    number = int(call.params["id"])
    row = next((each for each in _of(call, call.user) if each["id"] == number), None)
    if row is None:
        raise not_found()
    return row


@endpoint("GET", MINE, "user")
def mine(call: Call) -> Reply:
    """List the caller's signing keys."""
    return ok([_shown(row) for row in call.page(_of(call, call.user))])


@endpoint("POST", MINE, "user")
def add(call: Call) -> Reply:
    """Register a signing key; no two accounts have the same."""
    key = " ".join(call.text("SshSigningKey", "key").split()[:2])
    known = signatures.fingerprint(key)
    if not known:
        raise invalid("SshSigningKey", "key")
    with call.store.write():
        if call.store.one("SELECT 1 FROM signing_keys WHERE fingerprint = ?", known):
            raise invalid("SshSigningKey", "key", "already_exists")
        call.params["id"] = str(
            call.store.run(
                "INSERT INTO signing_keys (user_id, title, key, fingerprint, created_at)"
                " VALUES (?, ?, ?, ?, ?)",
                *(call.user["id"], str(call.body.get("title") or ""), key, known, now()),
            )
        )
    return created(_shown(_found(call)))


@endpoint("GET", ONE, "user")
def get(call: Call) -> Reply:
    """Return one of the caller's signing keys."""
    return ok(_shown(_found(call)))


@endpoint("DELETE", ONE, "user")
def delete(call: Call) -> Reply:
    """Forget a signing key: what it signed is verified no more."""
    row = _found(call)
    with call.store.write():
        call.store.run("DELETE FROM signing_keys WHERE id = ?", row["id"])
    return no_content()


@endpoint("GET", "/users/{login}/ssh_signing_keys", "anyone")
def of_user(call: Call) -> Reply:
    """List a user's signing keys."""
    user = people.by_login(call.store, call.params["login"])
    if user is None:
        raise not_found()
    return ok([_shown(row) for row in call.page(_of(call, user))])
