from collections.abc import Iterator
from dataclasses import replace
from http import HTTPStatus

import pytest
from starlette.testclient import TestClient

from mergebot.domain.candidate import Ejected, Gating, Hedge, Queued
from mergebot.domain.ids import Sha
from mergebot.domain.lane import Halt, RunProgress
from mergebot.domain.reasons import Reason
from tests.support.sample import GATE_EVIDENCE, LANE, MERGE, candidate
from tests.support.scene import SHOP, fill_halted
from tests.support.website import NOW, Website, healthy, order

API = "/api/v1/repos/o/r"
SHOP_API = f"/api/v1/repos/{SHOP.repo}"


@pytest.fixture
def site() -> Website:
    return Website()


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with TestClient(site.app()) as client:
        yield client


def test_the_queue_has_the_fields_that_programs_rely_on(site: Website, client: TestClient) -> None:
    site.put(candidate(Queued(), pr=7), candidate(Queued(), pr=8))
    found = client.get(f"{API}/queue").json()
    assert (found["revision"], found["at"]) == (1, "2027-01-15T08:00:00Z")
    assert found["trunk"]["branch"] == "main"
    assert (found["trunk"]["sha"], found["trunk"]["health"]) == ("b" * 40, "green")
    assert (found["halted"], found["recovering"]) == (None, False)
    assert [(each["pr"], each["state"], each["position"]) for each in found["entries"]] == [
        (7, "queued", 1),
        (8, "queued", 2),
    ]


def test_a_running_gate_shows_its_step_and_for_how_long(site: Website, client: TestClient) -> None:
    running = candidate(Gating(MERGE, "r1", NOW - 40))
    site.put(running, orders=(order("r1", running, NOW - 40),))
    site.runs.take(LANE, "r1", "w1", NOW - 39)
    site.runs.beat(LANE, "r1", RunProgress("w1", NOW - 39, NOW, "test", NOW - 20, ("build",)))
    (entry,) = client.get(f"{API}/queue").json()["entries"]
    assert entry["step"] == "test"
    assert entry["running"]["elapsed_s"] == 20.0
    assert entry["running"]["steps"] == ["build", "test"]
    assert entry["running"]["steps_done"] == ["build"]


def test_a_hedge_says_what_it_is_without_and_why(site: Website, client: TestClient) -> None:
    hedge = Hedge(replace(MERGE, merged=Sha("c" * 40)), "h1", NOW - 30, 6, "a slot is idle")
    gating = candidate(Gating(MERGE, "r1", NOW - 40))
    orders = (order("r1", gating, NOW - 40), order("h1", gating, NOW - 30))
    site.put(replace(gating, hedges=(hedge,)), orders=orders)
    (entry,) = client.get(f"{API}/queue").json()["entries"]
    (found,) = entry["hedges"]
    assert (found["without"], found["why"], found["run"]) == (6, "a slot is idle", "h1")
    assert (found["merged"], found["ended"]) == ("c" * 40, None)
    page = client.get(f"/{LANE.repo}/pull/{gating.pr}").text
    assert "in case" in page
    assert "a slot is idle" in page


def test_a_halt_says_who_why_and_until_when(site: Website, client: TestClient) -> None:
    halt = Halt("the release is being cut", NOW - 60, "mia", "somebody resumes")
    site.put(state=replace(healthy(NOW), halt=halt))
    halted = client.get(f"{API}/health").json()["halted"]
    assert {key: halted[key] for key in ("reason", "since", "by", "ends_when")} == {
        "reason": "the release is being cut",
        "since": "2027-01-15T07:59:00Z",
        "by": "mia",
        "ends_when": "somebody resumes",
    }
    assert (halted["commit"], halted["step"]) == (None, None)


def test_a_red_trunk_names_the_step_the_first_bad_commit_and_the_repair(
    site: Website, client: TestClient
) -> None:
    fill_halted(site)
    found = client.get(f"{SHOP_API}/queue").json()
    assert found["trunk"]["health"] == "red"
    assert found["halted"]["step"] == "test"
    assert found["halted"]["commit"] == found["trunk"]["sha"]
    assert found["halted"]["repairs"] == [214]


def test_health_has_the_fields_that_programs_rely_on(site: Website, client: TestClient) -> None:
    site.runs.announce("w1", 4, NOW)
    site.put(candidate(Queued(), at=NOW - 90))
    found = client.get(f"{API}/health").json()
    assert (found["workers"], found["idle_s"], found["lagging"]) == (4, 90, [])


