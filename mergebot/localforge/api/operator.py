"""What is the forge's own and not GitHub's: users, tokens, faults and switches, for the admin."""

import json
from typing import Any

from mergebot.localforge import apps, oauth, people
from mergebot.localforge.api import installing
from mergebot.localforge.errors import custom, invalid, not_found
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

SWITCHES = ("closed_instead_of_merged", "mergeable_nulls", "rate_limit")


@endpoint("GET", "/_forge/healthz", "anyone")
def healthz(_: Call) -> Reply:
    """Answer that the forge is up."""
    return ok({"ok": True})


@endpoint("POST", "/_forge/users", "operator")
def create_user(call: Call) -> Reply:
    """Create a user, or return the one that exists, with a new token."""
    login = call.text("User", "login")
    row = people.by_login(call.store, login)
    if row is None:
        kind = str(call.body.get("type", "User"))
        row = people.create(call.store, login, call.body.get("name"), kind=kind)
    token = people.mint(call.store, row["id"])
    return created({"id": row["id"], "login": row["login"], "token": token})


@endpoint("POST", "/_forge/tokens", "operator")
def create_token(call: Call) -> Reply:
    """Return a new token of a user."""
    row = people.by_login(call.store, call.text("Token", "login"))
    if row is None:
        raise not_found()
    return created({"login": row["login"], "token": people.mint(call.store, row["id"])})


@endpoint("POST", "/_forge/faults", "operator")
def add_fault(call: Call) -> Reply:
    """Add a rule that makes something go wrong."""
    return created(call.forge.faults.add(call.body).shown())


@endpoint("GET", "/_forge/faults", "operator")
def faults(call: Call) -> Reply:
    """List the rules in force."""
    return ok([rule.shown() for rule in call.forge.faults.all()])


@endpoint("DELETE", "/_forge/faults", "operator")
def end_faults(call: Call) -> Reply:
    """End all trouble."""
    call.forge.faults.remove(None)
    return no_content()


@endpoint("DELETE", "/_forge/faults/{id:int}", "operator")
def end_fault(call: Call) -> Reply:
    """End one rule."""
    call.forge.faults.remove(int(call.params["id"]))
    return no_content()


@endpoint("GET", "/_forge/switches", "operator")
def switches(call: Call) -> Reply:
    """Return the switches that were set."""
    rows = call.store.all("SELECT * FROM switches ORDER BY name")
    return ok({row["name"]: json.loads(row["value"]) for row in rows})


@endpoint("POST", "/_forge/switches", "operator")
def set_switches(call: Call) -> Reply:
    """Set switches by name; null returns one to its default."""
    unknown = sorted(set(call.body) - set(SWITCHES))
    if unknown:
        allowed = ", ".join(SWITCHES)
        raise custom("Switch", f"{unknown[0]} is no switch; allowed are {allowed}", unknown[0])
    with call.store.write():
        for name, value in call.body.items():
            if value is None:
                call.store.run("DELETE FROM switches WHERE name = ?", name)
            else:
                call.store.run(
                    "INSERT OR REPLACE INTO switches VALUES (?, ?)", name, json.dumps(value)
                )
    return switches(call)


@endpoint("POST", "/_forge/apps", "operator")
def create_app(call: Call) -> Reply:
    """Create a GitHub App; return its id and, once, its private key."""
    call.text("App", "name")
    owner = people.by_login(call.store, str(call.body.get("owner", call.user["login"])))
    if owner is None:
        raise invalid("App", "owner")
    made, private = make_app(call, owner, call.body)
    return created(made | {"private_key": private})


@endpoint("POST", "/_forge/oauth-apps", "operator")
def create_oauth_app(call: Call) -> Reply:
    """Create an OAuth App; return its client id and, once, its secret."""
    callback = call.text("OAuthApp", "callback_url")
    if not callback.startswith(("https://", "http://")):
        raise invalid("OAuthApp", "callback_url")
    client_id, secret = oauth.register(call.forge, call.text("OAuthApp", "name"), callback)
    return created({"client_id": client_id, "client_secret": secret, "callback_url": callback})


