from dataclasses import replace

import pytest

from mergebot.domain.candidate import Cancelled, Candidate, Ejected, Gating, PlainEvidence, Queued
from mergebot.domain.gate import GateSpec, Step
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import NEW_LANE, Checking, LaneState, Red, Run, RunOrder
from mergebot.domain.reasons import Reason
from mergebot.domain.receipts import Receipt
from mergebot.domain.story import Entry
from mergebot.ports.store import Commit, Stale
from tests.contract.store.conftest import Kit
from tests.support.sample import BASE, HEAD, LANE, MERGE, MERGED, candidate

SPEC = GateSpec((Step("test", "pytest -q", 60.0),), timeout_s=60.0)
EJECTED = Ejected(Reason.CLOSED, PlainEvidence("closed"), 5.0)
CANCELLED = Cancelled(Reason.HEAD_CHANGED, "pushed", 6.0)


def order(run: str, pr: int = 7) -> RunOrder:
    return RunOrder(run, pr, HEAD, BASE, MERGED, SPEC, ordered_at=10.0, generation=3)


def gating(run: str, pr: int = 7) -> Candidate:
    return candidate(Gating(MERGE, run, 10.0), pr=pr)


def test_a_lane_that_was_never_committed_is_fresh(kit: Kit) -> None:
    snapshot = kit.store.read(LANE)
    assert (snapshot.revision, snapshot.state) == (0, NEW_LANE)
    assert (snapshot.candidates, dict(snapshot.runs), snapshot.slots) == ((), {}, 0)


def test_a_commit_returns_what_a_read_finds(kit: Kit) -> None:
    written = kit.commit(
        Commit(
            LaneState(next_seq=9, known_tip=BASE, waiting="for a gate"),
            candidates=(candidate(Queued(), pr=8), gating("r1")),
            orders=(order("r1"), order("unused")),
        )
    )
    assert replace(kit.store.read(LANE), now=written.now) == written
    assert [each.pr for each in written.candidates] == [7, 8]
    assert dict(written.runs) == {"r1": Run(order("r1"))}
    assert written.revision == 1


def test_a_commit_at_an_old_revision_changes_nothing(kit: Kit) -> None:
    old = kit.store.read(LANE)
    kit.store.commit(old, Commit(LaneState(waiting="first")))
    with pytest.raises(Stale):
        kit.store.commit(
            old,
            Commit(
                LaneState(waiting="second"),
                candidates=(candidate(EJECTED),),
                orders=(order("r1"),),
                entries=(Entry(1.0, 7, "note", "late"),),
                landed=(Receipt("{}"),),
            ),
        )
    assert kit.store.read(LANE).state.waiting == "first"
    assert (kit.store.latest(LANE, 7), kit.runs.get(LANE, "r1")) == (None, None)
    assert (kit.store.story(LANE, 7, limit=9), kit.store.landings(LANE, limit=9)) == ([], [])


def test_an_ended_candidate_leaves_the_queue_and_is_remembered(kit: Kit) -> None:
    kit.commit(Commit(LaneState(), (candidate(Queued()), candidate(Queued(), pr=8))))
    after = kit.commit(Commit(LaneState(), (candidate(EJECTED),)))
    assert [each.pr for each in after.candidates] == [8]
    assert kit.store.read(LANE).candidates == after.candidates
    assert kit.store.ended(LANE, limit=10) == [candidate(EJECTED)]
    assert kit.store.latest(LANE, 7) == candidate(EJECTED)
    assert kit.store.latest(LANE, 8) == candidate(Queued(), pr=8)
    assert kit.store.latest(LANE, 9) is None


def test_the_next_attempt_may_open_in_the_commit_that_ends_the_last(kit: Kit) -> None:
    kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    again = candidate(Queued(), attempt=2)
    after = kit.commit(Commit(LaneState(), (again, candidate(EJECTED))))
    assert after.candidates == kit.store.read(LANE).candidates == (again,)
    assert kit.store.latest(LANE, 7) == again
    assert kit.store.ended(LANE, limit=10) == [candidate(EJECTED)]


def test_amending_an_ended_attempt_leaves_the_open_one_alone(kit: Kit) -> None:
    again = candidate(Queued(), attempt=2)
    kit.commit(Commit(LaneState(), (candidate(EJECTED), again)))
    after = kit.commit(Commit(LaneState(), (candidate(CANCELLED),)))
    assert after.candidates == kit.store.read(LANE).candidates == (again,)
    assert kit.store.ended(LANE, limit=10) == [candidate(CANCELLED)]


