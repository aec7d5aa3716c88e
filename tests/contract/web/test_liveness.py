from dataclasses import replace
from http import HTTPStatus

from starlette.testclient import TestClient

from mergebot.domain.candidate import Queued
from mergebot.domain.limits import WORKER_SILENT_S
from tests.support.sample import LANE, candidate
from tests.support.website import NOW, Website


def troubles(site: Website, client: TestClient) -> list[str]:
    answer = client.get("/healthz")
    found: list[str] = answer.json()["troubles"]
    well = answer.status_code == HTTPStatus.OK
    assert well == (found == [])
    return found


def test_silent_gate_workers_are_trouble_once_a_change_waits_for_them() -> None:
    site = Website()
    with TestClient(site.app()) as client:
        site.clock.at = NOW + WORKER_SILENT_S + 1
        site.reconciled_at = site.clock.at
        site.put(candidate(Queued(), at=site.clock.at))
        assert troubles(site, client) == ["changes wait and no worker that runs gates is there"]
        site.runs.announce("hawk", 2, site.clock.at)
        assert troubles(site, client) == []


def test_rings_that_no_worker_answers_are_trouble() -> None:
    site = Website()
    app = site.app()
    answered = NOW
    app.state.parts = replace(app.state.parts, answered_at=lambda: answered)
    with TestClient(app) as client:
        assert troubles(site, client) == []
        site.reconciled_at = site.clock.at = NOW + 150
        assert troubles(site, client) == [
            "no worker answered the reconciler's rings for 2 min 30 s"
        ]


def test_what_was_set_aside_is_counted_for_prometheus() -> None:
    site = Website()
    site.inbox.put("g1", "push", b"{}")
    site.inbox.set_aside(site.inbox.take(limit=1)[0])
    with TestClient(site.app()) as client:
        assert "mergebot_inbox_set_aside 1.0" in client.get("/metrics").text


def test_the_queue_tells_that_it_is_being_rebuilt_and_then_what_came_back() -> None:
    site = Website()
    site.store.open_lane(LANE)
    with TestClient(site.app()) as client:
        path = f"/api/v1/repos/{LANE.repo}/queue"
        assert client.get(path).json()["recovering"] is True
        assert "being rebuilt" in client.get(f"/{LANE.repo}").text
        site.put(candidate(Queued(), at=NOW))
        assert client.get(path).json()["recovering"] is False
