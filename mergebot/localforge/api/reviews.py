"""Reviews of a pull request."""

from typing import Any

from mergebot.localforge import issues, news
from mergebot.localforge.api.pulls import ONE, place_of, pull_of
from mergebot.localforge.errors import not_found, unprocessable
from mergebot.localforge.routing import Call, Reply, endpoint, ok
from mergebot.localforge.shapes import pulls as shapes
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

EVENTS = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


@endpoint("GET", f"{ONE}/reviews", "read", "pull_requests:read")
def listing(call: Call) -> Reply:
    """List the reviews of a pull request, oldest first."""
    rows = call.store.all(
        "SELECT * FROM reviews WHERE issue_id = ? ORDER BY id", pull_of(call)["issue_id"]
    )
    number = call.number()
    return ok([shapes.review(call.forge, call.repo, number, row) for row in call.page(rows)])


@endpoint("POST", f"{ONE}/reviews", "user", "pull_requests:write")
def create(call: Call) -> Reply:
    """Review a pull request; without an event the review stays pending."""
    pull, body = pull_of(call), call.body
    event = body.get("event")
    state = EVENTS.get(str(event), "PENDING")
    if event is not None and event not in EVENTS:
        raise unprocessable("Validation Failed", ["Variable $event is not a review event"])
    own = pull["user_id"] == call.user["id"]
    if own and state in {"APPROVED", "CHANGES_REQUESTED"}:
        word = "approve" if state == "APPROVED" else "request changes on"
        raise unprocessable("Unprocessable Entity", [f"Can not {word} your own pull request"])
    commit = body.get("commit_id") or pull["head_sha"]
    with call.store.write():
        made = call.store.run(
            "INSERT INTO reviews (issue_id, user_id, state, body, commit_id, submitted_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            *(pull["issue_id"], call.user["id"], state, body.get("body") or "", commit, now()),
        )
        row = _review(call, pull, made)
        if state != "PENDING":
            issues.record(place_of(call), {"id": pull["issue_id"]}, "reviewed")
            _tell(call, pull, row, "submitted")
    return ok(shapes.review(call.forge, call.repo, call.number(), row))


@endpoint("GET", f"{ONE}/comments", "read", "pull_requests:read")
def comments(call: Call) -> Reply:
    """List the comments on lines of the diff; there are none in this forge."""
    pull_of(call)
    return ok([])


def _review(call: Call, pull: Row, review_id: int) -> Row:
    row = call.store.one(
        "SELECT * FROM reviews WHERE id = ? AND issue_id = ?", review_id, pull["issue_id"]
    )
    if row is None:
        raise not_found()
    return row


def _tell(call: Call, pull: Row, row: Row, action: str) -> None:
    def make() -> dict[str, Any]:
        shown = shapes.review(call.forge, call.repo, pull["number"], row)
        shown["state"] = shown["state"].lower()
        brief = shapes.brief(call.forge, call.repo, pull)
        return {"action": action, "review": shown, "pull_request": brief}

    news.tell(call.forge, call.repo, "pull_request_review", call.user, make)


@endpoint("GET", f"{ONE}/reviews/{{id:int}}", "read", "pull_requests:read")
def get(call: Call) -> Reply:
    """Return one review."""
    row = _review(call, pull_of(call), int(call.params["id"]))
    return ok(shapes.review(call.forge, call.repo, call.number(), row))


@endpoint("PUT", f"{ONE}/reviews/{{id:int}}/dismissals", "write", "pull_requests:write")
def dismiss(call: Call) -> Reply:
    """Dismiss a review."""
    pull = pull_of(call)
    row = _review(call, pull, int(call.params["id"]))
    call.text("PullRequestReview", "message")
    with call.store.write():
        call.store.run("UPDATE reviews SET state = 'DISMISSED' WHERE id = ?", row["id"])
        changed = _review(call, pull, row["id"])
        _tell(call, pull, changed, "dismissed")
    return ok(shapes.review(call.forge, call.repo, call.number(), changed))
