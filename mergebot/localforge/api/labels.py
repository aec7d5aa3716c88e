"""Labels of a repository and of an issue or pull request."""

from typing import Any

from mergebot.localforge import issues
from mergebot.localforge.errors import invalid, not_found
from mergebot.localforge.issues import Place
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.shapes import issues as shapes
from mergebot.localforge.store import Row

REPO = "/repos/{owner}/{repo}"
OF_ISSUE = f"{REPO}/issues/{{number:int}}/labels"


@endpoint("GET", f"{REPO}/labels", "read")
def listing(call: Call) -> Reply:
    """List a repository's labels."""
    rows = call.store.all("SELECT * FROM labels WHERE repo_id = ? ORDER BY id", call.repo["id"])
    return ok([shapes.label(call.forge, call.repo, row) for row in call.page(rows)])


@endpoint("POST", f"{REPO}/labels", "write", "issues:write")
def create(call: Call) -> Reply:
    """Create a label."""
    name = call.text("Label", "name")
    color = str(call.body.get("color") or issues.NEW_LABEL_COLOR)
    with call.store.write():
        row = issues.create_label(call.store, call.repo, name, color, call.body.get("description"))
    return created(shapes.label(call.forge, call.repo, row))


def _named(call: Call) -> Row:
    row = issues.find_label(call.store, call.repo, call.params["name"])
    if row is None:
        raise not_found()
    return row


@endpoint("GET", f"{REPO}/labels/{{name:path}}", "read")
def get(call: Call) -> Reply:
    """Return a label by its name."""
    return ok(shapes.label(call.forge, call.repo, _named(call)))


@endpoint("PATCH", f"{REPO}/labels/{{name:path}}", "write", "issues:write")
def edit(call: Call) -> Reply:
    """Change a label's name, colour or description."""
    row, body = _named(call), call.body
    name = str(body.get("new_name", row["name"]))
    color = str(body.get("color", row["color"]))
    other = issues.find_label(call.store, call.repo, name)
    if other and other["id"] != row["id"]:
        raise invalid("Label", "name", "already_exists")
    if not name.strip() or len(name) > issues.LABEL_CHARS_MAX:
        raise invalid("Label", "name")
    with call.store.write():
        call.store.run(
            "UPDATE labels SET name = ?, name_key = ?, color = ?, description = ? WHERE id = ?",
            *(name, name.lower(), color, body.get("description", row["description"]), row["id"]),
        )
    changed = row | {"name": name, "color": color}
    changed["description"] = body.get("description", row["description"])
    return ok(shapes.label(call.forge, call.repo, changed))


@endpoint("DELETE", f"{REPO}/labels/{{name:path}}", "write", "issues:write")
def delete(call: Call) -> Reply:
    """Delete a label; it comes off everything that has it."""
    row = _named(call)
    with call.store.write():
        call.store.run("DELETE FROM issue_labels WHERE label_id = ?", row["id"])
        call.store.run("DELETE FROM labels WHERE id = ?", row["id"])
    return no_content()


def _names(call: Call) -> list[str]:
    """Return the labels of a body: `{"labels": [...]}` or a bare list, of names or objects."""
    asked: Any = call.json.get("labels") if isinstance(call.json, dict) else call.json
    if isinstance(asked, str):
        asked = [asked]
    if not isinstance(asked, list):
        raise invalid("Label", "labels", "missing_field")
    names = [item.get("name") if isinstance(item, dict) else item for item in asked]
    texts = [name for name in names if isinstance(name, str)]
    if len(texts) != len(names):
        raise invalid("Label", "name")
    return texts


def _labels(call: Call, issue: Row) -> list[dict[str, Any]]:
    return shapes.labels_of(call.forge, call.repo, issue["id"])


@endpoint("GET", OF_ISSUE, "read", "issues:read")
def of_issue(call: Call) -> Reply:
    """List the labels of an issue."""
    issue = issues.get(call.store, call.repo, call.number())
    return ok(call.page(_labels(call, issue)))


@endpoint("POST", OF_ISSUE, "triage", "issues:write")
def add(call: Call) -> Reply:
    """Add labels; return the full set."""
    names = _names(call)
    with call.store.write():
        issue = issues.get(call.store, call.repo, call.number())
        issues.add_labels(Place(call.forge, call.repo, call.user), issue, names)
    return ok(_labels(call, issue))


@endpoint("PUT", OF_ISSUE, "triage", "issues:write")
def replace(call: Call) -> Reply:
    """Replace all labels; return the full set."""
    names = _names(call)
    place = Place(call.forge, call.repo, call.user)
    with call.store.write():
        issue = issues.get(call.store, call.repo, call.number())
        replace_labels(place, issue, names)
    return ok(_labels(call, issue))


def replace_labels(place: Place, issue: Row, names: list[str]) -> None:
    """Make an issue have exactly these labels."""
    wanted = {name.lower() for name in names}
    for row in issues.labels_of(place.store, issue):
        if row["name_key"] not in wanted:
            issues.remove_label(place, issue, row["name"])
    issues.add_labels(place, issue, names)


@endpoint("DELETE", OF_ISSUE, "triage", "issues:write")
def clear(call: Call) -> Reply:
    """Take every label off an issue."""
    with call.store.write():
        issue = issues.get(call.store, call.repo, call.number())
        replace_labels(Place(call.forge, call.repo, call.user), issue, [])
    return no_content()


@endpoint("DELETE", f"{OF_ISSUE}/{{name:path}}", "triage", "issues:write")
def remove(call: Call) -> Reply:
    """Take one label off an issue; return those that stay."""
    with call.store.write():
        issue = issues.get(call.store, call.repo, call.number())
        issues.remove_label(Place(call.forge, call.repo, call.user), issue, call.params["name"])
    return ok(_labels(call, issue))
