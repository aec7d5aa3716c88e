"""Webhook deliveries: whether the signature is right, and what the body says.

`parse` is total. A body that is no JSON object, or nests too deep, is a ValueError that the door
answers with 400; everything else becomes news, if only `Ignored` with a reason. No address from a
payload is ever kept: a signed body may still name any host.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mergebot.adapters.github.paths import REPOSITORY_NAME
from mergebot.domain.branch_rules import OWN_CHECK
from mergebot.domain.ids import Actor, Sha, parse_sha
from mergebot.domain.limits import WEBHOOK_DEPTH_MAX
from mergebot.domain.news import (
    NOBODY,
    CheckAsked,
    CheckNews,
    CommentMade,
    Ignored,
    InstallationChanged,
    LabelSet,
    News,
    PullFacts,
    PullMoved,
    RepositoryChanged,
    ReviewGiven,
    TrunkPushed,
)

_ID_MAX = 2**63
_BRANCH = "refs/heads/"
_ATTEMPT = re.compile(r"([1-9][0-9]{0,9}):([1-9][0-9]{0,9})")
_NO_COMMIT = re.compile(r"0+")
_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
_WORD_CHARS_MAX = 60


def verify(body: bytes, signature: str, secrets: Sequence[str]) -> bool:
    """Tell whether `signature` (X-Hub-Signature-256) is that of `body` under one of `secrets`.

    Every secret is tried, in constant time; an empty one matches nothing.
    """
    if not _SIGNATURE.fullmatch(signature):
        return False
    matches = [
        hmac.compare_digest(signature, f"sha256={_digest(secret, body)}")
        for secret in secrets
        if secret
    ]
    return any(matches)


def _digest(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def parse(event: str, body: bytes) -> News:
    """Return what a delivery of `event` (X-GitHub-Event) says.

    Raises ValueError, with one sentence, when the body is no JSON object or nests too deep.
    """
    document = _object(body)
    reader = _READERS.get(event)
    if reader is None:
        return Ignored(f"event {_word(event)}")
    try:
        return reader(_Payload(event, document))
    except _Without as missing:
        action = document.get("action")
        name = f"{event}.{_word(action)}" if isinstance(action, str) else event
        return Ignored(f"{name} without {missing}")


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    except ValueError:
        raise ValueError("The body is not JSON; send application/json in UTF-8.") from None
    if not isinstance(document, dict):
        raise ValueError("The body is JSON but no object; a webhook's body is an object.")  # noqa: TRY004 - the port's word for a bad body
    if _nests_deeper_than(document, WEBHOOK_DEPTH_MAX):
        raise ValueError(_too_deep())
    return document


def _too_deep() -> str:
    return f"The body nests deeper than {WEBHOOK_DEPTH_MAX} levels, which no webhook does."


def _nests_deeper_than(document: Mapping[str, Any], levels: int) -> bool:
    layer: list[Any] = [document]
    for _ in range(levels):
        layer = [child for each in layer for child in _children(each)]
        if not layer:
            return False
    return True


def _children(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value
    return [each for each in inside if isinstance(each, dict | list)]


def _word(text: str) -> str:
    return _clean(text[:_WORD_CHARS_MAX])


def _clean(text: str) -> str:
    """Return `text` without halves of surrogate pairs, which no UTF-8 store takes."""
    return text.encode("utf-8", "replace").decode()


class _Without(Exception):
    """The payload lacks a thing, or has it in an odd shape; the text names it."""


@dataclass(frozen=True, slots=True)
class _Payload:
    """Reads fields by path, and says what is not there."""

    event: str
    document: Mapping[str, Any]

    def at(self, *path: str) -> Any:
        value: Any = self.document
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def number(self, what: str, *path: str) -> int:
        value = self.at(*path)
        if type(value) is not int or not 0 < value < _ID_MAX:
            raise _Without(what)
        return value

    def text(self, what: str, *path: str) -> str:
        value = self.at(*path)
        if not isinstance(value, str) or not value:
            raise _Without(what)
        return _clean(value)

    def sha(self, what: str, *path: str) -> Sha:
        try:
            return parse_sha(self.text(what, *path))
        except ValueError:
            raise _Without(what) from None

    def actor(self, what: str, *path: str) -> Actor:
        return Actor(self.number(what, *path, "id"), self.text(what, *path, "login"))

    @property
    def action(self) -> str:
        return self.text("an action", "action")

    @property
    def sender(self) -> Actor:
        try:
            return self.actor("a sender", "sender")
        except _Without:
            return NOBODY

    @property
    def repo_id(self) -> int:
        return self.number("a repository", "repository", "id")

    @property
    def repo(self) -> str:
        name = self.text("a repository", "repository", "full_name")
        if not REPOSITORY_NAME.fullmatch(name):
            raise _Without("a repository")
        return name


def _pull_request(payload: _Payload) -> News:
    number = payload.number("a number", "pull_request", "number")
    head = payload.sha("a head", "pull_request", "head", "sha")
    action = payload.action
    if action != "labeled":
        return PullMoved(payload.repo, payload.repo_id, number, head, action, payload.sender)
    label = payload.text("a label", "label", "name")
    actor = payload.actor("a sender", "sender")
    return LabelSet(payload.repo, payload.repo_id, _facts(payload, number, head), label, actor)


def _facts(payload: _Payload, number: int, head: Sha) -> PullFacts:
    pull = "pull_request"
    head_repo = payload.at(pull, "head", "repo")
    return PullFacts(
        number=number,
        head=head,
        head_branch=payload.text("a head branch", pull, "head", "ref"),
        head_repo_id=payload.number("a head repository", pull, "head", "repo", "id")
        if head_repo is not None
        else 0,
        base=payload.text("a base", pull, "base", "ref"),
        author=payload.actor("an author", pull, "user") if payload.at(pull, "user") else NOBODY,
        draft=payload.at(pull, "draft") is True,
        closed=payload.text("a state", pull, "state") != "open",
    )


def _issue_comment(payload: _Payload) -> News:
    if payload.action != "created":
        return Ignored(f"issue_comment.{_word(payload.action)}")
    if not isinstance(payload.at("issue", "pull_request"), dict):
        return Ignored("issue_comment.created on an issue")
    body = payload.at("comment", "body")
    return CommentMade(
        repo=payload.repo,
        repo_id=payload.repo_id,
        number=payload.number("a number", "issue", "number"),
        comment_id=payload.number("a comment", "comment", "id"),
        body=_clean(body) if isinstance(body, str) else "",
        author=payload.actor("an author", "comment", "user"),
        at=_time(payload.at("comment", "created_at")),
    )


def _time(value: object) -> float:
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0


def _push(payload: _Payload) -> News:
    ref = payload.text("a ref", "ref")
    if not ref.startswith(_BRANCH) or ref == _BRANCH:
        return Ignored("push to no branch")
    after = payload.sha("a commit", "after")
    if _NO_COMMIT.fullmatch(after):
        return Ignored("push that deletes a branch")
    branch = ref.removeprefix(_BRANCH)
    return TrunkPushed(payload.repo, payload.repo_id, branch, after, payload.sender)


def _review(payload: _Payload) -> News:
    number = payload.number("a number", "pull_request", "number")
    return ReviewGiven(
        payload.repo, payload.repo_id, number, action=payload.action, sender=payload.sender
    )


def _check(*path: str, name: tuple[str, ...]) -> Callable[[_Payload], News]:
    def read(payload: _Payload) -> News:
        sha = payload.sha("a commit", *path)
        named = payload.at(*name)
        # Suites without an App and runs without a workflow's name exist, and are news all the same.
        called = _clean(named) if isinstance(named, str) and named else payload.event
        return CheckNews(payload.repo, payload.repo_id, sha, called, payload.sender)

    return read


def _check_run(payload: _Payload) -> News:
    wish = _wish(payload)
    if not wish or payload.at("check_run", "name") != OWN_CHECK:
        return _check("check_run", "head_sha", name=("check_run", "name"))(payload)
    told = payload.at("check_run", "external_id")
    shown = _ATTEMPT.fullmatch(told) if isinstance(told, str) else None
    if shown is None:
        raise _Without("an attempt")
    return CheckAsked(
        repo=payload.repo,
        repo_id=payload.repo_id,
        number=int(shown[1]),
        wish=wish,
        actor=payload.actor("a sender", "sender"),
        head=payload.sha("a commit", "check_run", "head_sha"),
        attempt=int(shown[2]),
    )


def _wish(payload: _Payload) -> str:
    """Return what a button on a check asks for, "" where none was pressed."""
    asked = payload.at("requested_action", "identifier")
    match payload.at("action"):
        case "rerequested":
            return "rerun"
        case "requested_action" if asked in {"rerun", "cancel"}:
            return str(asked)
        case _:
            return ""


def _installation(payload: _Payload) -> News:
    match payload.action:
        case "created" | "unsuspend" | "new_permissions_accepted":
            return InstallationChanged(_names(payload, "repositories"), ())
        case "deleted" | "suspend":
            return InstallationChanged((), _ids(payload, "repositories"))
        case other:
            return Ignored(f"installation.{_word(other)}")


def _installation_repositories(payload: _Payload) -> News:
    gained, lost = "repositories_added", "repositories_removed"
    return InstallationChanged(_names(payload, gained), _ids(payload, lost))


def _names(payload: _Payload, key: str) -> tuple[str, ...]:
    found = [_field(each, "full_name") for each in _listed(payload, key)]
    return tuple(
        name for name in found if isinstance(name, str) and REPOSITORY_NAME.fullmatch(name)
    )


def _ids(payload: _Payload, key: str) -> tuple[int, ...]:
    found = [_field(each, "id") for each in _listed(payload, key)]
    return tuple(each for each in found if type(each) is int and 0 < each < _ID_MAX)


def _listed(payload: _Payload, key: str) -> list[Any]:
    found = payload.at(key)
    return found if isinstance(found, list) else []


def _field(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


def _repository(payload: _Payload) -> News:
    return RepositoryChanged(payload.repo_id, payload.repo, payload.action)


_READERS: Mapping[str, Callable[[_Payload], News]] = {
    "pull_request": _pull_request,
    "issue_comment": _issue_comment,
    "push": _push,
    "pull_request_review": _review,
    "check_run": _check_run,
    "check_suite": _check("check_suite", "head_sha", name=("check_suite", "app", "slug")),
    "workflow_run": _check("workflow_run", "head_sha", name=("workflow_run", "name")),
    "status": _check("sha", name=("context",)),
    "repository": _repository,
    "installation": _installation,
    "installation_repositories": _installation_repositories,
}
