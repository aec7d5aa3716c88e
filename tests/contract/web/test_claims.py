from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from mergebot.domain.lane import Rules
from mergebot.domain.policy import FleetPolicy
from mergebot.ports.forge import Issue
from tests.support.sample import BASE, LANE, POLICY
from tests.support.website import ADMIN_TOKEN, NOW, Website, healthy

API = f"/api/v1/repos/{LANE.repo}/claims"
ADA = {"Authorization": "Bearer tok-ada"}
ADMIN = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
AUTH = {
    "task": "AUTH-142",
    "claims": ["src/auth/**"],
    "assumes": [],
    "owner": "agent-7",
    "branch": "auth-142",
}


@pytest.fixture
def site() -> Website:
    site = Website()
    site.put()
    return site


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with TestClient(site.app()) as client:
        yield client


def made(client: TestClient, **more: object) -> dict[str, object]:
    answer = client.post(API, json={**AUTH, **more}, headers=ADA)
    assert answer.status_code == 201, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_a_claim_is_made_with_a_token_that_nobody_else_ever_sees(client: TestClient) -> None:
    claim = made(client)
    assert claim["generation"] == 1
    assert len(str(claim["token"])) >= 16
    assert (claim["owner"], claim["state"]) == ("agent-7", "active")
    assert str(claim["token"]) not in client.get(API).text
    assert str(claim["token"]) not in client.get(f"{API}/{claim['id']}").text


def test_what_may_be_left_out_may_be_null(client: TestClient) -> None:
    claim = made(client, assumes=None, owner=None, branch=None)
    assert (claim["assumes"], claim["owner"], claim["branch"]) == ([], "ada", None)


@pytest.mark.parametrize("branch", ["a b", "-x", "x..y", "refs/heads/x", "x.lock", "x" * 201])
def test_a_claim_names_a_branch_that_can_be(client: TestClient, branch: str) -> None:
    answer = client.post(API, json={**AUTH, "branch": branch}, headers=ADA)
    assert (answer.status_code, answer.json()["field"]) == (422, "branch")


def test_a_claim_that_is_asked_for_again_with_the_same_secret_is_the_same_claim(
    client: TestClient,
) -> None:
    secret = "a-secret-of-the-session-that-asks-0123"
    first = made(client, session=secret)
    assert first["token"] == secret
    assert made(client, session=secret) == first
    other = client.post(API, json={**AUTH, "session": "x" * 40}, headers=ADA)
    assert other.status_code == 409
    weak = client.post(API, json={**AUTH, "session": "short"}, headers=ADA)
    assert (weak.status_code, weak.json()["field"]) == (422, "session")
    assert secret not in client.get(API).text


def test_the_loser_is_told_who_holds_what_since_when_and_how_to_ask(client: TestClient) -> None:
    first = made(client)
    answer = client.post(API, json={"task": "X", "claims": ["src/auth/x"]}, headers=ADA)
    assert answer.status_code == 409
    (holder,) = answer.json()["holders"]
    assert (holder["id"], holder["owner"]) == (first["id"], "agent-7")
    assert (holder["claims"], holder["since"]) == (["src/auth/**"], first["since"])
    assert "ask its owner to release or narrow the claim" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"claims": ["a"]}, "task"),
        ({"task": "X"}, "claims"),
        ({"task": "X", "claims": ["/etc"]}, "claims"),
        ({"task": "X", "claims": ["a"], "assumes": ["x"]}, "assumes"),
        ({"task": "X", "claims": ["a"], "owner": "a\nb"}, "owner"),
        ({"task": "X", "claims": ["a"], "branch": 7}, "branch"),
    ],
)
def test_a_wrong_field_is_named_in_one_sentence(
    client: TestClient, body: dict[str, object], field: str
) -> None:
    answer = client.post(API, json=body, headers=ADA)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_protected_paths_are_claimed_by_an_admin_alone(client: TestClient) -> None:
    body = {"task": "X", "claims": [".github/workflows/ci.yml"]}
    refused = client.post(API, json=body, headers=ADA)
    assert refused.status_code == 403
    assert "only an admin claims it" in refused.json()["error"]
    assert client.post(API, json=body, headers=ADMIN).status_code == 201


