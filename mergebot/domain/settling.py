"""Settling: what the gate runs that ended mean for the candidates and for the trunk."""

from dataclasses import replace

from mergebot.domain import isolation
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
from mergebot.domain.gate import Failed, GateResult, Lack, NoVerdict, Passed
from mergebot.domain.groups import gated_with
from mergebot.domain.health import settle_trunk
from mergebot.domain.ids import Sha, short
from mergebot.domain.isolation import Members
from mergebot.domain.judging import Backgrounds, conclude, eject, hear_green, outcome, spend
from mergebot.domain.lane import Halt, Red, Snapshot
from mergebot.domain.limits import INFRA_WAIT_S
from mergebot.domain.policy import BudgetPolicy
from mergebot.domain.reasons import AGAIN, Fault, Reason
from mergebot.domain.wording import count, duration

NO_BACKGROUNDS: Backgrounds = {}


def settle(decision: Decision, backgrounds: Backgrounds = NO_BACKGROUNDS) -> Decision:
    """Apply every result that came in: the trunk's first, since verdicts rest on its health.

    `backgrounds` say of failing candidates, by PR, what landed since they were begun.
    """
    before = decision.snapshot
    decision = _overspent(_with_the_trunk(settle_trunk(_with_sandboxes(decision))))
    for pr in [each.pr for each in decision.snapshot.candidates if _may_move(each.state)]:
        candidate = decision.snapshot.candidate(pr)
        if candidate is not None:
            decision = _settle_one(decision, candidate)
    return conclude(hear_green(decision, before), backgrounds)


def _may_move(state: State) -> bool:
    match state:
        case Gating() | Failing() | Blocked():
            return True
        case Parked(until=until):
            return until > 0
        case _:
            return False


def _with_sandboxes(decision: Decision) -> Decision:
    """Halt where a host could not start its sandbox: nothing ran there, and nothing may."""
    snapshot = decision.snapshot
    ended = (run.result for run in snapshot.runs.values())
    said = next((x for x in ended if isinstance(x, NoVerdict) and x.lack is Lack.SANDBOX), None)
    if said is None or snapshot.state.halt is not None:
        return decision
    text = f"no gate runs, because the sandbox cannot start: {said.why}"
    halt = Halt(text, snapshot.now, "mergebot", "somebody resumes once the sandbox starts")
    return decision.halt(halt, text)


def _overspent(decision: Decision) -> Decision:
    """Eject those who would be gated again although their gates took all the time they may."""
    limit_s = _budget(decision.snapshot).runtime_s
    spent = [
        each
        for each in decision.snapshot.candidates
        if isinstance(each.state, Queued) and each.budget.runtime_s > limit_s
    ]
    if not spent:
        return decision
    most = duration(limit_s)
    text = f"its gates ran in vain for more than the {most} that the rules allow; {AGAIN}"
    ended = Ejected(Reason.BUDGET_SPENT, PlainEvidence(text), decision.snapshot.now)
    return decision.move_all([(each, ended) for each in spent], text)


def _with_the_trunk(decision: Decision) -> Decision:
    """Park everyone whom a red trunk stops, and queue them again once it is not red."""
    snapshot = decision.snapshot
    health = snapshot.state.health
    if isinstance(health, Red):
        stopped = [each for each in snapshot.candidates if _stopped_by_red(snapshot, each)]
        text = f"the trunk is red at {short(health.tip)}: {health.step} fails there without this change"
        parked = Parked(Reason.TRUNK_RED, text)
        decision = (
            decision.move_all([(each, parked) for each in stopped], text) if stopped else decision
        )
    again = [
        (each, Queued())
        for each in decision.snapshot.candidates
        if isinstance(each.state, Parked)
        and each.state.reason is Reason.TRUNK_RED
        and _green_again(snapshot, each)
    ]
    text = "the trunk is green again: gated anew"
    return decision.move_all(again, text) if again else decision


def _known_red(snapshot: Snapshot, commit: Sha) -> bool:
    health = snapshot.state.health
    return isinstance(health, Red) and health.tip == commit


