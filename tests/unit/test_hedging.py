from collections.abc import Sequence
from dataclasses import replace

import pytest

from mergebot.adapters.memory.forge import MemoryForge
from mergebot.domain.candidate import (
    Budget,
    Candidate,
    Failing,
    Gating,
    Hedge,
    Landed,
    Queued,
    Together,
    Verified,
)
from mergebot.domain.checking import Refusal, objection
from mergebot.domain.decision import Decision
from mergebot.domain.external import CheckSeen, Outcome, red_check
from mergebot.domain.gate import ExternalChecks, GateResult, NoVerdict
from mergebot.domain.hedging import PrepareHedge, adopt, drop, hedges, start, usable
from mergebot.domain.lane import Halt, Heard, Rules, Run, RunOrder, RunProgress, Snapshot
from mergebot.domain.planning import Prepare, Restart, plan
from mergebot.domain.policy import Hedging, Policy, QueuePolicy
from mergebot.domain.settling import settle
from mergebot.ports.errors import Unavailable
from mergebot.services.simulation import traces
from mergebot.services.simulation.measuring import measure
from mergebot.services.simulation.production import production
from mergebot.services.simulation.world import Conditions, World, draw
from tests.support.builders import (
    FAIL,
    GATE,
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
    verified,
)
from tests.support.village import ALICE, LANE, Village

WITHOUT_1 = merge(TIP, "m2-without-1", ("b.py",))
HEDGE = Hedge(WITHOUT_1, "hedge2", NOW - 5, 1, "a slot is idle")
RULES = '[queue]\nhedge = "idle"\n[[gate.steps]]\nname = "test"\nrun = "test"\n'


def lane(
    *candidates: Candidate,
    hedge: Hedging = Hedging.IDLE,
    slots: int = 4,
    runs: Sequence[Run] = (),
    **state: object,
) -> Snapshot:
    rules = Rules(TIP, replace(POLICY, queue=QueuePolicy(hedge=hedge)))
    named = {"rules": rules, **state}
    return replace(snapshot(*candidates, runs=tuple(runs), **named), slots=slots)


def apart(found: Candidate, path: str) -> Candidate:
    """Return the candidate with another file than everybody else's."""
    assert isinstance(found.state, Gating | Verified)
    return found.moved(replace(found.state, merge=replace(found.state.merge, paths=(path,))))


def chain() -> tuple[Candidate, Candidate]:
    return apart(gating(1, TIP), "a.py"), apart(gating(2, sha("m1")), "b.py")


def hedged(found: Candidate, hedge: Hedge = HEDGE) -> Candidate:
    return replace(found, hedges=(hedge,))


def hedge_run(result: GateResult | None = None) -> Run:
    order = RunOrder("hedge2", 2, sha("head2"), TIP, WITHOUT_1.merged, GATE, NOW - 5, 1)
    return Run(order, RunProgress("w2", NOW - 4, NOW), result)


def proposed(found: Snapshot) -> list[tuple[int, object, int]]:
    return [(each.pr, each.base, each.without) for each in hedges(found).proposed]


def test_an_idle_slot_gates_whoever_is_behind_on_the_chain_without_the_one_ahead() -> None:
    assert proposed(lane(*chain())) == [(2, TIP, 1)]


def test_nothing_is_hedged_where_the_rules_do_not_say_so() -> None:
    assert proposed(lane(*chain(), hedge=Hedging.OFF)) == []


def test_no_hedge_takes_a_slot_that_a_gate_has_a_use_for() -> None:
    assert proposed(lane(*chain(), slots=2)) == []


def test_risky_hedges_nobody_who_is_like_all_others() -> None:
    assert proposed(lane(*chain(), hedge=Hedging.RISKY)) == []


