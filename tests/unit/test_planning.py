from dataclasses import replace

from mergebot.domain.candidate import Blocked, Failing, Gating, Kind, Landing, Parked, PlainEvidence
from mergebot.domain.lane import Checking, Halt, Red, Rules, UnknownHealth
from mergebot.domain.planning import CheckTrunk, Land, Prepare, Probe, Restart, plan
from mergebot.domain.policy import Culprit, HealthPolicy
from mergebot.domain.reasons import Reason
from tests.support.builders import (
    FAIL,
    NOW,
    POLICY,
    TIP,
    candidate,
    gating,
    merge,
    sha,
    snapshot,
    verdict,
    verified,
)

RED = Red(TIP, NOW - 5, "r", "test", "make test")
PARKED = Parked(Reason.HELD, "held")


def test_an_empty_queue_on_a_green_trunk_needs_nothing() -> None:
    assert plan(snapshot()) == ()


def test_a_tip_nobody_tested_is_gated_before_anything_lands() -> None:
    lane = snapshot(verified(1, TIP), health=UnknownHealth(TIP))
    assert plan(lane) == (CheckTrunk(TIP),)


def test_the_first_candidate_is_prepared_on_the_tip() -> None:
    assert plan(snapshot(candidate(1), candidate(2))) == (Prepare(1, TIP),)


def test_the_second_is_prepared_on_the_merged_commit_of_the_first() -> None:
    assert plan(snapshot(gating(1, TIP), candidate(2))) == (Prepare(2, sha("m1")),)


def test_the_window_bounds_how_many_are_gated() -> None:
    chain = [gating(1, TIP), *(gating(n, sha(f"m{n - 1}")) for n in (2, 3, 4)), candidate(5)]
    assert plan(snapshot(*chain)) == ()


def test_a_verified_front_lands() -> None:
    assert plan(snapshot(verified(1, TIP), gating(2, sha("m1")))) == (Land(1),)


def test_a_verified_candidate_behind_a_running_one_waits_its_turn() -> None:
    assert plan(snapshot(gating(1, TIP), verified(2, sha("m1")))) == ()


def test_a_failing_candidate_is_left_out_of_the_base_of_those_behind() -> None:
    ahead, base = gating(1, TIP), sha("m1")
    failing = candidate(2, Failing(merge(base, "m2"), "run2", FAIL))
    assert plan(snapshot(ahead, failing, candidate(3))) == (Prepare(3, base),)


def test_a_run_on_a_base_that_is_gone_starts_anew() -> None:
    assert plan(snapshot(gating(2, sha("m1")))) == (Restart(2),)


def test_a_verdict_on_another_base_is_worth_nothing() -> None:
    assert plan(snapshot(verified(2, sha("older")))) == (Restart(2),)


def test_one_that_conflicts_with_the_one_ahead_waits_without_blocking() -> None:
    blocked = Blocked(sha("m1"), Reason.CONFLICT, PlainEvidence(""))
    lane = snapshot(gating(1, TIP), candidate(2, blocked), candidate(3))
    assert plan(lane) == (Prepare(3, sha("m1")),)


def test_a_parked_candidate_blocks_nobody() -> None:
    assert plan(snapshot(candidate(1, PARKED), verified(2, TIP))) == (Land(2),)


def test_nothing_is_gated_behind_a_change_of_the_rules() -> None:
    state = Gating(merge(TIP, "m1", (".mergebot.toml",)), "run1", NOW)
    assert plan(snapshot(candidate(1, state), candidate(2))) == ()


def test_a_red_trunk_lets_only_repairs_move() -> None:
    lane = snapshot(candidate(1), verified(2, TIP, Kind.REPAIR), health=RED)
    assert plan(lane) == (Land(2),)


def test_an_unknown_trunk_lets_not_even_repairs_land() -> None:
    lane = snapshot(verified(2, TIP, Kind.REPAIR), health=Checking(TIP, "r"))
    assert plan(lane) == ()


def test_a_halt_stops_even_repairs() -> None:
    halt = Halt("deploy", NOW, "alice", "somebody resumes")
    assert plan(snapshot(verified(1, TIP, Kind.REPAIR), halt=halt, health=RED)) == ()


def test_nothing_is_planned_while_a_landing_is_unclear() -> None:
    state = Landing(merge(TIP, "m1"), verdict(1, TIP), "{}", NOW)
    assert plan(snapshot(candidate(1, state), verified(2, TIP))) == ()


def test_nothing_lands_while_the_queue_is_rebuilt() -> None:
    assert plan(snapshot(verified(1, TIP), recovering=True)) == ()


def test_the_middle_suspect_is_probed() -> None:
    suspects = (sha("a"), sha("b"), sha("c"))
    assert plan(snapshot(health=replace(RED, suspects=suspects))) == (Probe(sha("b")),)


def test_no_culprit_is_sought_where_the_rules_say_so() -> None:
    policy = replace(POLICY, health=HealthPolicy(culprit=Culprit.OFF))
    red = replace(RED, suspects=(sha("a"), sha("b")))
    assert plan(snapshot(health=red, rules=Rules(TIP, policy))) == ()
