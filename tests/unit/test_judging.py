from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from mergebot.domain import judging, trials
from mergebot.domain.candidate import (
    Candidate,
    Doubt,
    Ejected,
    Failing,
    GateEvidence,
    Landed,
    Question,
    Queued,
    Trial,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.gate import Failed, GateResult, NoVerdict, StepResult
from mergebot.domain.judging import Background
from mergebot.domain.lane import Heard, Snapshot
from mergebot.domain.planning import plan, ready
from mergebot.domain.reasons import Fault, Reason
from mergebot.domain.settling import settle
from mergebot.domain.status import NOWHERE, Setting, status_document
from tests.support.builders import (
    FAIL,
    GREEN,
    LANE,
    NOW,
    POLICY,
    TIP,
    candidate,
    gating,
    merge,
    run,
    sha,
    snapshot,
)
from tests.support.village import LANE as VILLAGE
from tests.support.village import Village

FORK = sha("fork")
NOBODY = Background(FORK, ())
OTHERS = Background(FORK, (judging.Landed(3, ("b.py",)), judging.Landed(4, ("a.py",))))
ALONE = Doubt(Question.ALONE, sha("head1"), FORK, (4,), NOW + 60)
AGAIN = Doubt(Question.AGAIN, sha("m1"), TIP, (), NOW + 60)


def failing(doubt: Doubt | Trial, pr: int = 1) -> Candidate:
    return candidate(pr, Failing(merge(TIP, f"m{pr}"), f"run{pr}", FAIL, doubt))


def judged(lane: Snapshot, background: Background = NOBODY) -> Decision:
    return settle(Decision(lane), {1: background})


def evidence_of(found: Candidate) -> GateEvidence:
    assert isinstance(found.state, Ejected)
    assert isinstance(found.state.evidence, GateEvidence)
    return found.state.evidence


def doubt_about(decision: Decision) -> Doubt:
    found = decision.snapshot.candidate(1)
    assert found is not None
    assert isinstance(found.state, Failing)
    assert isinstance(found.state.judging, Doubt)
    return found.state.judging


def test_who_shares_a_file_and_landed_meanwhile_is_doubted() -> None:
    decision = judged(snapshot(gating(1, TIP), runs=(run("run1", FAIL),)), OTHERS)
    doubt = doubt_about(decision)
    assert (doubt.question, doubt.commit, doubt.base) == (Question.ALONE, sha("head1"), FORK)
    assert doubt.others == (4,)


def test_without_a_shared_file_the_last_five_that_landed_are_doubted() -> None:
    landed = tuple(judging.Landed(pr, (f"own-{pr}",)) for pr in range(10, 18))
    assert judging.suspects(merge(TIP, "m1"), landed) == (13, 14, 15, 16, 17)


def test_a_lone_failure_runs_again_on_the_same_commit() -> None:
    decision = judged(snapshot(gating(1, TIP), runs=(run("run1", FAIL),)))
    doubt = doubt_about(decision)
    assert (doubt.question, doubt.commit) == (Question.AGAIN, sha("m1"))


def test_a_lone_failure_on_a_busy_lane_is_the_candidates_own() -> None:
    lane = snapshot(gating(1, TIP), gating(2, TIP), runs=(run("run1", FAIL), run("run2")))
    decision = judged(replace(lane, slots=1))
    (ended,) = decision.candidates
    assert evidence_of(ended).fault is Fault.CANDIDATE


def test_a_step_that_was_tried_again_already_is_not_tried_once_more() -> None:
    step = StepResult("test", "make test", 1, 1.0, "log", tries=2)
    lane = snapshot(gating(1, TIP), runs=(run("run1", replace(FAIL, steps=(step,))),))
    (ended,) = judged(lane).candidates
    assert evidence_of(ended).fault is Fault.CANDIDATE


def test_green_alone_is_a_combination_that_names_the_others_and_the_run() -> None:
    lane = snapshot(failing(Trial(ALONE, "trial")), runs=(run("run1", FAIL), run("trial", GREEN)))
    (ended,) = judged(lane).candidates
    found = evidence_of(ended)
    assert (found.fault, found.others, found.proof) == (Fault.COMBINATION, (4,), "trial")
    document = status_document(ended, Setting(LANE, POLICY, "http://q"), NOWHERE)
    assert (document["fault"], document["with"]) == ("combination", [4])
    assert "#4" in str(document["next_action"])


MANY = tuple(
    judging.Landed(pr, (f"own-{pr}",) if pr != 13 else ("a.py",), sha(f"landed-{pr}"))
    for pr in range(10, 18)
)
PRS = tuple(each.pr for each in MANY)


def among(others: tuple[int, ...], on: int, *, until: float = NOW + 60) -> Doubt:
    commit = sha(f"landed-{on}")
    return Doubt(Question.AMONG, commit, commit, others, until, "alone", (13,))


@pytest.mark.parametrize("culprit", PRS)
def test_the_one_that_a_change_clashes_with_is_found_by_halving(culprit: int) -> None:
    doubt = replace(ALONE, others=(13,))
    result: GateResult = GREEN
    name, runs = "alone", 0
    while True:
        lane = snapshot(failing(Trial(doubt, name)), runs=(run("run1", FAIL), run(name, result)))
        decision = judged(lane, Background(FORK, MANY))
        if decision.candidates and isinstance(decision.candidates[0].state, Ejected):
            break
        doubt = doubt_about(decision)
        on = next(each.pr for each in MANY if each.commit == doubt.base)
        result, name, runs = FAIL if culprit <= on else GREEN, f"run-on-{on}", runs + 1
    found = evidence_of(decision.candidates[0])
    assert (found.fault, found.others, found.proof) == (Fault.COMBINATION, (culprit,), "alone")
    assert runs == 3


def test_nobody_is_halved_for_where_no_slot_is_idle_or_too_many_landed() -> None:
    trial = (run("run1", FAIL), run("trial", GREEN))
    lane = snapshot(failing(Trial(ALONE, "trial")), gating(2, TIP), runs=(*trial, run("run2")))
    (busy,) = judged(replace(lane, slots=1), Background(FORK, MANY)).candidates
    assert evidence_of(busy).others == PRS[-5:]
    more = tuple(judging.Landed(pr, (), sha(f"landed-{pr}")) for pr in range(10, 40))
    lane = snapshot(failing(Trial(replace(ALONE, others=(13,)), "trial")), runs=trial)
    (crowd,) = judged(lane, Background(FORK, more)).candidates
    assert evidence_of(crowd).others == (13,)


@pytest.mark.parametrize(("others", "named"), [((12, 13, 14), (13,)), ((14, 15, 16), (14, 15, 16))])
def test_what_is_not_found_out_in_time_stays_one_of_those_that_are_left(
    others: tuple[int, ...], named: tuple[int, ...]
) -> None:
    late = failing(among(others, others[0], until=NOW))
    silent = failing(Trial(among(others, others[0]), "trial"))
    runs = (run("run1", FAIL), run("trial", NoVerdict("the host died")))
    for found in (late, silent):
        (ended,) = judged(snapshot(found, runs=runs), Background(FORK, MANY)).candidates
        assert evidence_of(ended).fault is Fault.COMBINATION
        assert evidence_of(ended).others == named


def test_who_is_looked_for_is_told_meanwhile() -> None:
    document = status_document(
        failing(among((12, 13), 12)), Setting(LANE, POLICY, "http://q"), NOWHERE
    )
    assert "It is green alone and red with one of #12 and #13" in str(document["text"])


def test_red_alone_is_the_candidates_own() -> None:
    lane = snapshot(failing(Trial(ALONE, "trial")), runs=(run("run1", FAIL), run("trial", FAIL)))
    (ended,) = judged(lane).candidates
    assert (evidence_of(ended).fault, evidence_of(ended).proof) == (Fault.CANDIDATE, "trial")


def test_green_again_goes_on_as_verified_by_the_second_run() -> None:
    lane = snapshot(failing(Trial(AGAIN, "trial")), runs=(run("run1", FAIL), run("trial", GREEN)))
    (found,) = judged(lane).candidates
    assert isinstance(found.state, Verified)
    assert (found.state.verdict.run, found.budget.failures) == ("trial", 0)


def test_who_waits_too_long_for_an_idle_slot_hears_of_the_failure() -> None:
    late = replace(ALONE, until=NOW)
    (ended,) = judged(snapshot(failing(late), runs=(run("run1", FAIL),))).candidates
    assert evidence_of(ended).fault is Fault.CANDIDATE


def test_who_is_judged_blocks_nobody() -> None:
    lane = snapshot(failing(ALONE), candidate(2), runs=(run("run1", FAIL),))
    assert [each.pr for each in ready(lane)] == [2]
    assert plan(replace(lane, state=replace(lane.state, known_tip=sha("new")))) != ()


def test_a_doubt_waits_while_every_slot_is_taken_and_a_trial_makes_way() -> None:
    busy = (gating(2, TIP), gating(3, TIP))
    runs = (run("run1", FAIL), run("run2"), run("run3"), run("trial"))
    assert trials.waiting(snapshot(failing(ALONE), *busy, runs=runs)) == []
    lane = snapshot(failing(Trial(ALONE, "trial")), *busy, runs=runs)
    decision = trials.make_way(Decision(lane))
    assert decision.stops == ("trial",)
    assert doubt_about(decision) == ALONE


def heard(pr: int) -> Heard:
    return Heard(pr, 1, "test", "E boom")


def test_three_pull_requests_with_one_new_failure_make_the_gate_suspect() -> None:
    lane = snapshot(
        gating(1, TIP),
        failing(AGAIN, 2),
        runs=(run("run1", FAIL), run("run2", FAIL)),
        heard=(heard(2), heard(3)),
    )
    after = judged(lane).snapshot
    assert after.state.halt is not None
    assert "#2, #3 and #1" in after.state.halt.reason
    assert [type(each.state) for each in after.candidates] == [Queued, Queued]
    assert [each.budget.failures for each in after.candidates] == [0, 0]
    assert after.state.owed == (3,)


def test_the_same_pull_request_failing_three_times_says_nothing_about_the_gate() -> None:
    lane = snapshot(gating(1, TIP), runs=(run("run1", FAIL),), heard=(heard(1), heard(1)))
    assert judged(lane).snapshot.state.halt is None


def test_failures_that_print_nothing_are_not_alike() -> None:
    silent = Failed(Reason.GATE_FAILED, FAIL.steps, "", "")
    before = tuple(Heard(pr, 1, "test", "") for pr in (2, 3))
    lane = snapshot(gating(1, TIP), runs=(run("run1", silent),), heard=before)
    assert judged(lane).snapshot.state.halt is None


@dataclass
class Flaky:
    """A gate that is red the first time a tree with this file is tested."""

    name: str
    seen: int = 0

    def __call__(self, tree: Mapping[str, str]) -> bool:
        self.seen += self.name in tree
        return self.name not in tree or self.seen > 1


def clash(tree: Mapping[str, str]) -> bool:
    return not {"one", "two"} <= tree.keys() and "broken" not in tree


def test_a_change_that_is_green_alone_is_sent_back_with_the_name_of_the_one_it_clashes_with() -> (
    None
):
    village = Village(works=clash)
    fork = village.tip
    first = village.propose({"one": "1"}, base=fork)
    second = village.propose({"two": "1"}, base=fork)
    assert isinstance(village.label(first).state, Landed)
    found = evidence_of(village.label(second))
    assert (found.fault, found.others) == (Fault.COMBINATION, (first,))
    assert "It is green alone and red together with" in village.comments(second)[-1]


def test_of_many_that_landed_meanwhile_the_one_that_matters_is_named() -> None:
    village = Village(works=clash)
    fork = village.tip
    late = village.propose({"two": "1"}, base=fork)
    before = [village.propose({f"file-{number}": "1"}, base=fork) for number in range(3)]
    culprit = village.propose({"one": "1"}, base=fork)
    after = [village.propose({f"more-{number}": "1"}, base=fork) for number in range(2)]
    for pr in (*before, culprit, *after):
        assert isinstance(village.label(pr).state, Landed)
    found = evidence_of(village.label(late))
    assert (found.fault, found.others) == (Fault.COMBINATION, (culprit,))


def test_a_flaky_failure_of_a_lone_change_lands() -> None:
    village = Village(works=Flaky("shaky"))
    pr = village.propose({"shaky": "1"})
    landed = village.label(pr)
    assert isinstance(landed.state, Landed)
    assert landed.budget.failures == 0


def test_a_change_that_is_red_again_is_sent_back_for_its_own_fault() -> None:
    village = Village()
    pr = village.propose({"broken": "1"})
    ended = village.label(pr)
    assert evidence_of(ended).fault is Fault.CANDIDATE
    assert ended.budget.failures == 1


def test_a_suspect_gate_halts_the_lane_and_gives_back_what_it_cost() -> None:
    village = Village()
    prs = [village.propose({"broken": str(number)}) for number in range(3)]
    for pr in prs:
        village.label(pr)
    assert village.store.read(VILLAGE).state.halt is not None
    assert [village.candidate(pr).budget.failures for pr in prs] == [0, 0, 0]