def _settle_one(decision: Decision, candidate: Candidate) -> Decision:
    snapshot = decision.snapshot
    match candidate.state:
        case Gating(run=run):
            members = gated_with(snapshot, candidate)
            result = outcome(snapshot.runs.get(run), snapshot.now)
            return decision if result is None or not members else _judge(decision, members, result)
        case Failing(merge, run, result) if _known_red(snapshot, merge.base):
            # Only a repair is gated there, and it has to make the trunk green by itself.
            return eject(decision, candidate, GateEvidence(merge, run, result, Fault.TRUNK))
        case Blocked(base, reason, evidence) if base == snapshot.tip:
            spent = spend(candidate, reason)
            ended = Ejected(reason, evidence, snapshot.now)
            return decision.move(spent, ended, f"ejected: {reason.words}")
        case Parked(until=until) if 0.0 < until <= snapshot.now:
            return decision.move(candidate, Queued(), "waited long enough: tried again")
        case _:
            return decision


def _judge(decision: Decision, members: Members, result: GateResult) -> Decision:
    """Conclude from a run's end for all who waited for it.

    They share what it cost, unless it was green: that others make it run again is not their doing.
    """
    first = members[0].state
    if not isinstance(first, Gating):
        return decision
    share_s = max(0.0, decision.snapshot.now - first.since) / len(members)
    if not isinstance(result, Passed):
        members = [_billed(each, share_s) for each in members]
    match result:
        case Passed():
            return isolation.passed(decision, members, first.run, result)
        case Failed() if len(members) > 1:
            return isolation.failed(decision, members)
        case Failed():
            return _failed_alone(decision, members[0], result)
        case NoVerdict():
            for each in members:
                decision = _no_verdict(decision, each, result)
            return decision


def _billed(candidate: Candidate, seconds: float) -> Candidate:
    budget = replace(candidate.budget, runtime_s=candidate.budget.runtime_s + seconds)
    return replace(candidate, budget=budget)


def _failed_alone(decision: Decision, candidate: Candidate, result: Failed) -> Decision:
    state = candidate.state
    if not isinstance(state, Gating):
        return decision
    decision = isolation.release(decision, isolation.untested(decision.snapshot, candidate))
    failing = candidate.moved(Failing(state.merge, state.run, result))
    text = f"{result.step.name} failed on {short(state.merge.merged)}"
    decision = decision.put(failing).tell("failing", text, pr=candidate.pr)
    return _settle_one(decision, failing)


def _no_verdict(decision: Decision, candidate: Candidate, result: NoVerdict) -> Decision:
    why = result.why
    if result.lack is Lack.SANDBOX:
        parked = Parked(Reason.INFRA, f"no verdict: {why}", decision.snapshot.now + INFRA_WAIT_S)
        return decision.move(candidate, parked, f"no verdict: {why}")
    spent = replace(candidate.budget, infra=candidate.budget.infra + 1)
    candidate = replace(candidate, budget=spent)
    if spent.infra >= _budget(decision.snapshot).infra:
        times = count(spent.infra, "time")
        text = f"the gate gave no verdict {times}, last because {why}; {AGAIN}"
        state = Ejected(Reason.BUDGET_SPENT, PlainEvidence(text), decision.snapshot.now)
        return decision.move(candidate, state, text)
    until = decision.snapshot.now + INFRA_WAIT_S * spent.infra
    parked = Parked(Reason.INFRA, f"no verdict: {why}; it is tried again by itself", until)
    return decision.move(candidate, parked, f"no verdict: {why}")


def _green_again(snapshot: Snapshot, candidate: Candidate) -> bool:
    return candidate.kind is Kind.REPAIR or not isinstance(snapshot.state.health, Red)


def _stopped_by_red(snapshot: Snapshot, candidate: Candidate) -> bool:
    moving = isinstance(candidate.state, Queued | Blocked | Gating | Failing | Verified)
    red = isinstance(snapshot.state.health, Red)
    return red and moving and candidate.kind is not Kind.REPAIR


def _budget(snapshot: Snapshot) -> BudgetPolicy:
    policy = snapshot.policy
    return policy.budget if policy else BudgetPolicy()
