"""Trials: the runs that tell whose fault a red gate is, on slots that nobody else has a use for."""

from collections.abc import Sequence
from dataclasses import replace

from mergebot.domain.candidate import Candidate, Doubt, Failing, Gating, Question, Trial
from mergebot.domain.decision import Decision
from mergebot.domain.ids import short
from mergebot.domain.lane import Checking, Red, RunOrder, Snapshot


def start(decision: Decision, candidate: Candidate, order: RunOrder) -> Decision:
    """Let the run `order` settle the doubt about a candidate."""
    state = candidate.state
    if not isinstance(state, Failing) or not isinstance(state.judging, Doubt):
        return decision
    trial = candidate.moved(replace(state, judging=Trial(state.judging, order.run)))
    what = {
        Question.ALONE: "alone",
        Question.AGAIN: "once more",
        Question.AMONG: f"on {short(order.base)}",
    }[state.judging.question]
    text = f"{short(order.merged)} is gated {what} on an idle slot, to tell whose fault it is"
    return decision.put(trial).order(order).tell("judging", text, pr=candidate.pr)


def waiting(snapshot: Snapshot) -> Sequence[tuple[Candidate, Doubt]]:
    """Return the doubts that slots are idle for now, those who failed first in front."""
    found = [
        (each, each.state.judging)
        for each in snapshot.candidates
        if isinstance(each.state, Failing) and isinstance(each.state.judging, Doubt)
    ]
    return found[: max(0, idle(snapshot))]


def make_way(decision: Decision) -> Decision:
    """Give slots back that trials hold while a candidate's own gate waits for one."""
    surplus = -idle(decision.snapshot)
    for candidate in reversed(decision.snapshot.candidates):
        state = candidate.state
        if surplus <= 0 or not isinstance(state, Failing) or not isinstance(state.judging, Trial):
            continue
        run = decision.snapshot.runs.get(state.judging.run)
        if run is not None and run.result is not None:
            continue
        surplus -= 1
        again = candidate.moved(replace(state, judging=state.judging.doubt))
        text = "another gate needs the slot: judging it waits"
        decision = (
            decision.put(again).stop(state.judging.run).tell("judging", text, pr=candidate.pr)
        )
    return decision


def idle(snapshot: Snapshot) -> int:
    """Return how many slots no run has a use for; below zero where runs wait for one."""
    runs: set[str] = set()
    for each in snapshot.candidates:
        match each.state:
            case Gating(run=run) | Failing(judging=Trial(run=run)):
                runs.add(run)
            case _:
                pass
    match snapshot.state.health:
        case Checking(run=run):
            runs.add(run)
        case Red(probe=probe) if probe:
            runs.add(probe)
        case _:
            pass
    ended = sum(name in snapshot.runs and snapshot.runs[name].result is not None for name in runs)
    return snapshot.capacity.counted - (len(runs) - ended)
