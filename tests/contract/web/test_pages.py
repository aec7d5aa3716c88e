from collections.abc import Iterator
from html.parser import HTMLParser
from http import HTTPStatus

import pytest
from starlette.testclient import TestClient

from mergebot.domain.candidate import Queued
from tests.support.sample import candidate
from tests.support.scene import SHOP, fill_calm, fill_halted
from tests.support.website import NOW, Website

PAGES = ["", "/pull/198", "/pull/214", "/pull/196", "/claims", "/landings", "/stats"]


@pytest.fixture
def site() -> Website:
    site = Website()
    fill_halted(site)
    return site


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with TestClient(site.app()) as client:
        yield client


class Outline(HTMLParser):
    """Collects what a reader with a screen reader or without script relies on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.inline += [name for name in found if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in found):
            self.inline.append(tag)


@pytest.mark.parametrize("page", ["/", *(f"/{SHOP.repo}{path}" for path in PAGES)])
def test_a_page_has_one_heading_landmarks_and_nothing_inline(client: TestClient, page: str) -> None:
    answer = client.get(page)
    outline = Outline(answer.text)
    assert answer.status_code == HTTPStatus.OK
    assert outline.tags.count("h1") == 1
    assert {"header", "main", "footer"} <= set(outline.tags)
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.inline == []


def test_the_queue_page_shows_what_stands_in_the_queue(client: TestClient) -> None:
    text = client.get(f"/{SHOP.repo}").text
    for shown in (
        "Nothing lands on main for now",
        "Retry card payments only after a timeout",
        "agent-12",
        "src/price/**",
        "repair lane",
        "of usually 1 min 35 s",
        "gate failed: test",
        "Log payments without card numbers",
    ):
        assert shown in text


def test_a_green_trunk_shows_no_banner(client: TestClient) -> None:
    calm = Website()
    fill_calm(calm)
    with TestClient(calm.app()) as other:
        text = other.get(f"/{SHOP.repo}").text
    assert "Nothing lands" not in text
    assert "</b> is green" in text


def test_search_and_paging_work_without_script(site: Website) -> None:
    site.put(*(candidate(Queued(), pr=number) for number in range(1, 121)))
    with TestClient(site.app()) as client:
        text = client.get("/o/r", params={"q": "change", "page": 2}).text
    assert "120 matches for" in text
    assert 'href="?q=change&amp;page=3"' in text
    assert "Change number 51" in text


def test_the_failing_page_tells_what_to_do(client: TestClient) -> None:
    text = client.get(f"/{SHOP.repo}/pull/198").text
    for shown in (
        "pytest -q",
        "exit code <b>1</b>",
        "AssertionError: assert Money(1600) == Money(1800)",
        "refs/mergebot/candidate/198",
        "push a fix, then label again",
        "1 failed, 206 passed",
        "the base is green",
    ):
        assert shown in text


def test_a_log_is_plain_text_and_nothing_else(client: TestClient) -> None:
    answer = client.get(f"/{SHOP.repo}/pull/198/log/run-198")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "206 passed" in answer.text


def test_whoever_asks_for_an_icon_gets_it(client: TestClient) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize("path", ["/", "/no/such", "/healthz", "/static/mergebot.css", "/api/v1/x"])
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_pages_only_read(client: TestClient, method: str) -> None:
    answer = client.request(method, f"/{SHOP.repo}")
    assert answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED


def test_a_page_that_is_not_there_says_so_to_people(client: TestClient) -> None:
    answer = client.get("/no/such")
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert "There is no queue for no/such here." in answer.text


def test_alive_means_that_something_moves(site: Website, client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "troubles": [], "waiting": {}}
    site.reconciled_at = NOW - 300
    site.put(candidate(Queued(), at=NOW - 200))
    answer = client.get("/healthz")
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert answer.json()["troubles"] == [
        "the reconciler was last heard of 5 min ago",
        "the queue of o/r could move and did not for 3 min 20 s",
    ]


def test_ready_means_that_the_record_can_be_read(client: TestClient) -> None:
    assert client.get("/readyz").json() == {"status": "ready", "lanes": 2}


def test_prometheus_reads_the_record_when_it_scrapes(client: TestClient) -> None:
    text = client.get("/metrics").text
    for line in (
        'mergebot_queue_entries{repo="harbour/shop",state="gating"} 2.0',
        'mergebot_halted{repo="harbour/shop"} 1.0',
        'mergebot_trunk_green{repo="harbour/docs"} 1.0',
        "mergebot_workers 4.0",
        "mergebot_inbox_depth 0.0",
    ):
        assert line in text
