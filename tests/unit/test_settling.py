from dataclasses import replace

from mergebot.domain.candidate import (
    Blocked,
    Candidate,
    Ejected,
    Failing,
    GateEvidence,
    Gating,
    Kind,
    Parked,
    PlainEvidence,
    Queued,
    State,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.effects import KeepCandidate, RemoveLabel
from mergebot.domain.gate import NoVerdict
from mergebot.domain.lane import Checking, Green, Red, Snapshot, UnknownHealth
from mergebot.domain.reasons import AGAIN, Fault, Reason
from mergebot.domain.settling import settle
from tests.support.builders import (
    FAIL,
    GREEN,
    NOW,
    TIP,
    candidate,
    gating,
    merge,
    run,
    sha,
    snapshot,
    verified,
)

RED = Red(TIP, NOW - 5, "r", "test", "make test", suspects=(TIP,))


def settled(lane: Snapshot) -> Decision:
    return settle(Decision(lane))


def only(decision: Decision) -> Candidate:
    (changed,) = decision.candidates
    return changed


def state_after(lane: Snapshot) -> State:
    return only(settled(lane)).state


def test_a_green_run_gives_a_verdict_for_its_exact_commits() -> None:
    state = state_after(snapshot(gating(1, TIP), runs=(run("run1", GREEN),)))
    assert isinstance(state, Verified)
    assert (state.verdict.base, state.verdict.merged) == (TIP, sha("m1"))


def test_a_red_run_on_a_green_base_ejects_and_keeps_the_evidence() -> None:
    decision = settled(snapshot(gating(1, TIP), runs=(run("run1", FAIL),)))
    state = only(decision).state
    assert isinstance(state, Ejected)
    assert isinstance(state.evidence, GateEvidence)
    assert state.evidence.fault is Fault.CANDIDATE
    assert KeepCandidate(1, sha("m1")) in decision.effects
    assert RemoveLabel(1, "merge-queue") in decision.effects
    assert only(decision).budget.failures == 1


def test_a_red_run_on_an_untested_base_is_no_verdict_yet() -> None:
    lane = snapshot(gating(2, sha("m1")), runs=(run("run2", FAIL),))
    assert isinstance(state_after(lane), Failing)


def test_a_failing_candidate_is_ejected_once_its_base_is_the_green_trunk() -> None:
    base = sha("m1")
    failing = candidate(2, Failing(merge(base, "m2"), "run2", FAIL))
    lane = snapshot(failing, known_tip=base, health=Green(base, NOW), greens=(TIP, base))
    assert isinstance(state_after(lane), Ejected)


def test_a_silent_worker_leaves_no_verdict_and_costs_no_failure() -> None:
    after = only(settled(snapshot(gating(1, TIP), runs=(run("run1", beat=NOW - 60),))))
    assert isinstance(after.state, Parked)
    assert after.state.reason is Reason.INFRA
    assert (after.budget.failures, after.budget.infra) == (0, 1)


def test_a_run_that_still_beats_is_waited_for() -> None:
    assert not settled(snapshot(gating(1, TIP), runs=(run("run1"),))).touched


def test_infrastructure_that_stays_broken_asks_a_person() -> None:
    tired = gating(1, TIP)
    tired = replace(tired, budget=replace(tired.budget, infra=2))
    lane = snapshot(tired, runs=(run("run1", NoVerdict("the disk is full")),))
    state = state_after(lane)
    assert isinstance(state, Ejected)
    assert state.reason is Reason.BUDGET_SPENT
    assert "3 times" in str(state.evidence)
    assert "maintain permission may `retry` it" in str(state.evidence)


def test_a_red_trunk_parks_everyone_at_their_place_and_stops_their_runs() -> None:
    decision = settled(snapshot(gating(1, TIP), runs=(run("run1"),), health=RED))
    assert isinstance(only(decision).state, Parked)
    assert only(decision).seq == 1
    assert decision.stops == ("run1",)


def test_a_failure_on_a_red_trunk_costs_its_author_nothing() -> None:
    after = only(settled(snapshot(gating(1, TIP), runs=(run("run1", FAIL),), health=RED)))
    assert after.budget.failures == 0


def test_a_repair_goes_on_under_a_red_trunk() -> None:
    lane = snapshot(verified(1, TIP, Kind.REPAIR), health=RED)
    assert not settled(lane).touched


def test_those_parked_by_a_red_trunk_return_when_it_is_green() -> None:
    lane = snapshot(candidate(1, Parked(Reason.TRUNK_RED, "red")))
    assert state_after(lane) == Queued()


def test_a_red_check_of_the_tip_turns_the_lane_red() -> None:
    decision = settled(snapshot(health=Checking(TIP, "t"), runs=(run("t", FAIL),)))
    assert isinstance(decision.snapshot.state.health, Red)


def test_a_green_check_of_the_tip_turns_the_lane_green() -> None:
    decision = settled(snapshot(health=Checking(TIP, "t"), greens=(), runs=(run("t", GREEN),)))
    assert decision.snapshot.state.health == Green(TIP, NOW)
    assert decision.snapshot.state.greens == (TIP,)


def test_a_check_without_a_verdict_is_made_again_later() -> None:
    lane = snapshot(health=Checking(TIP, "t"), runs=(run("t", NoVerdict("no disk")),))
    health = settled(lane).snapshot.state.health
    assert isinstance(health, UnknownHealth)
    assert health.retry_at > NOW


def test_bisection_narrows_to_the_first_bad_commit() -> None:
    a, b, c = sha("a"), sha("b"), sha("c")
    red = replace(RED, suspects=(a, b, c), probe="p", probed=b)
    bad = settled(snapshot(health=red, runs=(run("p", FAIL),))).snapshot.state.health
    good = settled(snapshot(health=red, runs=(run("p", GREEN),))).snapshot.state.health
    assert isinstance(bad, Red)
    assert isinstance(good, Red)
    assert (bad.suspects, good.suspects) == ((a, b), (c,))


def test_a_conflict_with_the_one_ahead_ejects_only_once_that_landed() -> None:
    base = sha("m1")
    blocked = candidate(2, Blocked(base, Reason.CONFLICT, PlainEvidence("clash")))
    assert not settled(snapshot(blocked)).touched
    landed = snapshot(blocked, known_tip=base, health=Green(base, NOW))
    assert isinstance(state_after(landed), Ejected)


def test_a_waiting_time_that_passed_queues_again() -> None:
    lane = snapshot(candidate(1, Parked(Reason.INFRA, "later", until=NOW - 1)))
    assert state_after(lane) == Queued()


def test_a_run_that_is_gone_is_ordered_again() -> None:
    state = state_after(snapshot(candidate(1, Gating(merge(TIP, "m1"), "gone", NOW - 9))))
    assert isinstance(state, Parked)


def test_a_repair_that_does_not_repair_is_ejected_while_the_trunk_is_still_red() -> None:
    repair = candidate(1, Failing(merge(TIP, "m1"), "run1", FAIL), Kind.REPAIR)
    state = state_after(snapshot(repair, health=RED, greens=()))
    assert isinstance(state, Ejected)
    assert isinstance(state.evidence, GateEvidence)
    assert state.evidence.fault is Fault.TRUNK


def test_a_pull_request_whose_gates_took_all_their_time_is_not_gated_again() -> None:
    tired = candidate(1)
    tired = replace(tired, budget=replace(tired.budget, runtime_s=10_801.0))
    state = state_after(snapshot(tired))
    assert isinstance(state, Ejected)
    assert state.reason is Reason.BUDGET_SPENT
    text = f"its gates ran in vain for more than the 3 h that the rules allow; {AGAIN}"
    assert state.evidence == PlainEvidence(text)
