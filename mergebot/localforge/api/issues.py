"""Issues and their events; a pull request is an issue too."""

from http import HTTPStatus
from typing import Any

from mergebot.localforge import issues, pulls, pulls_store, repositories
from mergebot.localforge.api.labels import replace_labels
from mergebot.localforge.errors import ApiError, forbidden, invalid
from mergebot.localforge.issues import Place
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes import issues as shapes
from mergebot.localforge.store import Row

REPO = "/repos/{owner}/{repo}"
ONE = f"{REPO}/issues/{{number:int}}"
_ISSUE = "SELECT * FROM issues WHERE repo_id = ? AND state LIKE ? "


@endpoint("GET", f"{REPO}/issues", "read", "issues:read")
def listing(call: Call) -> Reply:
    """List issues and pull requests, by state, labels, creator, since, in the asked order."""
    state = call.query.get("state", "open")
    rows = call.store.all(
        _ISSUE + "AND updated_at >= ?",
        *(call.repo["id"], "%" if state == "all" else state),
        call.query.get("since", ""),
    )
    key = {"updated": "updated_at"}.get(call.query.get("sort", ""), "number")
    rows.sort(key=lambda row: row[key], reverse=call.query.get("direction", "desc") == "desc")
    wanted = {name.strip().lower() for name in call.query.get("labels", "").split(",")} - {""}
    if wanted:
        rows = [row for row in rows if wanted <= _label_keys(call, row)]
    if creator := call.query.get("creator"):
        found = call.store.one("SELECT id FROM users WHERE login_key = ?", creator.lower())
        rows = [row for row in rows if found and row["user_id"] == found["id"]]
    return ok([shapes.issue(call.forge, call.repo, row) for row in call.page(rows)])


def _label_keys(call: Call, row: Row) -> set[str]:
    return {label["name_key"] for label in issues.labels_of(call.store, row)}


def _check_enabled(call: Call) -> None:
    if not call.repo["has_issues"]:
        raise ApiError(HTTPStatus.GONE, "Issues are disabled for this repo")


@endpoint("POST", f"{REPO}/issues", "user", "issues:write")
def create(call: Call) -> Reply:
    """Open an issue."""
    _check_enabled(call)
    title = call.text("Issue", "title")
    place = Place(call.forge, call.repo, call.user)
    with call.store.write():
        issue = issues.create(place, title, call.body.get("body"))
        issues.tell(place, issue, "opened")
        names = [_name(label) for label in call.body.get("labels") or []]
        issues.add_labels(place, issue, names)
    return created(shapes.issue(call.forge, call.repo, issue))


def _name(label: Any) -> str:
    name = label.get("name") if isinstance(label, dict) else label
    if not isinstance(name, str):
        raise invalid("Label", "name")
    return name


@endpoint("GET", ONE, "read", "issues:read")
def get(call: Call) -> Reply:
    """Return an issue or pull request as an issue."""
    row = issues.get(call.store, call.repo, call.number())
    return ok(shapes.issue(call.forge, call.repo, row))


@endpoint("PATCH", ONE, "user", "issues:write")
def edit(call: Call) -> Reply:
    """Change title, body, state or labels."""
    place = Place(call.forge, call.repo, call.user)
    with call.store.write():
        row = issues.get(call.store, call.repo, call.number())
        held = repositories.role(call.store, call.repo, call.user)
        installed = call.caller.kind == "installation"
        mine = row["user_id"] == call.user["id"]
        if not (mine or installed or repositories.allows(held, "triage")):
            raise forbidden("Must have push access to repository.")
        _edit(place, row, call.body)
    return ok(shapes.issue(call.forge, call.repo, issues.by_id(call.store, row["id"])))


def _edit(place: Place, row: Row, wanted: dict[str, Any]) -> None:
    if row["is_pull"]:
        pull = pulls_store.get(place.store, place.repo, row["number"])
        pulls.edit(place, pull, {k: wanted[k] for k in ("title", "body") if k in wanted})
    else:
        _edit_texts(place, row, wanted)
    if isinstance(wanted.get("labels"), list):
        replace_labels(place, row, [_name(label) for label in wanted["labels"]])
    state = wanted.get("state")
    if state not in {None, "open", "closed"}:
        raise invalid("Issue", "state")
    if state and state != row["state"]:
        if row["is_pull"]:
            change = pulls.close if state == "closed" else pulls.reopen
            change(place, pulls_store.get(place.store, place.repo, row["number"]))
            return
        reason = "completed" if state == "closed" else "reopened"
        issues.set_state(place, row, state, wanted.get("state_reason") or reason)
        issues.tell(place, row, "closed" if state == "closed" else "reopened")


def _edit_texts(place: Place, row: Row, wanted: dict[str, Any]) -> None:
    title, body = wanted.get("title", row["title"]), wanted.get("body", row["body"])
    if not isinstance(title, str) or not title.strip():
        raise invalid("Issue", "title")
    issues.check_body("Issue", body)
    if (title, body) == (row["title"], row["body"]):
        return
    place.store.run("UPDATE issues SET title = ?, body = ? WHERE id = ?", title, body, row["id"])
    before = {"title": row["title"], "body": row["body"]}
    after = {"title": title, "body": body}
    changes = {k: {"from": v} for k, v in before.items() if v != after[k]}
    issues.touch(place.store, row)
    issues.tell(place, row, "edited", changes=changes)


def _events(call: Call, issue: Row) -> list[dict[str, Any]]:
    rows = call.store.all("SELECT * FROM events WHERE issue_id = ? ORDER BY id", issue["id"])
    return [shapes.event(call.forge, call.repo, row) for row in rows]


@endpoint("GET", f"{ONE}/events", "read", "issues:read")
def events(call: Call) -> Reply:
    """List what happened to an issue, oldest first."""
    issue = issues.get(call.store, call.repo, call.number())
    return ok(call.page(_events(call, issue)))


@endpoint("GET", f"{ONE}/timeline", "read", "issues:read")
def timeline(call: Call) -> Reply:
    """List events and comments of an issue together, oldest first."""
    issue = issues.get(call.store, call.repo, call.number())
    rows = call.store.all(issues.COMMENT + "WHERE issue_id = ? ORDER BY comments.id", issue["id"])
    comments = [
        {**shown, "event": "commented", "actor": shown["user"]}
        for shown in (shapes.comment(call.forge, call.repo, row) for row in rows)
    ]
    together = sorted([*_events(call, issue), *comments], key=lambda item: item["created_at"])
    return ok(call.page(together))


@endpoint("GET", f"{REPO}/issues/events", "read", "issues:read")
def events_of_repo(call: Call) -> Reply:
    """List the events of all issues of a repository, newest first."""
    rows = call.store.all(
        "SELECT * FROM events WHERE repo_id = ? ORDER BY id DESC", call.repo["id"]
    )
    shown = []
    for row in call.page(rows):
        issue = issues.by_id(call.store, row["issue_id"])
        item = shapes.event(call.forge, call.repo, row)
        shown.append(item | {"issue": shapes.issue(call.forge, call.repo, issue)})
    return ok(shown)
