from dataclasses import replace

from mergebot.domain import groups, isolation
from mergebot.domain.candidate import Apart, Candidate, Ejected, Gating, Queued, Together, Verified
from mergebot.domain.decision import Decision
from mergebot.domain.gate import NoVerdict
from mergebot.domain.lane import Rules, Snapshot
from mergebot.domain.planning import Land, Prepare, PrepareGroup, Restart, plan
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.settling import settle
from mergebot.domain.speculation import pace
from mergebot.domain.status import explanation
from tests.support.builders import (
    FAIL,
    GREEN,
    NOW,
    POLICY,
    TIP,
    candidate,
    gating,
    merge,
    run,
    sha,
    snapshot,
    verdict,
    verified,
)
from tests.support.lanes import HELD, ToyLane

AUTO = Rules(TIP, replace(POLICY, queue=QueuePolicy(batch=0)))


def waiting(count: int, *, workers: int, batch: int = 0) -> Snapshot:
    rules = Rules(TIP, replace(POLICY, queue=QueuePolicy(batch=batch)))
    prs = [candidate(pr) for pr in range(1, count + 1)]
    return replace(snapshot(*prs, rules=rules), slots=workers)


def group(*prs: int, run: str = "run1") -> list[Candidate]:
    """Return candidates that share one run on the tip, each on the one before."""
    bases = [TIP, *(sha(f"m{pr}") for pr in prs[:-1])]
    company = Together(prs)
    return [
        candidate(pr, Gating(merge(base, f"m{pr}", (f"{pr}.py",)), run, NOW - 10, company))
        for pr, base in zip(prs, bases, strict=True)
    ]


def landing(*prs: int) -> list[Candidate]:
    found = []
    for each in group(*prs):
        assert isinstance(each.state, Gating)
        whole = replace(verdict(1, TIP), merged=sha(f"m{prs[-1]}"), group=prs)
        found.append(each.moved(Verified(each.state.merge, whole)))
    return found


def states(decision: Decision) -> dict[int, object]:
    return {each.pr: each.state for each in decision.candidates}


def test_without_a_backlog_each_candidate_is_gated_by_itself() -> None:
    assert plan(waiting(2, workers=2)) == (Prepare(1, TIP),)


def test_a_backlog_is_shared_out_among_the_workers() -> None:
    assert plan(waiting(6, workers=2)) == (PrepareGroup((1, 2, 3), TIP),)


def test_no_group_is_larger_than_the_rules_allow() -> None:
    assert plan(waiting(20, workers=2, batch=4)) == (PrepareGroup((1, 2, 3, 4), TIP),)
    assert plan(waiting(40, workers=2)) == (PrepareGroup(tuple(range(1, 9)), TIP),)


def test_rules_without_groups_never_form_one() -> None:
    assert plan(waiting(40, workers=1, batch=1)) == (Prepare(1, TIP),)


def test_a_lone_worker_gates_everything_that_waits_at_once() -> None:
    assert plan(waiting(20, workers=1)) == (PrepareGroup(tuple(range(1, 21)), TIP),)


def test_a_lone_worker_does_not_speculate() -> None:
    busy = replace(snapshot(gating(1, TIP), candidate(2), rules=AUTO), slots=1)
    assert plan(busy) == ()


def test_the_way_of_working_is_told() -> None:
    lane = waiting(6, workers=2)
    assert "groups of up to 3" in pace(lane, lane.candidates).text
    lone = waiting(6, workers=1)
    assert "halved" in pace(lone, lone.candidates).text


def test_candidates_that_share_a_file_are_never_in_one_group() -> None:
    one, other = merge(TIP, "m1", ("a.py", "b.py")), merge(sha("m1"), "m2", ("b.py",))
    assert not groups.fits([one], other)
    assert groups.fits([one], merge(sha("m1"), "m3", ("c.py",)))


def test_a_change_of_the_rules_shares_its_gate_with_nobody() -> None:
    rules = merge(TIP, "m1", (".mergebot.toml",))
    assert not groups.fits([merge(TIP, "m2", ("a.py",))], rules)
    assert not groups.fits([rules], merge(sha("m1"), "m2", ("a.py",)))


def test_a_green_group_is_verified_as_one_and_lands_by_one_proposal() -> None:
    decision = settle(Decision(snapshot(*group(1, 2, 3), runs=(run("run1", GREEN),))))
    found = states(decision)
    assert all(isinstance(state, Verified) for state in found.values())
    verdicts = {state.verdict for state in found.values() if isinstance(state, Verified)}
    (only,) = verdicts
    assert (only.base, only.merged, only.group) == (TIP, sha("m3"), (1, 2, 3))
    assert plan(decision.snapshot) == (Land(1),)


def test_a_red_group_leaves_the_chain_in_halves_and_nobody_pays() -> None:
    decision = settle(Decision(snapshot(*group(1, 2, 3), runs=(run("run1", FAIL),))))
    assert states(decision) == {
        1: Queued(Apart((1,), (2, 3))),
        2: Queued(Apart((2, 3), (1,))),
        3: Queued(Apart((2, 3), (1,))),
    }
    assert all(each.budget.failures == 0 for each in decision.candidates)


