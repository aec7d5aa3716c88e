"""Issues and what hangs on them: labels, comments, events. Pull requests are issues too."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from mergebot.localforge import news, pulls_store, repositories
from mergebot.localforge.errors import ApiError, invalid, not_found, unprocessable
from mergebot.localforge.forge import Forge
from mergebot.localforge.shapes import issues as shapes
from mergebot.localforge.shapes import pulls as pull_shapes
from mergebot.localforge.store import Row, Store
from mergebot.localforge.times import later, now

COMMENT_CHARS_MAX = 65_536
LABEL_CHARS_MAX = 50
NEW_LABEL_COLOR = "ededed"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something happens and who does it: forge, repository, acting user."""

    forge: Forge
    repo: Row
    actor: Row

    @property
    def store(self) -> Store:
        """The forge's memory."""
        return self.forge.store


def get(store: Store, repo: Row, number: int) -> Row:
    """Return an issue or pull request by its number; refuse when there is none."""
    row = store.one("SELECT * FROM issues WHERE repo_id = ? AND number = ?", repo["id"], number)
    if row is None:
        raise not_found()
    return row


def check_body(resource: str, body: str | None) -> None:
    """Refuse a text that is longer than GitHub takes."""
    if body is not None and len(body) > COMMENT_CHARS_MAX:
        message = f"Body is too long (maximum is {COMMENT_CHARS_MAX} characters)"
        error = {"resource": resource, "code": "unprocessable", "field": "data", "message": message}
        raise unprocessable("Validation Failed", [error])


def create(place: Place, title: str, body: str | None, *, is_pull: int = 0) -> Row:
    """Write a new issue and return it."""
    check_body("Issue", body)
    store, repo, at = place.store, place.repo, now()
    number = repositories.next_number(store, repo)
    made = store.run(
        "INSERT INTO issues (repo_id, number, title, body, user_id, is_pull, created_at,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        *(repo["id"], number, title, body, place.actor["id"], is_pull, at, at),
    )
    return by_id(store, made)


def by_id(store: Store, issue_id: int) -> Row:
    """Return an issue that is known to exist."""
    row = store.one("SELECT * FROM issues WHERE id = ?", issue_id)
    if row is None:
        raise not_found()
    return row


def record(place: Place, issue: Row, event: str, **detail: Any) -> None:
    """Write an event of an issue; `commit_id` names a commit, the rest is shown as it is."""
    commit = detail.pop("commit_id", None)
    place.store.run(
        "INSERT INTO events (repo_id, issue_id, event, actor_id, commit_id, detail, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        *(place.repo["id"], issue["id"], event, place.actor["id"], commit),
        *(json.dumps(detail), now()),
    )


def touch(store: Store, issue: Row) -> None:
    """Record that an issue changed just now."""
    store.run(
        "UPDATE issues SET updated_at = ? WHERE id = ?", later(issue["updated_at"]), issue["id"]
    )


def tell(place: Place, issue: Row, action: str, **more: Any) -> None:
    """Send an `issues` or `pull_request` event about an issue as it is now."""
    forge, repo = place.forge, place.repo
    current = by_id(place.store, issue["id"])

    def of_issue() -> dict[str, Any]:
        return {"action": action, "issue": shapes.issue(forge, repo, current), **more}

    def of_pull() -> dict[str, Any]:
        row = pulls_store.get(place.store, repo, issue["number"])
        shown = pull_shapes.pull(forge, repo, row)
        return {"action": action, "number": issue["number"], "pull_request": shown, **more}

    event, make = ("pull_request", of_pull) if issue["is_pull"] else ("issues", of_issue)
    news.tell(forge, repo, event, place.actor, make)


def set_state(place: Place, issue: Row, state: str, reason: str | None) -> None:
    """Close or reopen an issue; nothing happens where it is so already."""
    if issue["state"] == state:
        return
    closed = state == "closed"
    at = later(issue["updated_at"])
    place.store.run(
        "UPDATE issues SET state = ?, state_reason = ?, closed_at = ?, closed_by = ?,"
        " updated_at = ? WHERE id = ?",
        *(state, reason, at if closed else None, place.actor["id"] if closed else None),
        *(at, issue["id"]),
    )
    record(place, issue, "closed" if closed else "reopened")


def find_label(store: Store, repo: Row, name: str) -> Row | None:
    """Return a repository's label by its name, in any case, or None."""
    return store.one(
        "SELECT * FROM labels WHERE repo_id = ? AND name_key = ?", repo["id"], name.lower()
    )


