from dataclasses import replace

import pytest

from mergebot.domain.candidate import Candidate, Claim, Kind
from mergebot.domain.checking import Objection, Refusal, objection, refuse
from mergebot.domain.decision import Decision
from mergebot.domain.lane import Halt, Red, Snapshot
from mergebot.domain.planning import (
    CheckTrunk,
    Land,
    Prepare,
    PrepareGroup,
    Probe,
    Proposal,
    Restart,
)
from mergebot.domain.views import planner_view
from tests.support.builders import NOW, TIP, candidate, gating, sha, snapshot, verified

RED = Red(TIP, NOW - 5, "r", "test", "make test", suspects=(TIP,))
HALT = Halt("deploy", NOW, "alice", "somebody resumes")


def claiming(found: Candidate, pattern: str, generation: int = 3) -> Candidate:
    claim = Claim(f"c{found.pr}", f"T-{found.pr}", (pattern,), generation=generation)
    return replace(found, claim=claim)


def reason(lane: Snapshot, proposal: Proposal) -> Refusal | None:
    found = objection(lane, proposal)
    return found.reason if found else None


FINE = [
    (snapshot(candidate(1)), Prepare(1, TIP)),
    (snapshot(gating(1, TIP), candidate(2)), Prepare(2, sha("m1"))),
    (snapshot(candidate(1), candidate(2)), PrepareGroup((1, 2), TIP)),
    (snapshot(gating(1, TIP)), Restart(1)),
    (snapshot(verified(1, TIP)), Land(1)),
    (snapshot(candidate(1, kind=Kind.REPAIR), health=RED), Prepare(1, TIP)),
    (snapshot(health=RED), Probe(TIP)),
    (snapshot(), CheckTrunk(TIP)),
]


@pytest.mark.parametrize(("lane", "proposal"), FINE)
def test_what_a_healthy_plan_proposes_is_let_through(lane: Snapshot, proposal: Proposal) -> None:
    assert objection(lane, proposal) is None


REFUSED = [
    (snapshot(candidate(1)), Prepare(1, sha("nobody")), Refusal.WRONG_BASE),
    (snapshot(verified(1, sha("old"))), Land(1), Refusal.WRONG_BASE),
    (snapshot(gating(1, TIP)), Prepare(1, TIP), Refusal.SUPERSEDED),
    (snapshot(), Prepare(1, TIP), Refusal.SUPERSEDED),
    (snapshot(), Restart(1), Refusal.SUPERSEDED),
    (snapshot(gating(1, TIP)), Land(1), Refusal.SUPERSEDED),
    (snapshot(), Probe(TIP), Refusal.SUPERSEDED),
    (snapshot(), CheckTrunk(sha("old")), Refusal.SUPERSEDED),
    (snapshot(candidate(1), halt=HALT), Prepare(1, TIP), Refusal.HALTED),
    (snapshot(verified(1, TIP), health=RED), Land(1), Refusal.HALTED),
    (snapshot(verified(1, TIP), recovering=True), Land(1), Refusal.HALTED),
]


@pytest.mark.parametrize(("lane", "proposal", "why"), REFUSED)
def test_what_the_record_does_not_bear_out_is_refused_by_name(
    lane: Snapshot, proposal: Proposal, why: Refusal
) -> None:
    assert reason(lane, proposal) is why


def test_more_runs_than_twice_the_window_are_over_budget() -> None:
    crowd = [gating(pr, TIP) for pr in range(1, 9)]
    lane = snapshot(*crowd, candidate(9))
    assert reason(lane, Prepare(9, TIP)) is Refusal.OVER_BUDGET


def test_recorded_claims_that_overlap_are_not_in_flight_together() -> None:
    ahead = claiming(gating(1, TIP), "src/**")
    lane = snapshot(ahead, claiming(candidate(2), "src/a.py"))
    assert reason(lane, Prepare(2, sha("m1"))) is Refusal.CLAIM_CONFLICT
    apart = snapshot(ahead, claiming(candidate(2), "docs/**"))
    assert objection(apart, Prepare(2, sha("m1"))) is None


def test_a_claim_that_no_register_holds_stops_nobody() -> None:
    ahead = claiming(gating(1, TIP), "src/**", generation=0)
    lane = snapshot(ahead, claiming(candidate(2), "src/a.py", generation=0))
    assert objection(lane, Prepare(2, sha("m1"))) is None


def test_the_same_refusal_counts_once_and_is_told() -> None:
    against = Objection(Refusal.WRONG_BASE, "#1 is not to be gated on abc")
    once = refuse(Decision(snapshot()), against)
    again = refuse(once, against)
    assert again.snapshot.state.refusals.counts == {"wrong_base": 1}
    assert [each.text for each in again.entries] == [f"refused, wrong_base: {against.text}"]


def test_mode_and_refusals_are_in_the_lanes_document() -> None:
    against = Objection(Refusal.WRONG_BASE, "#1 is not to be gated on abc")
    lane = refuse(Decision(snapshot(mode="a chain")), against).snapshot
    view = planner_view(lane)
    assert (view["mode"], view["refused"]) == ("a chain", {"wrong_base": 1})
