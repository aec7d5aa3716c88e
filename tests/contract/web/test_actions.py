from collections.abc import Iterator
from http import HTTPStatus

import pytest
from starlette.testclient import TestClient

from mergebot.domain.candidate import Queued
from mergebot.web.bodies import depth
from tests.support.sample import candidate
from tests.support.website import ADMIN_TOKEN, NOW, Website

API = "/api/v1/repos/o/r"


@pytest.fixture
def site() -> Website:
    site = Website()
    site.put(candidate(Queued()))
    return site


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with TestClient(site.app()) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


AS_ADMIN = bearer(ADMIN_TOKEN)


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        ("tok-ada", "/candidates/7", HTTPStatus.ACCEPTED),
        ("tok-eve", "/candidates/7", HTTPStatus.FORBIDDEN),
        ("tok-ada", "/halt", HTTPStatus.FORBIDDEN),
        ("tok-mia", "/halt", HTTPStatus.OK),
        ("tok-ada", "/resume", HTTPStatus.FORBIDDEN),
        ("tok-mia", "/resume", HTTPStatus.OK),
        ("tok-nobody", "/halt", HTTPStatus.UNAUTHORIZED),
        (ADMIN_TOKEN, "/resume", HTTPStatus.OK),
        (ADMIN_TOKEN[:-1], "/resume", HTTPStatus.UNAUTHORIZED),
    ],
)
def test_who_may_do_what(
    site: Website, client: TestClient, token: str, path: str, status: int
) -> None:
    answer = client.post(API + path, json={"reason": "because"}, headers=bearer(token))
    assert answer.status_code == status
    assert bool(site.operator.asked) == (status < HTTPStatus.BAD_REQUEST)


def test_without_a_token_nothing_is_done(site: Website, client: TestClient) -> None:
    answer = client.post(f"{API}/halt", json={"reason": "x"})
    assert (answer.status_code, site.operator.asked) == (HTTPStatus.UNAUTHORIZED, [])
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_an_empty_admin_token_lets_nobody_in(site: Website) -> None:
    site.settings = type(site.settings)(public_url="http://127.0.0.1", admin_token="")
    with TestClient(site.app()) as client:
        answer = client.post(f"{API}/halt", json={"reason": "x"}, headers=bearer(""))
    assert (answer.status_code, site.operator.asked) == (HTTPStatus.UNAUTHORIZED, [])


def test_actions_reach_the_operator_with_who_asked(site: Website, client: TestClient) -> None:
    for path in ("/candidates/7", "/candidates/7/cancel", "/candidates/7/retry", "/halt"):
        client.post(API + path, json={"reason": "it  was\nflaky"}, headers=bearer("tok-mia"))
    assert site.operator.asked == [
        ("enqueue", "o/r", 7, "mia"),
        ("cancel", "o/r", 7, "mia"),
        ("retry", "o/r", 7, "mia", "it was flaky"),
        ("halt", "o/r", "mia", "it was flaky"),
    ]


def test_an_action_answers_with_the_candidate_as_it_is_now(client: TestClient) -> None:
    found = client.post(f"{API}/candidates/7", headers=AS_ADMIN).json()
    assert (found["pr"], found["state"]) == (7, "queued")
    assert (found["accepted"], found["by"]) == (True, "admin")


def test_who_names_the_head_is_queued_at_that_head_or_not_at_all(
    site: Website, client: TestClient
) -> None:
    client.post(f"{API}/candidates/7", json={"head": "a" * 40}, headers=AS_ADMIN)
    client.post(f"{API}/candidates/7", json={"head": None}, headers=AS_ADMIN)
    retried = {"reason": "it was flaky", "head": "a" * 40}
    client.post(f"{API}/candidates/7/retry", json=retried, headers=AS_ADMIN)
    assert site.operator.asked == [
        ("enqueue", "o/r", 7, "admin", "a" * 40),
        ("enqueue", "o/r", 7, "admin"),
        ("retry", "o/r", 7, "admin", "it was flaky", "a" * 40),
    ]