def test_ended_candidates_come_newest_first(kit: Kit) -> None:
    for pr in (3, 1, 2):
        kit.commit(Commit(LaneState(), (candidate(EJECTED, pr=pr),)))
    assert [each.pr for each in kit.store.ended(LANE, limit=2)] == [2, 1]
    assert kit.store.ended(LANE, limit=0) == []


def test_the_newest_candidate_of_a_pr_outlives_the_list_of_ended_ones(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mergebot.adapters.memory.store.ENDED_MAX", 2)
    monkeypatch.setattr("mergebot.adapters.redis.writes.ENDED_MAX", 2)
    for pr in (1, 2, 3, 4):
        kit.commit(Commit(LaneState(), (candidate(EJECTED, pr=pr),)))
    assert [each.pr for each in kit.store.ended(LANE, limit=10)] == [4, 3]
    assert kit.store.latest(LANE, 1) == candidate(EJECTED, pr=1)


def test_a_read_brings_the_runs_of_health_and_of_open_candidates_only(kit: Kit) -> None:
    orders = tuple(order(run) for run in ("health", "probe", "r7", "old"))
    red = Red(BASE, 1.0, "health", "test", "pytest", probe="probe")
    kit.commit(Commit(LaneState(health=red), (gating("r7"), gating("gone", 8)), orders=orders))
    assert set(kit.store.read(LANE).runs) == {"health", "probe", "r7"}
    after = kit.commit(Commit(LaneState(health=Checking(BASE, "health")), (candidate(EJECTED),)))
    assert set(after.runs) == set(kit.store.read(LANE).runs) == {"health"}


def test_stories_are_kept_per_pr_oldest_first(kit: Kit) -> None:
    entries = [Entry(float(n), pr, "note", f"{n}") for n, pr in enumerate((7, 0, 7, 7))]
    kit.commit(Commit(LaneState(), entries=tuple(entries)))
    assert kit.store.story(LANE, 7, limit=2) == [entries[2], entries[3]]
    assert kit.store.story(LANE, 0, limit=9) == [entries[1]]
    assert kit.store.story(LANE, 7, limit=0) == []


def test_a_story_keeps_its_newest_entries(kit: Kit) -> None:
    entries = tuple(Entry(float(n), 7, "note", "x") for n in range(510))
    kit.commit(Commit(LaneState(), entries=entries))
    found = kit.store.story(LANE, 7, limit=1000)
    assert (len(found), found[0].at, found[-1].at) == (500, 10.0, 509.0)


def test_landings_come_newest_first(kit: Kit) -> None:
    receipts = [Receipt(f'{{"pr":{n}}}') for n in range(3)]
    kit.commit(Commit(LaneState(), landed=(receipts[0], receipts[1])))
    kit.commit(Commit(LaneState(), landed=(receipts[2],)))
    assert kit.store.landings(LANE, limit=2) == [receipts[2], receipts[1]]
    assert kit.store.landings(LANE, limit=0) == []


def test_lanes_share_nothing(kit: Kit) -> None:
    other = Lane(1, "o/r", "release")
    kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    assert kit.store.read(other).candidates == ()
    assert kit.store.latest(other, 7) is None


def test_lanes_are_found_by_name_until_they_are_closed(kit: Kit) -> None:
    kit.store.open_lane(LANE)
    kit.store.open_lane(Lane(2, "a/b", "main"))
    assert kit.store.lane("O/R") == LANE
    kit.store.open_lane(replace(LANE, repo="o/renamed"))
    assert kit.store.lane("o/r") is None
    assert [lane.repo for lane in kit.store.lanes()] == ["a/b", "o/renamed"]
    kit.store.close_lane(LANE)
    assert [lane.repo for lane in kit.store.lanes()] == ["a/b"]


def test_what_users_typed_comes_back_as_it_was(kit: Kit) -> None:
    odd = candidate(
        Queued(), title="line\nbreak \x85 \u2028 '; -- {}", branch="caf\udce9/\U0001f600"
    )
    kit.commit(Commit(LaneState(), (odd, candidate(Queued(), pr=8))))
    assert kit.store.read(LANE).candidates[0] == odd


def test_a_rewritten_head_is_another_candidate(kit: Kit) -> None:
    pushed = replace(candidate(Queued()), head=Sha("9" * 40))
    kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    after = kit.commit(Commit(LaneState(), (candidate(CANCELLED), pushed)))
    assert after.candidates == kit.store.read(LANE).candidates == (pushed,)
