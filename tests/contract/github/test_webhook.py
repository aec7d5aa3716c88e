import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mergebot.adapters.github.webhook import parse, verify
from mergebot.domain.ids import Actor
from mergebot.domain.limits import WEBHOOK_DEPTH_MAX
from mergebot.domain.news import (
    NOBODY,
    CheckAsked,
    CheckNews,
    CommentMade,
    Ignored,
    LabelSet,
    News,
    PullFacts,
    PullMoved,
    RepositoryChanged,
    ReviewGiven,
    TrunkPushed,
)
from tests.contract.github import payloads

EVENTS = [
    "pull_request",
    "issue_comment",
    "push",
    "pull_request_review",
    "check_run",
    "check_suite",
    "workflow_run",
    "status",
    "repository",
    "ping",
]
ALICE, HEAD = Actor(1, "alice"), payloads.HEAD
REPOSITORY = {"id": 5, "full_name": "o/r"}


def read(event: str, **document: Any) -> News:
    common = {"repository": REPOSITORY, "sender": payloads.ALICE}
    return parse(event, json.dumps(common | document).encode())


def pull(**changes: Any) -> dict[str, Any]:
    return payloads.pull() | changes


def signature(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def test_githubs_published_vector_is_verified() -> None:
    sent = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert verify(b"Hello, World!", sent, ["It's a Secret to Everybody"])


def test_any_of_several_secrets_verifies_while_they_are_rotated() -> None:
    body = '{"ü": "\U0001f600"}'.encode()
    assert verify(body, signature(body, "old"), ["new", "old"])
    assert not verify(body, signature(body, "old"), ["new"])


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "sha256=",
        "sha1=" + hmac.new(b"s", b"{}", "sha1").hexdigest(),
        signature(b"{}", "s")[:-1],
        signature(b"{}", "s").upper(),
        signature(b"{}", "s") + "\n",
        signature(b"{ }", "s"),
        signature(b"{}", ""),
        "sha256=" + "é" * 64,
    ],
)
def test_no_other_signature_is_verified(sent: str) -> None:
    assert not verify(b"{}", sent, ["s", ""])


def test_a_label_comes_with_the_head_it_was_set_on() -> None:
    news = read(
        "pull_request", action="labeled", label={"name": "merge-queue"}, pull_request=pull()
    )
    facts = PullFacts(7, HEAD, "fix", 5, "main", ALICE, draft=False, closed=False)
    assert news == LabelSet("o/r", 5, facts, "merge-queue", ALICE)


def test_a_label_on_a_fork_that_is_gone_or_by_a_ghost() -> None:
    head = {"sha": HEAD, "ref": "fix", "repo": None}
    changed = pull(head=head, user=None, state="closed", draft=True)
    news = read("pull_request", action="labeled", label={"name": "l"}, pull_request=changed)
    facts = PullFacts(7, HEAD, "fix", 0, "main", NOBODY, draft=True, closed=True)
    assert news == LabelSet("o/r", 5, facts, "l", ALICE)


@pytest.mark.parametrize("action", ["unlabeled", "synchronize", "closed", "edited", "new_action"])
def test_everything_else_about_a_pull_request_is_a_move(action: str) -> None:
    news = read("pull_request", action=action, pull_request=pull())
    assert news == PullMoved("o/r", 5, 7, HEAD, action, ALICE)


def test_a_sender_that_is_not_named_is_nobody() -> None:
    assert read("pull_request", action="closed", pull_request=pull(), sender=None) == PullMoved(
        "o/r", 5, 7, HEAD, "closed", NOBODY
    )


def test_only_a_new_comment_on_a_pull_request_is_news() -> None:
    issue = {"number": 7, "pull_request": {"url": "http://169.254.169.254/"}}
    comment = payloads.comment(3, "@mergebot \ud800queue", payloads.ALICE)
    news = read("issue_comment", action="created", issue=issue, comment=comment)
    assert news == CommentMade("o/r", 5, 7, 3, "@mergebot ?queue", ALICE)
    edited = read("issue_comment", action="edited", issue=issue, comment=comment)
    assert edited == Ignored("issue_comment.edited")
    on_issue = read("issue_comment", action="created", issue={"number": 7}, comment=comment)
    assert on_issue == Ignored("issue_comment.created on an issue")


def test_a_push_to_a_branch_is_news_and_one_to_nothing_is_not() -> None:
    news = read("push", ref="refs/heads/a/ü", after=HEAD)
    assert news == TrunkPushed("o/r", 5, "a/ü", HEAD, ALICE)
    assert read("push", ref="refs/tags/v1", after=HEAD) == Ignored("push to no branch")
    assert read("push", ref="refs/heads/", after=HEAD) == Ignored("push to no branch")
    deleted = read("push", ref="refs/heads/x", after="0" * 40)
    assert deleted == Ignored("push that deletes a branch")


def test_a_review_is_news() -> None:
    news = read("pull_request_review", action="submitted", pull_request=pull(), review={})
    assert news == ReviewGiven("o/r", 5, 7, "submitted", ALICE)


@pytest.mark.parametrize(
    ("event", "document"),
    [
        ("check_run", {"check_run": {"head_sha": HEAD, "name": "test"}}),
        ("check_suite", {"check_suite": {"head_sha": HEAD, "app": {"slug": "test"}}}),
        ("workflow_run", {"workflow_run": {"head_sha": HEAD, "name": "test"}}),
        ("status", {"sha": HEAD, "context": "test"}),
    ],
)
def test_every_kind_of_check_is_news_of_a_commit(event: str, document: dict[str, Any]) -> None:
    assert read(event, **document) == CheckNews("o/r", 5, HEAD, "test", ALICE)