def test_suspects_do_not_hold_up_the_chain() -> None:
    suspect = candidate(1, Gating(merge(TIP, "m1"), "run1", NOW, Apart((1,), (2,))))
    assert plan(snapshot(suspect, verified(3, TIP), rules=AUTO)) == (Land(3),)


def test_the_ejection_of_a_suspect_clears_the_half_that_was_not_tested() -> None:
    bad = candidate(1, Gating(merge(TIP, "m1"), "run1", NOW - 9, Apart((1,), (2, 3))))
    others = [candidate(pr, Queued(Apart((2, 3), (1,)))) for pr in (2, 3)]
    found = states(settle(Decision(snapshot(bad, *others, runs=(run("run1", FAIL),)))))
    assert isinstance(found[1], Ejected)
    assert (found[2], found[3]) == (Queued(), Queued())


def test_a_green_half_convicts_the_other_which_is_halved_untested() -> None:
    good = candidate(1, Gating(merge(TIP, "m1"), "run1", NOW - 9, Apart((1,), (2, 3))))
    others = [candidate(pr, Queued(Apart((2, 3), (1,)))) for pr in (2, 3)]
    found = states(settle(Decision(snapshot(good, *others, runs=(run("run1", GREEN),)))))
    assert isinstance(found[1], Verified)
    assert found[2] == Queued(Apart((2,), (3,)))


def test_a_cleared_suspect_rejoins_behind_those_that_were_tested_meanwhile() -> None:
    suspect = candidate(1, Gating(merge(TIP, "m1"), "run1", NOW - 9, Apart((1,), ())))
    lane = snapshot(suspect, gating(5, TIP), runs=(run("run1", GREEN), run("run5")), rules=AUTO)
    decision = settle(Decision(lane))
    (cleared,) = decision.candidates
    assert cleared.state == Queued(Together((1,)))
    assert gating(5, TIP).place < cleared.place < candidate(6).place
    assert any("rejoin" in each.text for each in decision.entries)


def test_a_group_that_lost_a_member_is_started_anew_without_a_verdict() -> None:
    first, _, last = group(1, 2, 3)
    lane = snapshot(first, candidate(2, HELD), last, runs=(run("run1", GREEN),))
    decision = settle(Decision(lane))
    assert not decision.touched
    assert set(plan(decision.snapshot)) == {Restart(1), Restart(3)}


def test_a_verified_group_that_lost_a_member_does_not_land() -> None:
    first, _, last = landing(1, 2, 3)
    assert groups.lands_with(snapshot(first, last), first) == ()
    assert set(plan(snapshot(first, last))) == {Restart(1), Restart(3)}


def test_a_group_without_a_verdict_is_nobodys_failure() -> None:
    lane = snapshot(*group(1, 2), runs=(run("run1", NoVerdict("no disk")),))
    decision = settle(Decision(lane))
    assert [each.budget.failures for each in decision.candidates] == [0, 0]
    assert [each.budget.infra for each in decision.candidates] == [1, 1]


def test_the_time_of_a_shared_gate_that_was_not_green_is_shared() -> None:
    for result, cost in ((FAIL, 5.0), (GREEN, 0.0)):
        decision = settle(Decision(snapshot(*group(1, 2), runs=(run("run1", result),))))
        assert [each.budget.runtime_s for each in decision.candidates] == [cost, cost]


def test_twenty_candidates_and_one_worker_take_one_gate() -> None:
    lane = ToyLane(workers=1, batch=0)
    lane.admit(*range(1, 21))
    lane.drain()
    assert (lane.gates, lane.landed) == (1, list(range(1, 21)))


def test_one_red_among_twenty_costs_a_lone_worker_at_most_eight_gates() -> None:
    for bad in range(1, 21):
        lane = ToyLane(workers=1, batch=0, bad=frozenset({bad}))
        lane.admit(*range(1, 21))
        lane.drain()
        assert lane.gates <= 8
        assert sorted(lane.landed) == [pr for pr in range(1, 21) if pr != bad]


def test_two_that_only_fail_together_are_told_apart_and_one_lands() -> None:
    lane = ToyLane(workers=3, batch=0, clash=frozenset({frozenset({2, 5})}))
    lane.admit(*range(1, 9))
    lane.drain()
    assert sorted(lane.landed) == [1, 2, 3, 4, 6, 7, 8]


def test_a_suspect_is_never_mistaken_for_part_of_the_chain() -> None:
    assert isolation.is_apart(candidate(1, Queued(Apart((1,)))))
    assert not isolation.is_apart(candidate(1, Queued(Together((1,)))))


def test_the_author_of_a_suspect_is_told_why_it_is_gated_again() -> None:
    text = explanation(Queued(Apart((1,), (2,))))
    assert "red in a group" in text
    assert explanation(Queued(Together((1,)))) == ""