def test_who_was_red_before_is_risky_and_the_reason_is_told_in_words() -> None:
    first, second = chain()
    first = replace(first, budget=Budget(failures=2))
    (found,) = hedges(lane(first, second, hedge=Hedging.RISKY)).proposed
    assert found == PrepareHedge(2, TIP, 1, "#1 was red 2 times before")


def test_who_had_a_red_check_when_queued_is_risky() -> None:
    first, second = chain()
    first = replace(first, red_check="ci / unit")
    (found,) = hedges(lane(first, second, hedge=Hedging.RISKY)).proposed
    assert found.why == '"ci / unit" was red on #1 when it was queued'


@pytest.mark.parametrize(
    ("outcomes", "red"),
    [
        ((Outcome.FAILED,), "ci"),
        ((Outcome.TIMED_OUT,), "ci"),
        ((Outcome.FAILED, Outcome.PASSED), ""),
        ((Outcome.PASSED, Outcome.FAILED), "ci"),
        ((Outcome.WAITING,), ""),
        ((), ""),
    ],
)
def test_of_each_check_the_newest_run_counts(outcomes: Sequence[Outcome], red: str) -> None:
    seen = [CheckSeen("app", "ci", number, each) for number, each in enumerate(outcomes)]
    assert red_check(seen) == red


@pytest.mark.parametrize(("hedge", "noted"), [("risky", "ci"), ("off", "")])
def test_checks_on_the_head_are_looked_at_only_where_hedges_want_to_know(
    hedge: str, noted: str
) -> None:
    there = Village(rules=RULES.replace("idle", hedge))
    pr = there.propose({"a": "1"})
    head = there.hosting.pulls[pr].head
    there.hosting.reported[head] = (CheckSeen("app", "ci", 1, Outcome.FAILED),)
    assert there.label(pr).red_check == noted


def test_a_forge_that_cannot_tell_of_checks_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(*_: object) -> None:
        raise Unavailable("the forge does not answer")

    there = Village(rules=RULES)
    monkeypatch.setattr(MemoryForge, "checks", away)
    pr = there.propose({"a": "1"})
    found = there.label(pr)
    assert isinstance(found.state, Landed)
    assert found.red_check == ""


def test_who_changes_a_file_of_one_ahead_is_risky() -> None:
    first, second = chain()
    third = apart(gating(3, sha("m2")), "b.py")
    fourth = apart(gating(4, sha("m3")), "d.py")
    every = lane(first, second, third, fourth, hedge=Hedging.RISKY, slots=5)
    why = '#3 changes "b.py", as #2 ahead of it does'
    assert hedges(every).proposed == (PrepareHedge(4, sha("m2"), 3, why),)


def test_where_many_gates_were_red_lately_everybody_is_risky() -> None:
    heard = tuple(Heard(pr, 1, "test" if pr % 3 == 0 else "", "E") for pr in range(3, 12))
    (found,) = hedges(lane(*chain(), hedge=Hedging.RISKY, heard=heard)).proposed
    assert found.why == "3 of the last 9 gates were red"


def test_the_next_hedge_stands_on_the_one_before() -> None:
    first, second = chain()
    third = apart(gating(3, sha("m2")), "c.py")
    found = lane(first, hedged(second), third, slots=5, runs=[hedge_run()])
    assert proposed(found)[0] == (3, WITHOUT_1.merged, 1)
    assert hedges(found).kept == {"hedge2"}


def test_behind_a_red_hedge_the_next_one_stands_where_that_stood() -> None:
    first, second = chain()
    third = apart(gating(3, sha("m2")), "c.py")
    found = lane(first, hedged(second), third, slots=5, runs=[hedge_run(FAIL)])
    assert proposed(found)[0] == (3, TIP, 1)


def test_a_red_one_is_hedged_too_while_its_base_is_not_known() -> None:
    first, second = chain()
    red = second.moved(Failing(merge(sha("m1"), "m2", ("b.py",)), "run2", FAIL))
    assert proposed(lane(first, red)) == [(2, TIP, 1)]