def make_app(call: Call, owner: Row, asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Make a GitHub App, with its bot account and its hook; return it and its private key."""
    name = str(asked["name"])
    slug = name.lower().replace(" ", "-")
    private, public = apps.new_key()
    with call.store.write():
        bot = people.create(call.store, f"{slug}[bot]", name, kind="Bot")
        events = json.dumps(asked.get("events") or [])
        made = call.store.run(
            "INSERT INTO apps (slug, name, owner_id, bot_id, public_key, permissions, events,"
            " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(slug, name, owner["id"], bot["id"], public),
            *(json.dumps(asked.get("permissions") or {}), events, now()),
        )
        hook = asked.get("hook") or {}
        if hook.get("url"):
            call.store.run(
                "INSERT INTO hooks (app_id, url, content_type, secret, insecure_ssl, events,"
                " active, created_at, updated_at) VALUES (?, ?, 'json', ?, '0', ?, 1, ?, ?)",
                *(made, hook["url"], hook.get("secret"), events, now(), now()),
            )
    about = {"id": made, "slug": slug, "name": name, "bot_id": bot["id"]}
    return about | {"bot_login": bot["login"]}, private


@endpoint("POST", "/_forge/apps/{id:int}/installations", "operator")
def install_app(call: Call) -> Reply:
    """Install an App on an account: on the named repositories, or on all of them."""
    account = people.by_login(call.store, call.text("Installation", "account"))
    app = call.store.one("SELECT id FROM apps WHERE id = ?", int(call.params["id"]))
    if account is None or app is None:
        raise not_found()
    names = call.body.get("repositories")
    ids = None if names is None else json.dumps([_repo_id(call, account, n) for n in names])
    with call.store.write():
        made = call.store.run(
            "INSERT OR REPLACE INTO installations (app_id, account_id, repositories, created_at)"
            " VALUES (?, ?, ?, ?)",
            *(app["id"], account["id"], ids, now()),
        )
        row = call.store.one("SELECT * FROM installations WHERE id = ?", made) or {}
        installing.tell_installed(call, row, "created")
    return created({"id": made, "app_id": app["id"], "account": account["login"]})


@endpoint("PUT", "/_forge/installations/{id:int}/repositories", "operator")
def choose_repositories(call: Call) -> Reply:
    """Choose the repositories of an installation anew, by name."""
    row = installing.found(call)
    account = people.by_id(call.store, row["account_id"])
    before = apps.repositories_of(call.store, row)
    ids = [_repo_id(call, account, str(name)) for name in call.body.get("repositories") or []]
    with call.store.write():
        call.store.run(
            "UPDATE installations SET repositories = ? WHERE id = ?", json.dumps(ids), row["id"]
        )
        installing.tell_chosen(call, installing.found(call), before, frozenset(ids))
    return ok({"id": row["id"], "repositories": ids})


@endpoint("DELETE", "/_forge/installations/{id:int}", "operator")
def uninstall_app(call: Call) -> Reply:
    """Take an App off an account; its tokens open nothing any more."""
    row = installing.found(call)
    with call.store.write():
        installing.tell_installed(call, row, "deleted")
        call.store.run("DELETE FROM installations WHERE id = ?", row["id"])
    return no_content()


@endpoint("POST", "/_forge/tokens/expire", "operator")
def expire_tokens(call: Call) -> Reply:
    """End every token of every installation, as an hour would."""
    with call.store.write():
        call.store.run("UPDATE tokens SET expires_at = 1 WHERE installation_id IS NOT NULL")
    return no_content()


def _repo_id(call: Call, account: Row, name: str) -> int:
    row = call.store.one(
        "SELECT id FROM repos WHERE owner_id = ? AND name_key = ?", account["id"], name.lower()
    )
    if row is None:
        raise not_found()
    return int(row["id"])