def test_a_token_at_its_generation_parks_unparks_and_releases(client: TestClient) -> None:
    claim = made(client)
    right = {"token": claim["token"], "generation": 1}
    one = f"{API}/{claim['id']}"
    parked = client.post(f"{one}/park", json={**right, "reason": "waits"}, headers=ADA).json()
    assert (parked["state"], parked["parked"]["reason"]) == ("parked", "waits")
    assert client.post(f"{one}/unpark", json=right, headers=ADA).status_code == 409
    right["generation"] = parked["generation"]
    active = client.post(f"{one}/unpark", json=right, headers=ADA).json()
    right["generation"] = active["generation"]
    ended = client.post(f"{one}/release", json=right, headers=ADA).json()
    assert ended["state"] == "ended"
    assert "released by agent-7" in ended["evidence"]
    assert client.post(f"{one}/release", json=right, headers=ADA).status_code == 404


def test_without_the_token_only_an_admin_acts(client: TestClient) -> None:
    claim = made(client)
    one = f"{API}/{claim['id']}/release"
    assert (
        client.post(one, json={"token": "guess", "generation": 1}, headers=ADA).status_code == 409
    )
    assert client.post(one, json={}, headers=ADA).status_code == 403
    assert client.post(one, json={"generation": 7}, headers=ADMIN).status_code == 409
    assert client.post(one, json={"generation": 1}, headers=ADMIN).status_code == 200


def test_a_reclaimed_claim_fences_the_old_session(client: TestClient) -> None:
    claim = made(client)
    one = f"{API}/{claim['id']}"
    heir = client.post(f"{one}/reclaim", json={"generation": 1, "owner": "heir"}, headers=ADMIN)
    assert heir.json()["owner"] == "heir"
    renew = {"token": claim["token"], "generation": 1}
    assert client.post(f"{one}/renew", json=renew, headers=ADA).status_code == 409
    renew = {"token": heir.json()["token"], "generation": heir.json()["generation"]}
    assert client.post(f"{one}/renew", json=renew, headers=ADA).status_code == 200


def test_a_claim_is_extended_and_meets_others(client: TestClient) -> None:
    claim = made(client)
    made(client, task="DOCS-1", claims=["docs/**"])
    right = {"token": claim["token"], "generation": 1}
    one = f"{API}/{claim['id']}/extend"
    assert client.post(one, json={**right, "claims": ["docs/x"]}, headers=ADA).status_code == 409
    wider = client.post(one, json={**right, "claims": ["tests/**"]}, headers=ADA).json()
    assert wider["claims"] == ["src/auth/**", "tests/**"]


def test_the_next_task_is_handed_out_once_and_a_refusal_names_its_reason(
    site: Website, client: TestClient
) -> None:
    assert client.post(f"{API}/next", json={}, headers=ADA).json()["reason"] == "no_backlog"
    policy = replace(POLICY, fleet=FleetPolicy(backlog_label="agents"))
    site.put(state=replace(healthy(NOW), rules=Rules(BASE, policy)))
    site.hosting.tickets[5] = Issue(5, "Do it", False, False, ("agents", "p1"))
    answer = client.post(f"{API}/next", json={"claims": ["src/**"]}, headers=ADA)
    assert answer.status_code == 201, answer.text
    task = answer.json()
    assert (task["task"], task["title"], task["priority"]) == ("#5", "Do it", 1)
    assert (task["claims"], task["owner"], task["branch"]) == (["src/**"], "ada", "task-5")
    again = client.post(f"{API}/next", json={}, headers=ADA)
    assert (again.status_code, again.json()["reason"]) == (409, "nothing_ready")
    assert again.json()["waiting"] == [{"task": "#5", "because": "ada is at it"}]


