"""Apps made from a manifest: the form that a browser posts, and the code that is traded once."""

import json
import secrets
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlencode

from mergebot.localforge import oauth, people
from mergebot.localforge.api.operator import make_app
from mergebot.localforge.errors import ApiError, invalid, not_found
from mergebot.localforge.routing import Call, Reply, created, endpoint
from mergebot.localforge.shapes import checks as shapes

NEEDED = {
    "check_run": "checks",
    "check_suite": "checks",
    "issue_comment": "issues",
    "pull_request": "pull_requests",
    "pull_request_review": "pull_requests",
    "push": "contents",
    "repository": "metadata",
    "status": "statuses",
    "workflow_run": "actions",
}
"""The permission without which an App may not subscribe to an event, as GitHub's pages list them."""


@endpoint("POST", "/settings/apps/new", "anyone")
def propose(call: Call) -> Reply:
    """Take a manifest from a browser and send it back with a code.

    GitHub asks its user to sign in and to confirm; here whoever reaches the forge is its admin.
    """
    form = parse_qs(call.request.body.decode("utf-8", "replace"))
    try:
        manifest: dict[str, Any] = json.loads(form["manifest"][0])
        target = str(manifest["redirect_url"])
    except (KeyError, ValueError) as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "Problems parsing the manifest") from error
    _check_events(manifest)
    code = secrets.token_hex(20)
    call.forge.manifests[code] = manifest
    query = urlencode({"code": code, "state": call.query.get("state", "")})
    return Reply(HTTPStatus.FOUND, None, {"Location": f"{target}?{query}"})


def _check_events(manifest: dict[str, Any]) -> None:
    held = {"metadata", *(manifest.get("default_permissions") or {})}
    wrong = [each for each in manifest.get("default_events") or [] if NEEDED.get(each) not in held]
    if wrong:
        told = f"Default events are not supported by permissions: {', '.join(wrong)}"
        raise ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, told)


@endpoint("POST", "/app-manifests/{code}/conversions", "anyone")
def convert(call: Call) -> Reply:
    """Make the App; the code is good once."""
    manifest = call.forge.manifests.pop(call.params["code"], None)
    if manifest is None:
        raise not_found()
    if not manifest.get("name"):
        raise invalid("App", "name", "missing_field")
    owner = people.by_login(call.store, "admin") or {}
    hook = manifest.get("hook_attributes") or {}
    secret = secrets.token_hex(20)
    made, private = make_app(
        call,
        owner,
        {
            "name": manifest["name"],
            "permissions": manifest.get("default_permissions") or {},
            "events": manifest.get("default_events") or [],
            "hook": {"url": hook.get("url"), "secret": secret},
        },
    )
    shown = shapes.app(call.forge, made["id"])
    back = next(iter(manifest.get("callback_urls") or []), "")
    client_id, client_secret = oauth.register(call.forge, manifest["name"], back, kind="Iv23")
    keys = {"client_id": client_id, "client_secret": client_secret}
    return created({**shown, **keys, "webhook_secret": secret, "pem": private})