@pytest.mark.parametrize("head", ["", "abc1234", "A" * 40, 5, ["a" * 40]])
def test_a_head_that_is_no_commit_id_is_refused(
    site: Website, client: TestClient, head: object
) -> None:
    answer = client.post(f"{API}/candidates/7", json={"head": head}, headers=AS_ADMIN)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert answer.json()["field"] == "head"
    assert site.operator.asked == []


def test_a_refusal_is_one_sentence(site: Website, client: TestClient) -> None:
    site.operator.refusal = "#7 is closed"
    answer = client.post(f"{API}/candidates/7", headers=AS_ADMIN)
    assert answer.status_code == HTTPStatus.CONFLICT
    assert answer.json() == {"error": "#7 is closed", "field": None}


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": 3}, {"reason": "x" * 501}])
def test_a_halt_needs_a_reason(site: Website, client: TestClient, body: object) -> None:
    answer = client.post(f"{API}/halt", json=body, headers=AS_ADMIN)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert answer.json()["field"] == "reason"
    assert site.operator.asked == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"x" * 70_000, b'{"a":' * 9 + b"1" + b"}" * 9])
def test_a_body_that_is_no_small_json_object_is_refused(
    site: Website, client: TestClient, body: bytes
) -> None:
    answer = client.post(f"{API}/halt", content=body, headers=AS_ADMIN)
    refused = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    assert answer.status_code in refused
    assert site.operator.asked == []


def test_while_the_forge_is_away_its_tokens_can_be_tried_again_later(
    site: Website, client: TestClient
) -> None:
    site.people.away = True
    answer = client.post(f"{API}/halt", json={"reason": "x"}, headers=bearer("tok-ada"))
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert "try again" in answer.json()["error"]


def test_who_asks_while_the_forge_takes_no_more_is_told_when_to_ask_again(
    site: Website, client: TestClient
) -> None:
    site.operator.busy_s = 11.2
    answer = client.post(f"{API}/candidates/7", json={}, headers=bearer("tok-ada"))
    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert answer.headers["Retry-After"] == "12"


def test_a_private_repository_is_not_there_for_strangers(site: Website, client: TestClient) -> None:
    site.private.add("o/r")
    assert client.get(f"{API}/queue").status_code == HTTPStatus.NOT_FOUND
    assert client.get("/o/r").status_code == HTTPStatus.NOT_FOUND
    assert client.get("/api/v1/repos").json()["lanes"] == []
    assert client.get(f"{API}/queue", headers=AS_ADMIN).status_code == HTTPStatus.OK
    assert client.get(f"{API}/queue", headers=bearer("tok-eve")).status_code == HTTPStatus.OK


@pytest.mark.parametrize("text", [r"half of \ud800 a pair", r"a\u0000b", r"\u001b[2J"])
def test_what_cannot_be_shown_is_no_reason(site: Website, client: TestClient, text: str) -> None:
    body = f'{{"reason": "{text}"}}'.encode()
    answer = client.post(f"{API}/halt", content=body, headers=AS_ADMIN)
    assert HTTPStatus.BAD_REQUEST <= answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    assert site.operator.asked == []


def test_a_number_longer_than_any_is_not_there(client: TestClient) -> None:
    answer = client.get(f"{API}/candidates/{'9' * 5_000}")
    assert answer.status_code == HTTPStatus.NOT_FOUND


def test_a_text_that_nobody_closes_is_looked_at_once() -> None:
    assert depth(b'"' + b'\\"' * 1_000_000) == 0


def test_of_a_private_repository_machines_that_are_strangers_learn_nothing(
    site: Website, client: TestClient
) -> None:
    site.private.add("o/r")
    site.clock.at = site.reconciled_at = NOW + 3_600
    assert "o/r" not in client.get("/metrics").text
    assert 'repo="o/r"' in client.get("/metrics", headers=AS_ADMIN).text
    (idle,) = [each for each in client.get("/healthz").json()["troubles"] if "queue" in each]
    assert idle.startswith("the queue of a private repository could move and did not for")