def test_what_a_task_cost_is_counted_once_for_each_reference(client: TestClient) -> None:
    claim = made(client)
    one = f"{API}/{claim['id']}"
    body = {"amount": 1.25, "reference": "run-1", "token": claim["token"]}
    told = client.post(f"{one}/cost", json=body, headers=ADA)
    assert (told.status_code, told.json()["counted"]) == (201, True)
    again = client.post(f"{one}/cost", json=body, headers=ADA)
    assert (again.status_code, again.json()["counted"]) == (200, False)
    other = client.post(f"{one}/cost", json={**body, "amount": 2}, headers=ADA)
    assert (other.status_code, other.json()["field"]) == (409, "reference")
    assert [each["amount"] for each in client.get(one).json()["costs"]] == [1.25]
    cost = client.get(API).json()["cost"]
    assert (cost["amount"], cost["unit"], cost["tasks_reported"]) == (1.25, "USD", 1)
    page = client.get(f"/{LANE.repo}/claims").text
    assert "1.25 USD in the last 24 h; counts only what agents reported: 1 of 1 task." in page


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "amount"),
        ({"amount": -1}, "amount"),
        ({"amount": "1"}, "amount"),
        ({"amount": 1, "unit": "pieces of eight"}, "unit"),
        ({"amount": 1, "unit": "EUR"}, "unit"),
        ({"amount": 1, "reference": "a\nb"}, "reference"),
    ],
)
def test_a_cost_that_cannot_be_used_names_its_field(
    client: TestClient, body: dict[str, object], field: str
) -> None:
    claim = made(client)
    body = {**body, "token": claim["token"]}
    answer = client.post(f"{API}/{claim['id']}/cost", json=body, headers=ADA)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_nobody_else_reports_what_a_claim_cost(client: TestClient) -> None:
    one = f"{API}/{made(client)['id']}/cost"
    assert client.post(one, json={"amount": 1}, headers=ADA).status_code == 403
    assert client.post(one, json={"amount": 1, "token": "guess"}, headers=ADA).status_code == 403
    assert client.post(one, json={"amount": 1}, headers=ADMIN).status_code == 201
    assert client.post(f"{API}/none/cost", json={"amount": 1}, headers=ADMIN).status_code == 404


def test_a_plain_claims_file_is_taken_over_line_by_line(client: TestClient) -> None:
    made(client)
    file = "AUTH-142 | agent-9 | 2026-11-29\n#7 | agent-3 | 2026-11-29 | docs/**\n"
    assert client.post(f"{API}/import", json={"file": file}, headers=ADA).status_code == 403
    answer = client.post(f"{API}/import", json={"file": file}, headers=ADMIN).json()
    first, second = answer["claims"]
    assert (first["id"], "claimed already" in first["refused"]) == (None, True)
    assert client.get(f"{API}/{second['id']}").json()["claims"] == ["docs/**"]
    wrong = client.post(f"{API}/import", json={"file": "a | b | soon"}, headers=ADMIN)
    assert (wrong.status_code, wrong.json()["field"]) == (422, "file")


def test_reading_needs_no_token_and_claiming_does(client: TestClient) -> None:
    assert client.get(API).status_code == 200
    assert client.post(API, json=AUTH).status_code == 401
    eve = {"Authorization": "Bearer tok-eve"}
    assert client.post(API, json=AUTH, headers=eve).status_code == 403


def test_worktrees_are_reported_and_faults_in_them_named(client: TestClient) -> None:
    made(client)
    tree = {"path": "/w", "branch": "auth-142", "head": "a" * 40, "dirty": True, "ahead": 2}
    body = {"host": "hawk", "worktrees": [tree]}
    assert client.post(f"{API}/worktrees", json=body, headers=ADA).json()["claims"] == 1
    wrong = {"host": "hawk", "worktrees": [{**tree, "head": "HEAD"}]}
    answer = client.post(f"{API}/worktrees", json=wrong, headers=ADA)
    assert (answer.status_code, answer.json()["field"]) == (422, "worktrees")


def test_the_board_adds_up_and_the_page_says_the_same(client: TestClient) -> None:
    made(client)
    board = client.get(API).json()
    pool = board["pool"]
    assert sum(pool[kind] for kind in ("active", "parked", "suspect", "free")) == pool["size"]
    assert board["advice"] == []
    page = client.get(f"/{LANE.repo}/claims").text
    assert "1 live claim" in page
    assert "No advice: too little was seen in the last 24 h" in page
    assert "src/auth/**" in page
