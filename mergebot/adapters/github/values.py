"""The forge's JSON as the port's values, and our reports as the forge's JSON.

Every reader takes the least it needs and raises KeyError, TypeError or ValueError where that is
missing or odd; `reading` turns these into one Unavailable, because an answer that nobody
understands says nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from mergebot.adapters.github.errors import Ask, odd_answer
from mergebot.domain.branch_rules import Signature
from mergebot.domain.ids import Actor, parse_sha
from mergebot.domain.remarks import Remark
from mergebot.ports.forge import (
    CheckReport,
    CheckState,
    Comment,
    Issue,
    LabelEvent,
    Permission,
    PullRequest,
    Repository,
)

CHECK = "mergebot"
TITLE_CHARS_MAX = 140
ROUND_TRIP = 2
SUMMARY_CHARS_MAX = 65_000

_GHOST = Actor(0, "ghost")
_ROLES = {
    "read": Permission.READ,
    "triage": Permission.TRIAGE,
    "write": Permission.WRITE,
    "maintain": Permission.MAINTAIN,
    "admin": Permission.ADMIN,
}
# No neutral here passes for a success: GitHub lets a "neutral" check satisfy a required one.
_STATUS = {
    CheckState.PENDING: "pending",
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failure",
    CheckState.NEUTRAL: "pending",
}
_CONCLUSION = {
    CheckState.SUCCESS: "success",
    CheckState.FAILURE: "failure",
    CheckState.NEUTRAL: "cancelled",
}


@contextmanager
def reading(ask: Ask) -> Iterator[None]:
    """Turn what goes wrong while reading the answer to `ask` into Unavailable."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise odd_answer(ask) from error


def actor(data: Mapping[str, Any] | None) -> Actor:
    """Return an account; one that is gone is the ghost, whose id 0 may do nothing."""
    if not data:
        return _GHOST
    return Actor(_whole(data["id"]), _text(data["login"]))


def repository(data: Mapping[str, Any]) -> Repository:
    """Return a repository."""
    return Repository(
        id=_whole(data["id"]),
        full_name=_text(data["full_name"]),
        default_branch=_text(data["default_branch"]),
        clone_url=_text(data["clone_url"]),
        private=data.get("private") is not False,
        archived=data.get("archived") is True,
    )


def pull(data: Mapping[str, Any]) -> PullRequest:
    """Return a pull request, from its own answer or from an item of a listing."""
    head = data["head"]
    merged = data.get("merged") is True or data.get("merged_at") is not None
    return PullRequest(
        number=_whole(data["number"]),
        title=_text(data["title"]),
        body=_text(data.get("body") or ""),
        author=actor(data["user"]),
        head=parse_sha(head["sha"]),
        head_branch=_text(head["ref"]),
        head_repo=_text(head["repo"]["full_name"]) if head.get("repo") else "",
        base=_text(data["base"]["ref"]),
        labels=tuple(_text(each["name"]) for each in data["labels"]),
        closed=data["state"] != "open",
        merged=merged,
        draft=data.get("draft") is True,
        created_at=seconds(data["created_at"]),
        url=_text(data["html_url"]),
        lent=data.get("maintainer_can_modify") is True,
    )


def issue(data: Mapping[str, Any]) -> Issue:
    """Return an issue."""
    return Issue(
        number=_whole(data["number"]),
        title=_text(data["title"]),
        closed=data["state"] != "open",
        pull=bool(data.get("pull_request")),
        labels=tuple(_text(each["name"]) for each in data["labels"]),
        body=_text(data.get("body") or ""),
        created_at=seconds(data["created_at"]),
    )


def label_event(data: Mapping[str, Any]) -> LabelEvent:
    """Return a `labeled` or `unlabeled` event of an issue."""
    return LabelEvent(
        id=_whole(data["id"]),
        label=_text(data["label"]["name"]),
        actor=actor(data["actor"]),
        at=seconds(data["created_at"]),
    )


def signature(data: Mapping[str, Any]) -> Signature:
    """Return what is known of a commit's signature."""
    told = data["commit"]["verification"]
    return Signature(parse_sha(data["sha"]), told["verified"] is True, _text(told["reason"]))


