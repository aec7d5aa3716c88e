"""Comments under issues and pull requests, and reactions."""

from mergebot.localforge import issues, repositories
from mergebot.localforge.errors import forbidden, invalid
from mergebot.localforge.issues import Place
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.shapes import issues as shapes
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

REPO = "/repos/{owner}/{repo}"
OF_ISSUE = f"{REPO}/issues/{{number:int}}"
ONE = f"{REPO}/issues/comments/{{id:int}}"
CONTENTS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


@endpoint("GET", f"{OF_ISSUE}/comments", "read", "issues:read")
def listing(call: Call) -> Reply:
    """List the comments of an issue, oldest first."""
    issue = issues.get(call.store, call.repo, call.number())
    rows = call.store.all(
        issues.COMMENT + "WHERE issue_id = ? AND comments.updated_at >= ? ORDER BY comments.id",
        *(issue["id"], call.query.get("since", "")),
    )
    return ok([shapes.comment(call.forge, call.repo, row) for row in call.page(rows)])


@endpoint("GET", f"{REPO}/issues/comments", "read", "issues:read")
def all_of_repo(call: Call) -> Reply:
    """List the comments of a repository, oldest first."""
    rows = call.store.all(
        issues.COMMENT + "WHERE comments.repo_id = ? ORDER BY comments.id", call.repo["id"]
    )
    return ok([shapes.comment(call.forge, call.repo, row) for row in call.page(rows)])


@endpoint("POST", f"{OF_ISSUE}/comments", "user", "issues:write")
def create(call: Call) -> Reply:
    """Write a comment."""
    body = call.text("IssueComment", "body")
    with call.store.write():
        issue = issues.get(call.store, call.repo, call.number())
        row = issues.add_comment(Place(call.forge, call.repo, call.user), issue, body)
    return created(shapes.comment(call.forge, call.repo, row))


@endpoint("GET", ONE, "read", "issues:read")
def get(call: Call) -> Reply:
    """Return a comment."""
    row = issues.comment(call.store, call.repo, int(call.params["id"]))
    return ok(shapes.comment(call.forge, call.repo, row))


def _own(call: Call) -> Row:
    """Return a comment that the caller may change: its own, or any with write permission."""
    row = issues.comment(call.store, call.repo, int(call.params["id"]))
    held = repositories.role(call.store, call.repo, call.user)
    app = call.caller.kind == "installation"
    if row["user_id"] != call.user["id"] and (app or not repositories.allows(held, "write")):
        raise forbidden(
            "Resource not accessible by integration"
            if app
            else "Must have push access to repository."
        )
    return row


@endpoint("PATCH", ONE, "user", "issues:write")
def edit(call: Call) -> Reply:
    """Replace the text of a comment."""
    body = call.text("IssueComment", "body")
    with call.store.write():
        row = issues.edit_comment(Place(call.forge, call.repo, call.user), _own(call), body)
    return ok(shapes.comment(call.forge, call.repo, row))


@endpoint("DELETE", ONE, "user", "issues:write")
def delete(call: Call) -> Reply:
    """Delete a comment."""
    with call.store.write():
        issues.delete_comment(Place(call.forge, call.repo, call.user), _own(call))
    return no_content()


def _react(call: Call, subject: str, subject_id: int) -> Reply:
    content = call.text("Reaction", "content")
    if content not in CONTENTS:
        raise invalid("Reaction", "content")
    key = (subject, subject_id, call.user["id"], content)
    find = (
        "SELECT * FROM reactions WHERE subject = ? AND subject_id = ? AND user_id = ?"
        " AND content = ?"
    )
    with call.store.write():
        row = call.store.one(find, *key)
        if row:
            return ok(shapes.reaction(call.forge, row))
        call.store.run(
            "INSERT INTO reactions (subject, subject_id, user_id, content, created_at)"
            " VALUES (?, ?, ?, ?, ?)",
            *(*key, now()),
        )
        return created(shapes.reaction(call.forge, call.store.one(find, *key) or {}))


def _reactions(call: Call, subject: str, subject_id: int) -> Reply:
    rows = call.store.all(
        "SELECT * FROM reactions WHERE subject = ? AND subject_id = ? ORDER BY id",
        *(subject, subject_id),
    )
    return ok([shapes.reaction(call.forge, row) for row in call.page(rows)])


@endpoint("POST", f"{ONE}/reactions", "user", "issues:write")
def react_to_comment(call: Call) -> Reply:
    """React to a comment: 201 when new, 200 when already there."""
    row = issues.comment(call.store, call.repo, int(call.params["id"]))
    return _react(call, "comment", row["id"])


@endpoint("GET", f"{ONE}/reactions", "read", "issues:read")
def reactions_of_comment(call: Call) -> Reply:
    """List the reactions to a comment."""
    row = issues.comment(call.store, call.repo, int(call.params["id"]))
    return _reactions(call, "comment", row["id"])


@endpoint("DELETE", f"{ONE}/reactions/{{reaction:int}}", "user", "issues:write")
def unreact(call: Call) -> Reply:
    """Take the caller's reaction back."""
    with call.store.write():
        call.store.run(
            "DELETE FROM reactions WHERE id = ? AND user_id = ?",
            *(int(call.params["reaction"]), call.user["id"]),
        )
    return no_content()


@endpoint("POST", f"{OF_ISSUE}/reactions", "user", "issues:write")
def react_to_issue(call: Call) -> Reply:
    """React to an issue."""
    return _react(call, "issue", issues.get(call.store, call.repo, call.number())["id"])


@endpoint("GET", f"{OF_ISSUE}/reactions", "read", "issues:read")
def reactions_of_issue(call: Call) -> Reply:
    """List the reactions to an issue."""
    return _reactions(call, "issue", issues.get(call.store, call.repo, call.number())["id"])