def test_groups_and_changes_of_the_rules_are_not_hedged() -> None:
    first, second = chain()
    group = Gating(merge(sha("m1"), "m2"), "run2", NOW, Together((2, 3)))
    assert proposed(lane(first, candidate(2, group))) == []
    assert proposed(lane(apart(first, ".mergebot.toml"), second)) == []


def test_a_gate_with_checks_of_others_is_not_hedged() -> None:
    gate = replace(GATE, external=ExternalChecks(("ci",)))
    rules = Rules(TIP, Policy(gate, queue=QueuePolicy(hedge=Hedging.IDLE)))
    assert proposed(lane(*chain(), rules=rules)) == []


USELESS = {
    "the one ahead is green": (verified(1, TIP), Hedging.IDLE, 4),
    "somebody needs the slot": (gating(1, TIP), Hedging.IDLE, 2),
    "the rules say so": (gating(1, TIP), Hedging.OFF, 4),
}


@pytest.mark.parametrize("why", USELESS)
def test_a_hedge_is_stopped_once_it_has_no_use(why: str) -> None:
    first, how, slots = USELESS[why]
    second = hedged(chain()[1])
    found = lane(first, second, hedge=how, slots=slots, runs=[hedge_run()])
    decision = drop(Decision(found))
    assert decision.stops == ("hedge2",)
    assert [each.hedges for each in decision.snapshot.candidates] == [(), ()]


def test_a_halt_stops_hedges() -> None:
    first, second = chain()
    halt = Halt("deploy", NOW, "alice", "somebody resumes")
    found = lane(first, hedged(second), runs=[hedge_run()], halt=halt)
    assert drop(Decision(found)).stops == ("hedge2",)


def test_whoever_ends_takes_their_hedges_along() -> None:
    first, second = chain()
    found = lane(first, hedged(second), runs=[hedge_run()])
    ended = Landed(merge(sha("m1"), "m2"), "receipt", NOW)
    decision = Decision(found).move(hedged(second), ended, "landed")
    assert set(decision.stops) == {"run2", "hedge2"}


def test_a_hedge_that_is_in_use_is_left_alone() -> None:
    first, second = chain()
    assert not drop(Decision(lane(first, hedged(second), runs=[hedge_run()]))).touched


def test_when_the_one_ahead_is_red_the_one_behind_goes_on_with_its_hedge() -> None:
    first, second = chain()
    runs = [run("run1", FAIL), run("run2"), hedge_run(GREEN)]
    decision = settle(Decision(lane(first, hedged(second), runs=runs)))
    assert plan(decision.snapshot) == (Restart(2),)
    left = decision.snapshot.candidate(2)
    assert left is not None
    decision = decision.move(left, Queued(), "what is ahead of it changed")
    assert "hedge2" not in decision.stops
    assert plan(decision.snapshot) == (Prepare(2, TIP),)
    again = decision.snapshot.candidate(2)
    assert again is not None
    found = usable(decision.snapshot, again, WITHOUT_1, GATE)
    assert found == HEDGE
    decision = settle(adopt(decision, again, HEDGE))
    landed = decision.snapshot.candidate(2)
    assert landed is not None
    assert isinstance(landed.state, Verified)
    assert (landed.state.verdict.base, landed.state.verdict.merged) == (TIP, WITHOUT_1.merged)
    assert landed.hedges == ()


@pytest.mark.parametrize(
    ("result", "other"),
    [(NoVerdict("host lost"), {}), (GREEN, {"spec": replace(GATE, timeout_s=1.0)})],
)
def test_a_hedge_counts_only_by_the_gate_in_force_and_with_a_verdict(
    result: GateResult, other: dict[str, object]
) -> None:
    ended = hedge_run(result)
    changed = replace(ended, order=replace(ended.order, **other))  # type: ignore[arg-type]  # a spec
    second = hedged(chain()[1])
    assert usable(lane(second, runs=[changed]), second, WITHOUT_1, GATE) is None