def comment(data: Mapping[str, Any]) -> Comment:
    """Return a comment."""
    made, changed = data.get("created_at"), data.get("updated_at")
    edited = made is None or made != changed
    return Comment(_whole(data["id"]), actor(data["user"]), _text(data.get("body") or ""), edited)


def permission(data: Mapping[str, Any], who: Actor) -> Permission:
    """Return what `who` may do; NONE when the login belongs to somebody else by now.

    `role_name` is the finer word; a role that an organisation made up falls back on the coarse one.
    """
    user = data.get("user")
    if not user or user["id"] != who.id:
        return Permission.NONE
    coarse = _ROLES.get(data["permission"], Permission.NONE)
    return _ROLES.get(data.get("role_name") or "", coarse)


def status(report: CheckReport) -> dict[str, str]:
    """Return a report as the body of a commit status."""
    body = {"context": CHECK, "state": _STATUS[report.state], "description": _title(report)}
    return body | ({"target_url": report.url} if report.url else {})


def check_run(report: CheckReport) -> dict[str, Any]:
    """Return a report as the body of a check run."""
    summary = report.summary[:SUMMARY_CHARS_MAX]
    body: dict[str, Any] = {
        "name": CHECK,
        "head_sha": report.sha,
        "status": "in_progress",
        "output": {"title": _title(report), "summary": summary},
    }
    if report.state is not CheckState.PENDING:
        body |= {"status": "completed", "conclusion": _CONCLUSION[report.state]}
    if report.pr:
        shown = f"{report.pr}:{report.attempt}"
        body |= {"external_id": shown, "actions": _actions(report.state)}
    if report.remarks:
        body["output"]["annotations"] = [_annotation(each) for each in report.remarks]
    return body | ({"details_url": report.url} if report.url else {})


def _actions(state: CheckState) -> list[dict[str, str]]:
    match state:
        case CheckState.PENDING:
            return [_action("Cancel", "Take it out of the queue", "cancel")]
        case CheckState.FAILURE | CheckState.NEUTRAL:
            return [_action("Try again", "Queue the same head once more", "rerun")]
        case CheckState.SUCCESS:
            return []


def _action(label: str, description: str, identifier: str) -> dict[str, str]:
    return {"label": label, "description": description, "identifier": identifier}


def _annotation(remark: Remark) -> dict[str, Any]:
    return {
        "path": remark.path,
        "start_line": remark.line,
        "end_line": remark.line,
        "annotation_level": "failure",
        "message": remark.text,
    }


def pushed_at(moves: Sequence[Mapping[str, Any]], *, bot: int) -> float | None:
    """Return when a branch last moved, from all its moves, newest first; None for no moves.

    What the bot did and undid at once, for a landing that did not happen, is left out. A branch
    that never moved since it was made is older than its pull request, and than every label there:
    its time is half a second earlier than the whole second that the forge tells.
    """
    while len(moves) > ROUND_TRIP and _undone(moves[0], moves[1], bot):
        moves = moves[ROUND_TRIP:]
    if not moves:
        return None
    made = len(moves) == 1 and moves[0].get("activity_type") == "branch_creation"
    return seconds(moves[0]["timestamp"]) - (0.5 if made else 0.0)


def _undone(later: Mapping[str, Any], earlier: Mapping[str, Any], bot: int) -> bool:
    own = all((each.get("actor") or {}).get("id") == bot for each in (later, earlier))
    return own and (later["before"], later["after"]) == (earlier["after"], earlier["before"])


def seconds(text: str) -> float:
    """Return an instant as Unix seconds."""
    return datetime.fromisoformat(text).timestamp()


def _title(report: CheckReport) -> str:
    title = " ".join(report.title.split())
    cut = f"{title[: TITLE_CHARS_MAX - 1]}…"
    return title if len(title) <= TITLE_CHARS_MAX else cut


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"a whole number, not {type(value).__name__}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text, not {type(value).__name__}")
    return value.encode("utf-8", "replace").decode()
