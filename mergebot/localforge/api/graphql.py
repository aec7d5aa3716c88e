"""The few GraphQL calls that have no REST twin: drafts, and moving several refs together."""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from mergebot.localforge import access, protection, pulls, pulls_store, pushes, repositories
from mergebot.localforge.errors import ApiError
from mergebot.localforge.git import SHA, ZERO, GitError, Update, valid_ref
from mergebot.localforge.issues import Place
from mergebot.localforge.routing import Call, Reply, endpoint, ok

_FIELD = re.compile(r"\bmutation\b[^{]*\{\s*(?:\w+\s*:\s*)?(\w+)\s*\(\s*input\s*:\s*(\$\w+|\{)")
_LITERAL = re.compile(r'(\w+)\s*:\s*("(?:[^"\\]|\\.)*")')


class GraphQLError(Exception):
    """A call is refused; carries GitHub's kind of error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@endpoint("POST", "/api/graphql", "user")
def graphql(call: Call) -> Reply:
    """Answer `viewer`, and the mutations that are known here."""
    query = str(call.body.get("query", ""))
    variables = call.body.get("variables") or {}
    found = _FIELD.search(query)
    try:
        if found is None:
            return _viewer(call, query)
        name, given = found[1], found[2]
        run = _mutation(name)
        literal = {k: v[1:-1] for k, v in _LITERAL.findall(query[found.end() :])}
        wanted = variables.get(given[1:], {}) if given.startswith("$") else literal
        data = run(call, wanted) | {"clientMutationId": wanted.get("clientMutationId")}
        return ok({"data": {name: data}})
    except GraphQLError as error:
        return ok({"data": None, "errors": [{"type": error.kind, "message": str(error)}]})


def _mutation(name: str) -> "Mutation":
    run = MUTATIONS.get(name)
    if run is None:
        raise GraphQLError("undefinedField", f"Field '{name}' doesn't exist on type 'Mutation'")
    return run


def _viewer(call: Call, query: str) -> Reply:
    if "viewer" not in query:
        raise GraphQLError("undefinedField", "Only viewer and a few mutations are known here")
    user = call.user
    about = {"login": user["login"], "id": f"U_{user['id']}", "databaseId": user["id"]}
    return ok({"data": {"viewer": about}})


def _writable(call: Call, repo_id: int) -> Place:
    repo = repositories.by_id(call.store, repo_id)
    if repo is None or not access.sees(call.forge, call.caller, repo):
        raise GraphQLError("NOT_FOUND", "Could not resolve to a node with the global id")
    return Place(call.forge, repo, call.user)


def _may_write(call: Call, place: Place) -> bool:
    if call.caller.kind == "installation":
        return place.repo["id"] in (call.caller.repositories or ())
    held = repositories.role(call.store, place.repo, call.user)
    return repositories.allows(held, "write")


def _set_draft(call: Call, wanted: dict[str, Any], draft: int) -> dict[str, Any]:
    node = str(wanted.get("pullRequestId", ""))
    number = node.removeprefix("PR_")
    pull = pulls_store.by_id(call.store, int(number)) if number.isdigit() else None
    if pull is None:
        raise GraphQLError(
            "NOT_FOUND", f"Could not resolve to a node with the global id of '{node}'"
        )
    place = _writable(call, pull["repo_id"])
    if pull["user_id"] != call.user["id"] and not _may_write(call, place):
        raise GraphQLError("FORBIDDEN", "Resource not accessible by personal access token")
    with call.store.write():
        pulls.set_draft(place, pull, draft)
    return {"pullRequest": {"id": node, "number": pull["number"], "isDraft": bool(draft)}}


def _update_refs(call: Call, wanted: dict[str, Any]) -> dict[str, Any]:
    place = _writable(call, int(str(wanted.get("repositoryId", "R_0")).removeprefix("R_")))
    if not _may_write(call, place):
        raise GraphQLError("FORBIDDEN", "Must have push access to repository.")
    bare, updates = call.forge.bare(place.repo["id"]), []
    for asked in wanted.get("refUpdates", []):
        name, new = str(asked.get("name")), str(asked.get("afterOid"))
        current = bare.ref(name) or ZERO if valid_ref(name) else ZERO
        old = str(asked.get("beforeOid") or current)
        if not SHA.match(new) or not name.startswith(("refs/heads/", "refs/tags/")):
            raise GraphQLError("UNPROCESSABLE", f"{name} cannot be updated")
        forward = ZERO in {old, new} or bare.contains(new, old)
        if old != current or not (forward or asked.get("force")):
            raise GraphQLError("UNPROCESSABLE", f"{name} is not at the expected commit")
        update = Update(name, old, new)
        if refusal := protection.refusal(call.forge, place.repo, call.user, update):
            raise GraphQLError("UNPROCESSABLE", refusal)
        updates.append(update)
    try:
        bare.move(updates)
    except GitError as error:
        raise GraphQLError("UNPROCESSABLE", "A ref moved meanwhile; nothing was updated") from error
    pushes.follow(call.forge, place.repo, call.user, updates)
    return {}


def _to_draft(call: Call, wanted: dict[str, Any]) -> dict[str, Any]:
    return _set_draft(call, wanted, 1)


def _to_ready(call: Call, wanted: dict[str, Any]) -> dict[str, Any]:
    return _set_draft(call, wanted, 0)


def _minimize(call: Call, wanted: dict[str, Any]) -> dict[str, Any]:
    node = str(wanted.get("subjectId", "")).removeprefix("IC_")
    found = node.isdigit() and call.store.one("SELECT id FROM comments WHERE id = ?", int(node))
    if not found:
        raise ApiError(HTTPStatus.NOT_FOUND, "Not Found")
    return {"minimizedComment": {"isMinimized": True}}


Mutation = Callable[[Call, dict[str, Any]], dict[str, Any]]
MUTATIONS: dict[str, Mutation] = {
    "convertPullRequestToDraft": _to_draft,
    "markPullRequestReadyForReview": _to_ready,
    "updateRefs": _update_refs,
    "minimizeComment": _minimize,
}