def test_a_candidate_shows_everything_about_a_failure(site: Website, client: TestClient) -> None:
    site.put(candidate(Ejected(Reason.GATE_FAILED, GATE_EVIDENCE, NOW), failures=1))
    found = client.get(f"{API}/candidates/7").json()
    assert (found["state"], found["step"], found["exit_code"]) == ("ejected", "test", 1)
    assert [step["state"] for step in found["steps"]] == ["passed", "failed"]
    assert (found["ended_at"], found["run"]) == ("2027-01-15T08:00:00Z", "r1")


def test_a_log_is_read_piece_by_piece_and_never_in_the_middle_of_a_character(
    site: Website, client: TestClient
) -> None:
    running = candidate(Gating(MERGE, "r1", NOW))
    site.put(running, orders=(order("r1", running, NOW),))
    log = f"{API}/candidates/7/log"
    site.logs.append(LANE, "r1", "\x1b[31mré".encode()[:-1])
    first = client.get(log, params={"run": "r1"}).json()
    site.logs.append(LANE, "r1", "é".encode()[1:] + b"d\n")
    rest = client.get(log, params={"run": "r1", "offset": first["offset"]}).json()
    assert (first["text"], rest["text"], rest["ended"]) == ("r", "éd\n", False)


def test_search_and_pages_narrow_the_queue(site: Website, client: TestClient) -> None:
    titles = ["Fix the login", "Paint it blue", "Fix the logout"]
    site.put(*(candidate(Queued(), pr=at, title=title) for at, title in enumerate(titles, 1)))
    found = client.get(f"{API}/queue", params={"q": "FIX log", "per_page": 1, "page": 2}).json()
    assert (found["found"], found["page"], found["pages"]) == (2, 2, 2)
    assert [(each["pr"], each["position"]) for each in found["entries"]] == [(3, 3)]


def test_landings_are_receipts_newest_first(site: Website, client: TestClient) -> None:
    fill_halted(site)
    found = client.get(f"{SHOP_API}/landings", params={"per_page": 2}).json()
    assert [each["pr"] for each in found["landings"]] == [196, 193]
    assert found["more"] is True
    kept = site.store.landings(SHOP, limit=1)[0].fields
    assert kept.items() <= found["landings"][0].items()
    assert {"v", "head", "base", "merged", "tree", "gate", "digest"} <= set(found["landings"][0])


def test_claims_and_stats_have_their_twins(site: Website, client: TestClient) -> None:
    fill_halted(site)
    claims = client.get(f"{SHOP_API}/claims").json()["claims"]
    stats = client.get(f"{SHOP_API}/stats").json()
    assert claims[0]["claims"] == ["src/session/**"]
    assert stats["outcomes"] == {"landed": 5, "ejected": 3, "cancelled": 0}
    assert sum(each["landings"] for each in stats["landings_per_hour"]) == 5
    assert stats["slots"] == {
        "announced": 4,
        "counted": 4,
        "text": "4 gate slots, and no sign that cores are shared.",
        "hosts": [],
    }
    assert stats["other_workers"]["rows"] == []
    assert "6 changes went through a gate, and 20 are needed" in stats["other_workers"]["text"]
    reasons = {each["reason"] for each in stats["ejections"]}
    assert reasons == {"gate_failed", "out_of_scope", "conflict"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/repos/no/such/queue", HTTPStatus.NOT_FOUND),
        ("GET", f"{API}/candidates/99", HTTPStatus.NOT_FOUND),
        ("GET", f"{API}/nothing", HTTPStatus.NOT_FOUND),
        ("DELETE", f"{API}/queue", HTTPStatus.METHOD_NOT_ALLOWED),
        ("GET", f"{API}/queue?page=x", HTTPStatus.BAD_REQUEST),
        ("GET", f"{API}/queue?per_page=99999", HTTPStatus.BAD_REQUEST),
        ("GET", f"{API}/candidates/7/log?run=../../x", HTTPStatus.NOT_FOUND),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_sentence_of_json(
    site: Website, client: TestClient, method: str, path: str, status: int
) -> None:
    site.put(candidate(Queued()))
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "field"}
    assert answer.headers["Content-Type"] == "application/json"


def test_ten_thousand_entries_are_counted_and_found_on_any_page(
    site: Website, client: TestClient
) -> None:
    site.put(*(candidate(Queued(), pr=number) for number in range(1, 10_001)))
    found = client.get(f"{API}/queue", params={"per_page": 50, "page": 200}).json()
    assert (found["counts"]["open"], len(found["entries"])) == (10_000, 50)
    assert found["entries"][-1]["position"] == 10_000
