from collections.abc import Iterator
from http import HTTPStatus

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

from mergebot.domain.limits import WEBHOOK_BYTES_MAX
from mergebot.web import bodies
from mergebot.web.problems import Problem
from tests.support.website import Website, hook_headers, payload

BODY = payload(action="labeled", number=7)


@pytest.fixture
def site() -> Website:
    return Website()


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with TestClient(site.app()) as client:
        yield client


def test_a_signed_delivery_is_kept_before_the_answer_and_rung_for(
    site: Website, client: TestClient
) -> None:
    answer = client.post("/hooks/github", content=BODY, headers=hook_headers(BODY))
    assert answer.status_code == HTTPStatus.ACCEPTED
    (kept,) = site.inbox.take(limit=9)
    assert (kept.guid, kept.event, kept.body) == ("g-1", "pull_request", BODY)
    assert site.bell.rings == 1


def test_the_same_delivery_again_is_answered_the_same_and_kept_once(
    site: Website, client: TestClient
) -> None:
    answers = [
        client.post("/hooks/github", content=BODY, headers=hook_headers(BODY)) for _ in range(3)
    ]
    assert {answer.status_code for answer in answers} == {HTTPStatus.ACCEPTED}
    assert [answer.json()["duplicate"] for answer in answers] == [False, True, True]
    assert site.inbox.depth() == 1


@pytest.mark.parametrize("signature", ["", "sha256=", "sha1=00", "sha256=" + "0" * 64])
def test_a_wrong_signature_is_refused_in_the_same_words(
    site: Website, client: TestClient, signature: str
) -> None:
    headers = hook_headers(BODY) | {"X-Hub-Signature-256": signature}
    answer = client.post("/hooks/github", content=BODY, headers=headers)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer.json() == {"error": "the signature does not match the body", "field": None}
    assert site.inbox.depth() == 0


def test_a_body_that_was_changed_on_the_way_is_refused(site: Website, client: TestClient) -> None:
    answer = client.post("/hooks/github", content=BODY + b" ", headers=hook_headers(BODY))
    assert (answer.status_code, site.inbox.depth()) == (HTTPStatus.UNAUTHORIZED, 0)


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(client: TestClient) -> None:
    large = b"x" * (WEBHOOK_BYTES_MAX + 1)
    chunks = (large[at : at + 2**20] for at in range(0, len(large), 2**20))
    declared = client.post("/hooks/github", content=large, headers=hook_headers(b""))
    chunked = client.post("/hooks/github", content=chunks, headers=hook_headers(b""))
    assert declared.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert chunked.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert declared.json()["error"] == "the body is larger than the 26,214,400 bytes allowed"


def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "READ_S", 0.1)
    asked = []

    async def receive() -> Message:
        asked.append(1)
        if len(asked) > 1:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def reading() -> None:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        with anyio.fail_after(10):
            await bodies.read(request, limit=10)

    with pytest.raises(Problem) as refused:
        anyio.run(reading)
    assert refused.value.status == HTTPStatus.REQUEST_TIMEOUT


@pytest.mark.parametrize("name", ["X-GitHub-Event", "X-GitHub-Delivery"])
def test_a_delivery_without_its_headers_is_refused_by_name(client: TestClient, name: str) -> None:
    headers = hook_headers(BODY)
    del headers[name]
    answer = client.post("/hooks/github", content=BODY, headers=headers)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.json() == {"error": f"the header {name} is missing", "field": name}


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 65 + b"1" + b"}" * 65, b"{", b"[]", b"\xff"]
)
def test_what_is_no_sane_json_object_is_refused(
    site: Website, client: TestClient, body: bytes
) -> None:
    answer = client.post("/hooks/github", content=body, headers=hook_headers(body))
    assert (answer.status_code, site.inbox.depth()) == (HTTPStatus.BAD_REQUEST, 0)


def test_brackets_in_strings_nest_nothing(client: TestClient) -> None:
    body = payload(title='[[["' * 60)
    answer = client.post("/hooks/github", content=body, headers=hook_headers(body))
    assert answer.status_code == HTTPStatus.ACCEPTED


def test_only_post_is_taken(client: TestClient) -> None:
    answer = client.get("/hooks/github")
    assert answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    assert answer.headers["Allow"] == "POST"
    assert answer.json() == {"error": "this address does not take that method", "field": None}


def test_a_compressed_body_is_refused(site: Website, client: TestClient) -> None:
    headers = hook_headers(BODY) | {"Content-Encoding": "gzip"}
    answer = client.post("/hooks/github", content=BODY, headers=headers)
    assert (answer.status_code, site.inbox.depth()) == (HTTPStatus.BAD_REQUEST, 0)


def test_a_form_says_which_content_type_is_needed(client: TestClient) -> None:
    headers = hook_headers(BODY) | {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post("/hooks/github", content=BODY, headers=headers)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.json()["field"] == "Content-Type"


def test_a_ping_that_is_no_json_object_is_refused_like_any_other_delivery(
    client: TestClient,
) -> None:
    for body in (b"{", b"[]", b""):
        answer = client.post(
            "/hooks/github", content=body, headers=hook_headers(body, event="ping")
        )
        assert answer.status_code == HTTPStatus.BAD_REQUEST


def test_a_ping_is_answered_and_not_kept(site: Website, client: TestClient) -> None:
    answer = client.post("/hooks/github", content=BODY, headers=hook_headers(BODY, event="ping"))
    assert answer.json() == {"accepted": True, "pong": True}
    assert site.inbox.depth() == 0


def test_a_broken_bell_loses_nothing(site: Website, client: TestClient) -> None:
    site.bell.broken = True
    answer = client.post("/hooks/github", content=BODY, headers=hook_headers(BODY))
    assert (answer.status_code, site.inbox.depth()) == (HTTPStatus.ACCEPTED, 1)