def test_a_check_without_a_name_is_news_all_the_same() -> None:
    news = read("check_suite", check_suite={"head_sha": HEAD, "app": None})
    assert news == CheckNews("o/r", 5, HEAD, "check_suite", ALICE)


def test_a_button_on_the_own_check_tells_which_attempt_and_commit_were_seen() -> None:
    check = {"head_sha": HEAD, "name": "mergebot", "external_id": "7:3"}
    news = read("check_run", action="rerequested", check_run=check)
    assert news == CheckAsked("o/r", 5, 7, "rerun", ALICE, HEAD, 3)


@pytest.mark.parametrize("told", ["7", "7:0", "7:3x", "", None])
def test_a_button_on_a_check_that_names_no_attempt_asks_for_nothing(told: object) -> None:
    check = {"head_sha": HEAD, "name": "mergebot", "external_id": told}
    news = read("check_run", action="rerequested", check_run=check)
    assert news == Ignored("check_run.rerequested without an attempt")


def test_a_renamed_repository_is_news() -> None:
    assert read("repository", action="renamed") == RepositoryChanged(5, "o/r", "renamed")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pull_request": pull(head=None)}, "pull_request.labeled without a head"),
        ({"pull_request": pull(head={"sha": "main"})}, "pull_request.labeled without a head"),
        ({"pull_request": pull(number=True)}, "pull_request.labeled without a number"),
        ({"pull_request": pull(number=2**63)}, "pull_request.labeled without a number"),
        ({"pull_request": pull(base=[])}, "pull_request.labeled without a base"),
        ({"label": None}, "pull_request.labeled without a label"),
        ({"sender": {"login": "x"}}, "pull_request.labeled without a sender"),
        (
            {"repository": {"id": 5, "full_name": "../x"}},
            "pull_request.labeled without a repository",
        ),
        ({"action": 7}, "pull_request without an action"),
        ({"pull_request": []}, "pull_request.labeled without a number"),
    ],
)
def test_what_is_missing_is_named(changes: dict[str, Any], reason: str) -> None:
    whole = {"action": "labeled", "label": {"name": "l"}, "pull_request": pull()}
    assert read("pull_request", **(whole | changes)) == Ignored(reason)


def test_an_event_that_nobody_knows_is_ignored() -> None:
    assert parse("star", b"{}") == Ignored("event star")
    assert parse("\ud800" * 9999, b"{}") == Ignored("event " + "?" * 60)


@pytest.mark.parametrize("body", [b"", b"x", b"\xff\xfe{", b"[]", b"7", b'"{}"', b"null", b"{" * 9])
def test_a_body_that_is_no_object_is_refused_in_one_sentence(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^The body is .*\.$"):
        parse("ping", body)


@pytest.mark.parametrize("depth", [WEBHOOK_DEPTH_MAX + 1, 100_000])
def test_a_body_that_nests_too_deep_is_refused(depth: int) -> None:
    body = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    with pytest.raises(ValueError, match="deeper"):
        parse("ping", body)


def test_a_body_as_deep_as_allowed_is_read() -> None:
    body = b'{"a":' * WEBHOOK_DEPTH_MAX + b"1" + b"}" * WEBHOOK_DEPTH_MAX
    assert parse("ping", body) == Ignored("event ping")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just(HEAD),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)


@settings(max_examples=50)
@given(event=st.sampled_from(EVENTS), document=st.dictionaries(st.text(max_size=9), values))
def test_arbitrary_json_is_never_an_error(event: str, document: dict[str, Any]) -> None:
    assert isinstance(parse(event, json.dumps(document).encode()), Ignored)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a good document of every event at once, with values exchanged anywhere within."""
    check = {"head_sha": HEAD, "name": "test", "app": {"slug": "ci"}}
    document: dict[str, Any] = {
        "action": draw(st.sampled_from(["labeled", "created", "closed"])),
        "repository": dict(REPOSITORY),
        "sender": dict(payloads.ALICE),
        "pull_request": pull(),
        "label": {"name": "l"},
        "issue": {"number": 7, "pull_request": {}},
        "comment": payloads.comment(3, "x", dict(payloads.ALICE)),
        "ref": "refs/heads/main",
        "after": HEAD,
        "sha": HEAD,
        "context": "ci",
        "check_run": check,
        "check_suite": check,
        "workflow_run": check,
    }
    document = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 3))):
        place = document
        while True:
            key = draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or not place[key] or draw(st.booleans()):
                break
            place = place[key]
        place[key] = draw(values)
    return document


@given(event=st.sampled_from(EVENTS), document=damaged())
def test_damaged_payloads_are_read_or_ignored(event: str, document: dict[str, Any]) -> None:
    news = parse(event, json.dumps(document).encode())
    assert str(news).encode()


@given(event=st.text(), body=st.binary())
def test_arbitrary_bytes_are_refused_or_ignored(event: str, body: bytes) -> None:
    assert isinstance(read_or_refusal(event, body), Ignored | str)


def read_or_refusal(event: str, body: bytes) -> News | str:
    try:
        return parse(event, body)
    except ValueError as error:
        return str(error)
