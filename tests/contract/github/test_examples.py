"""GitHub's published example payloads, played through the web door and the reader behind it."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from mergebot.adapters.github.webhook import parse
from mergebot.domain.news import Ignored, LabelSet, News
from tests.support import octokit
from tests.support.github_report import TALLY
from tests.support.website import Website, hook_headers

# Without npm there is nothing to play; the summary of the run says so.
EVENTS: list[dict[str, Any]] = [] if octokit.trouble() else octokit.load(octokit.EXAMPLES)
EXAMPLES = [(each["name"], example) for each in EVENTS for example in each["examples"]]
MEANT = {
    "pull_request",
    "issue_comment",
    "push",
    "pull_request_review",
    "check_run",
    "check_suite",
    "workflow_run",
    "status",
    "repository",
    "installation",
    "installation_repositories",
}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(Website().app()) as served:
        yield served


def read(event: str, example: dict[str, Any]) -> News:
    return parse(event, json.dumps(example).encode())


def test_every_example_is_accepted_at_the_door(client: TestClient) -> None:
    statuses = Counter(_posted(client, place) for place in range(len(EXAMPLES)))
    assert set(statuses) <= {202}
    TALLY.counts["examples"] += statuses[202]


def _posted(client: TestClient, place: int) -> int:
    event, example = EXAMPLES[place]
    body = json.dumps(example).encode()
    headers = hook_headers(body) | {"X-GitHub-Event": event, "X-GitHub-Delivery": f"ex-{place}"}
    return client.post("/hooks/github", content=body, headers=headers).status_code


def test_events_that_mean_nothing_here_are_ignored_by_name() -> None:
    others = [(event, read(event, each)) for event, each in EXAMPLES if event not in MEANT]
    reasons = Counter(news.reason for _, news in others if isinstance(news, Ignored))
    assert reasons.total() == len(others)
    assert set(reasons) == {f"event {event}" for event, _ in others}
    TALLY.counts["examples ignored"] += reasons.total()


def test_every_example_of_an_event_that_means_something_is_read_or_says_why_not() -> None:
    news = [(event, each.get("action", ""), read(event, each)) for event, each in EXAMPLES]
    ignored = {
        (event, action): found.reason
        for event, action, found in news
        if event in MEANT and isinstance(found, Ignored)
    }
    assert set(ignored) <= {
        ("issue_comment", "created"),  # on an issue
        ("issue_comment", "edited"),
        ("issue_comment", "deleted"),
        ("push", ""),  # of a tag, or that deletes a branch
    }


def test_a_label_of_an_example_is_read_with_its_head_and_its_actor() -> None:
    labelled = [
        (each, read(event, each))
        for event, each in EXAMPLES
        if (event, each.get("action")) == ("pull_request", "labeled")
    ]
    for example, news in labelled:
        assert isinstance(news, LabelSet)
        assert news.pull.head == example["pull_request"]["head"]["sha"]
        assert (news.label, news.actor.id) == (example["label"]["name"], example["sender"]["id"])
    assert bool(labelled) == bool(EXAMPLES)