def create_label(store: Store, repo: Row, name: str, color: str, about: str | None) -> Row:
    """Create a label; refuse a name that is taken, too long, or a colour that is none."""
    if not name.strip() or len(name) > LABEL_CHARS_MAX:
        raise invalid("Label", "name")
    digits = set("0123456789abcdefABCDEF")
    if len(color) != len(NEW_LABEL_COLOR) or not set(color) <= digits:
        raise invalid("Label", "color")
    if find_label(store, repo, name):
        raise invalid("Label", "name", "already_exists")
    made = store.run(
        "INSERT INTO labels (repo_id, name, name_key, color, description) VALUES (?, ?, ?, ?, ?)",
        *(repo["id"], name, name.lower(), color.lower(), about),
    )
    return store.one("SELECT * FROM labels WHERE id = ?", made) or {}


def labels_of(store: Store, issue: Row) -> list[Row]:
    """Return the labels of an issue."""
    return store.all(
        "SELECT labels.* FROM labels JOIN issue_labels ON label_id = labels.id"
        " WHERE issue_id = ? ORDER BY labels.id",
        issue["id"],
    )


def add_labels(place: Place, issue: Row, names: list[str]) -> None:
    """Set labels on an issue; unknown ones are created, those already there change nothing."""
    store, repo = place.store, place.repo
    held = {row["id"] for row in labels_of(store, issue)}
    for name in names:
        label = find_label(store, repo, name) or create_label(
            store, repo, name, NEW_LABEL_COLOR, None
        )
        if label["id"] in held:
            continue
        held.add(label["id"])
        store.run("INSERT INTO issue_labels VALUES (?, ?)", issue["id"], label["id"])
        _label_changed(place, issue, label, "labeled")


def remove_label(place: Place, issue: Row, name: str) -> None:
    """Take a label off an issue; refuse one that is not there."""
    held = {row["name_key"]: row for row in labels_of(place.store, issue)}
    label = held.get(name.lower())
    if label is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "Label does not exist")
    place.store.run(
        "DELETE FROM issue_labels WHERE issue_id = ? AND label_id = ?", issue["id"], label["id"]
    )
    _label_changed(place, issue, label, "unlabeled")


def _label_changed(place: Place, issue: Row, label: Row, event: str) -> None:
    touch(place.store, issue)
    about = {"name": label["name"], "color": label["color"]}
    record(place, issue, event, label=about)
    tell(place, issue, event, label=shapes.label(place.forge, place.repo, label))


COMMENT = (
    "SELECT comments.*, issues.number, issues.is_pull FROM comments"
    " JOIN issues ON issues.id = issue_id "
)


def comment(store: Store, repo: Row, comment_id: int) -> Row:
    """Return a comment; refuse when there is none."""
    row = store.one(
        COMMENT + "WHERE comments.id = ? AND comments.repo_id = ?", comment_id, repo["id"]
    )
    if row is None:
        raise not_found()
    return row


def add_comment(place: Place, issue: Row, body: str) -> Row:
    """Write a comment under an issue."""
    check_body("IssueComment", body)
    at = now()
    made = place.store.run(
        "INSERT INTO comments (issue_id, repo_id, user_id, body, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        *(issue["id"], place.repo["id"], place.actor["id"], body, at, at),
    )
    touch(place.store, issue)
    row = comment(place.store, place.repo, made)
    tell_comment(place, row, "created")
    return row


def edit_comment(place: Place, row: Row, body: str) -> Row:
    """Replace the text of a comment."""
    check_body("IssueComment", body)
    at = later(row["updated_at"])
    place.store.run(
        "UPDATE comments SET body = ?, updated_at = ? WHERE id = ?", body, at, row["id"]
    )
    edited = comment(place.store, place.repo, row["id"])
    tell_comment(place, edited, "edited", changes={"body": {"from": row["body"]}})
    return edited


def delete_comment(place: Place, row: Row) -> None:
    """Remove a comment for good."""
    tell_comment(place, row, "deleted")
    place.store.run("DELETE FROM comments WHERE id = ?", row["id"])


def tell_comment(place: Place, row: Row, action: str, **more: Any) -> None:
    """Send an `issue_comment` event."""
    forge, repo = place.forge, place.repo

    def make() -> dict[str, Any]:
        issue = shapes.issue(forge, repo, by_id(place.store, row["issue_id"]))
        shown = shapes.comment(forge, repo, row)
        return {"action": action, **more, "issue": issue, "comment": shown}

    news.tell(forge, repo, "issue_comment", place.actor, make)