def test_a_hedge_counts_for_its_own_merged_commit_alone() -> None:
    second = hedged(chain()[1])
    moved = replace(WITHOUT_1, base=sha("new-tip"))
    assert usable(lane(second, runs=[hedge_run(GREEN)]), second, moved, GATE) is None


def test_the_story_says_why_a_hedge_runs() -> None:
    found = lane(*chain())
    (wanted,) = hedges(found).proposed
    decision = start(Decision(found), wanted, WITHOUT_1, hedge_run().order)
    assert [each.text for each in decision.entries] == [
        f"gated as {WITHOUT_1.merged[:7]} too, without #1, on an idle slot: a slot is idle"
    ]
    assert decision.orders == (hedge_run().order,)


FINE = PrepareHedge(2, TIP, 1, "a slot is idle")
REFUSED = [
    (lane(*chain(), slots=2), FINE, Refusal.OVER_BUDGET),
    (lane(*chain()), replace(FINE, base=sha("nobody")), Refusal.WRONG_BASE),
    (lane(gating(1, TIP), candidate(2)), FINE, Refusal.SUPERSEDED),
    (lane(verified(1, TIP), gating(2, sha("m1"))), FINE, Refusal.SUPERSEDED),
    (lane(gating(2, TIP)), FINE, Refusal.SUPERSEDED),
    (lane(*chain(), halt=Halt("deploy", NOW, "alice", "x")), FINE, Refusal.HALTED),
]


@pytest.mark.parametrize(("found", "proposal", "why"), REFUSED)
def test_a_hedge_that_is_not_right_is_refused_by_name(
    found: Snapshot, proposal: PrepareHedge, why: Refusal
) -> None:
    against = objection(found, proposal)
    assert against is not None
    assert against.reason is why


def test_a_right_hedge_is_let_through() -> None:
    assert objection(lane(*chain()), FINE) is None


def test_the_change_behind_a_red_one_lands_by_the_run_that_was_on_its_way() -> None:
    there = Village(rules=RULES)
    bad, good = there.propose({"broken": "1"}), there.propose({"b": "1"})
    for pr in (bad, good):
        there.hosting.add_label(ALICE, pr, "merge-queue")
    there.settle()
    told = [each.text for each in there.store.story(LANE, good, limit=99)]
    assert any(f"without #{bad}, on an idle slot" in text for text in told)
    assert any(f"in case #{bad} would turn red" in text for text in told)
    assert isinstance(there.candidate(good).state, Landed)
    assert "broken" not in there.remote.objects.commit(there.tip).tree


def drawn(**changes: object) -> World:
    conditions = Conditions(workers=8, fail=0.1, **changes)  # type: ignore[arg-type]  # named fields
    arrivals = traces.apart(traces.poisson(120, 3))
    return draw(traces.paced(arrivals, traces.Load(0.4), conditions), conditions, 3)


def test_hedges_change_when_something_lands_and_never_what() -> None:
    world = drawn()
    without = production(world, QueuePolicy())
    hedging = production(world, QueuePolicy(hedge=Hedging.IDLE))
    assert hedging.landed.keys() == without.landed.keys()
    assert hedging.refused.keys() == without.refused.keys()
    assert measure(world, hedging).mean_s < measure(world, without).mean_s


def test_what_is_foreseen_costs_little_and_what_is_not_costs_nothing() -> None:
    world = drawn(foreseen=(1.0, 0.0))
    risky = production(world, QueuePolicy(hedge=Hedging.RISKY))
    idle = production(world, QueuePolicy(hedge=Hedging.IDLE))
    plain = production(world, QueuePolicy())
    assert plain.busy_s < risky.busy_s < idle.busy_s
    blind = drawn()
    heardless = production(blind, QueuePolicy(hedge=Hedging.RISKY))
    assert measure(blind, heardless).mean_s <= measure(blind, plain).mean_s
