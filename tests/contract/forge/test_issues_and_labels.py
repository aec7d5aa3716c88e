from collections.abc import Callable
from typing import Any

import pytest
from github import GithubException

from tests.support.forge import ForgeProcess, Receiver

Opened = Callable[[str], int]
TOO_LONG = {
    "resource": "IssueComment",
    "code": "unprocessable",
    "field": "data",
    "message": "Body is too long (maximum is 65536 characters)",
}


@pytest.mark.parametrize("body", [{"labels": ["bug", "new"]}, ["bug", "new"]])
def test_labels_are_added_by_either_form_and_created_where_missing(
    forge: ForgeProcess, name: str, opened: Opened, body: Any
) -> None:
    path = f"/repos/{name}/issues/{opened('topic')}/labels"

    answer = forge.call("POST", path, body)

    assert answer.status_code == 200
    assert [(x["name"], x["color"]) for x in answer.json()] == [
        ("bug", "ededed"),
        ("new", "ededed"),
    ]


def test_taking_a_label_off_returns_what_stays(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    path = f"/repos/{name}/issues/{opened('topic')}/labels"
    forge.call("POST", path, ["a/b", "c"])

    left = forge.call("DELETE", f"{path}/A%2Fb")
    again = forge.call("DELETE", f"{path}/a%2Fb")

    assert [x["name"] for x in left.json()] == ["c"]
    assert (again.status_code, again.json()["message"]) == (404, "Label does not exist")


def test_labels_can_be_replaced_and_cleared(
    forge: ForgeProcess, name: str, hooked: Receiver, opened: Opened
) -> None:
    pull = forge.client("alice").get_repo(name).get_pull(opened("topic"))
    pull.set_labels("one", "two")
    pull.set_labels("two", "three")
    names = {label.name for label in pull.get_labels()}
    pull.delete_labels()

    hooked.wait_for("pull_request.unlabeled")
    assert names == {"two", "three"}
    assert list(pull.get_labels()) == []


def test_a_repository_has_its_own_labels(forge: ForgeProcess, name: str) -> None:
    repo = forge.client("alice").get_repo(name)
    label = repo.create_label("good", "00ff00", "Very")
    label.edit("better", "0000ff")

    with pytest.raises(GithubException) as refused:
        repo.create_label("Better", "00ff00")
    seen = [(x.name, x.color) for x in repo.get_labels()]
    label.delete()

    assert refused.value.data["errors"] == [
        {"resource": "Label", "code": "already_exists", "field": "name"}
    ]
    assert seen == [("better", "0000ff")]
    assert list(repo.get_labels()) == []


def test_events_tell_who_labelled_when_and_in_which_order(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    forge.user("bob")
    repo = forge.client("alice").get_repo(name)
    repo.add_to_collaborators("bob", "triage")
    number = opened("topic")
    repo.get_issue(number).add_to_labels("first")
    forge.client("bob").get_repo(name).get_issue(number).add_to_labels("second")
    repo.get_issue(number).remove_from_labels("first")

    events = list(repo.get_issue(number).get_events())

    seen = [(e.event, e.label.name, e.actor.login) for e in events if "labeled" in e.event]
    assert seen == [
        ("labeled", "first", "alice"),
        ("labeled", "second", "bob"),
        ("unlabeled", "first", "alice"),
    ]
    assert [e.id for e in events] == sorted(e.id for e in events)
    assert all(e.created_at for e in events)


def test_comments_are_written_edited_and_deleted(
    forge: ForgeProcess, name: str, hooked: Receiver, opened: Opened
) -> None:
    issue = forge.client("alice").get_repo(name).get_issue(opened("topic"))
    comment = issue.create_comment("Hello")
    comment.edit("Hello again")
    comment.create_reaction("eyes")
    bodies = [c.body for c in issue.get_comments()]
    comment.delete()

    hooked.wait_for("issue_comment.deleted")
    edited = hooked.last("issue_comment.edited")
    assert bodies == ["Hello again"]
    assert edited["changes"] == {"body": {"from": "Hello"}}
    assert "pull_request" in edited["issue"]
    assert list(issue.get_comments()) == []


def test_a_comment_may_have_65536_characters_and_no_more(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    path = f"/repos/{name}/issues/{opened('topic')}/comments"

    longest = forge.call("POST", path, {"body": "é" * 65_536})
    refused = forge.call("POST", path, {"body": "x" * 65_537})

    assert longest.status_code == 201
    assert (refused.status_code, refused.json()["errors"]) == (422, [TOO_LONG])


def test_issues_are_opened_listed_and_closed(
    forge: ForgeProcess, name: str, hooked: Receiver
) -> None:
    repo = forge.client("alice").get_repo(name)
    issue = repo.create_issue("It is broken", "Badly", labels=["bug"])
    issue.edit(state="closed", state_reason="not_planned")

    hooked.wait_for("issues.opened", "issues.labeled", "issues.closed")
    closed = list(repo.get_issues(state="closed", labels=["bug"]))
    assert [(i.number, i.state_reason) for i in closed] == [(issue.number, "not_planned")]
    assert list(repo.get_issues()) == []
