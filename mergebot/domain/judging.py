"""Whose fault a red gate is, once its base is known to be green.

Where others landed between a candidate's own merge base and the base it failed on, its head is
gated alone: green alone, it fails only in combination with one of them, which is looked for by
halving (narrowing.py). Where nothing else tells, it runs
once more on the same commit: a pass then is a flaky one. Either takes a slot that nobody else has a
use for, and gives it back at once when somebody does; meanwhile the candidate blocks nobody. What
no idle slot settles in time is the candidate's own, since the base is green without it.

Three pull requests with one new failure say that the gate is at fault: the lane halts, and what
their failures cost is given back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mergebot.domain import isolation, narrowing
from mergebot.domain.candidate import (
    Candidate,
    Doubt,
    Ejected,
    Failing,
    GateEvidence,
    Gating,
    Merge,
    Question,
    Queued,
    State,
    Trial,
    Unjudged,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.effects import KeepCandidate
from mergebot.domain.gate import Failed, GateResult, NoVerdict, Passed, Verdict
from mergebot.domain.ids import Sha
from mergebot.domain.lane import Green, Halt, Heard, Run, Snapshot
from mergebot.domain.limits import RUN_SILENT_S
from mergebot.domain.reasons import Fault, Reason, consequence
from mergebot.domain.trials import idle
from mergebot.domain.wording import listed

JUDGING_WAIT_S = 120.0
"""How long an author waits for a slot to fall idle before hearing of the failure anyway."""

HEARD_MAX = 10
"""Results among which three equal failures of three pull requests make the gate suspect."""

EQUAL_FAILURES = 3
OTHERS_MAX = 5


@dataclass(frozen=True, slots=True)
class Landed:
    """A PR that landed since a candidate's own merge base, the files it changed, and its commit."""

    pr: int
    paths: tuple[str, ...]
    commit: Sha | None = None


@dataclass(frozen=True, slots=True)
class Background:
    """What happened between a candidate's own merge base `fork` and the base it failed on."""

    fork: Sha
    landed: tuple[Landed, ...]


Backgrounds = Mapping[int, Background]


def conclude(decision: Decision, backgrounds: Backgrounds) -> Decision:
    """Judge every red candidate whose base is green; without a background, it is its own fault."""
    for candidate in decision.snapshot.candidates:
        state = candidate.state
        if isinstance(state, Failing) and known_green(decision.snapshot, state.merge.base):
            found = decision.snapshot.candidate(candidate.pr)
            if found == candidate:
                decision = _judge(decision, candidate, state, backgrounds.get(candidate.pr))
    return decision


def hear_green(decision: Decision, before: Snapshot) -> Decision:
    """Note the candidates that were gated before and are verified now."""
    gated = {each.pr for each in before.candidates if isinstance(each.state, Gating)}
    green = tuple(
        Heard(each.pr, each.attempt)
        for each in decision.candidates
        if each.pr in gated and isinstance(each.state, Verified)
    )
    return _heard(decision, green) if green else decision


def outcome(run: Run | None, now: float) -> GateResult | None:
    """Return a run's result, None while it may still come; a silent worker's run has none."""
    if run is None:
        return NoVerdict("its gate run is gone")
    if run.result is not None:
        return run.result
    if run.progress.beat and now - run.progress.beat > RUN_SILENT_S:
        return NoVerdict(f"the worker {run.progress.worker} went silent")
    return None


def known_green(snapshot: Snapshot, commit: Sha) -> bool:
    """Tell whether a gate was green on exactly this commit of the trunk."""
    health = snapshot.state.health
    return commit in snapshot.state.greens or (isinstance(health, Green) and health.tip == commit)


def spend(candidate: Candidate, reason: Reason) -> Candidate:
    """Return the candidate with what `reason` costs taken from its PR's budget."""
    return _charged(candidate, 1) if consequence(reason).spends == "failure" else candidate


def given_back(candidate: Candidate) -> Candidate:
    """Return the candidate with one failure given back to its PR's budget."""
    return _charged(candidate, -1)


def eject(decision: Decision, candidate: Candidate, evidence: GateEvidence) -> Decision:
    """End a candidate whose gate was red, and keep its merged commit for its author."""
    candidate = spend(candidate, evidence.result.reason)
    state = Ejected(evidence.result.reason, evidence, decision.snapshot.now)
    step = evidence.result.step
    text = f"ejected: {step.name} ended with exit code {step.exit_code}"
    if evidence.others:
        text += f"; it is green alone and red together with {names(evidence.others)}"
    decision = decision.move(candidate, state, text)
    return decision.want(KeepCandidate(candidate.pr, evidence.merge.merged))


def names(prs: Sequence[int]) -> str:
    """Return pull requests as people write them."""
    return listed(tuple(f"#{pr}" for pr in prs))


def _judge(
    decision: Decision, candidate: Candidate, state: Failing, background: Background | None
) -> Decision:
    now = decision.snapshot.now
    own = GateEvidence(state.merge, state.run, state.result, Fault.CANDIDATE)
    match state.judging:
        case Unjudged():
            if background is None:
                return eject(decision, candidate, own)
            decision = _heard(decision, (_signature(candidate, state.result),))
            alike = _alike(decision.snapshot, decision.snapshot.state.heard[-1])
            if len(alike) >= EQUAL_FAILURES:
                return _suspect(decision, alike)
            doubt = _doubt(decision.snapshot, candidate, state, background)
            if doubt is None:
                return eject(decision, candidate, own)
            judged = candidate.moved(replace(state, judging=doubt))
            text = (
                f"{state.result.step.name} is red on a green base: whose fault it is is found out"
            )
            return decision.put(judged).tell("judging", text, pr=candidate.pr)
        case Doubt(until=until) as doubt:
            if now < until:
                return decision
            if doubt.proof:
                return _clash(decision, candidate, doubt, doubt.others)
            return eject(decision, candidate, own)
        case Trial(doubt, name):
            result = outcome(decision.snapshot.runs.get(name), now)
            if result is None:
                return decision
            if doubt.proof:
                return _halved(decision, candidate, doubt, result, background)
            return _tried(decision, candidate, doubt, name=name, result=result, found=background)


def _tried(
    decision: Decision,
    candidate: Candidate,
    doubt: Doubt,
    *,
    name: str,
    result: GateResult,
    found: Background | None,
) -> Decision:
    """Conclude from the run `name`, of the change alone or again."""
    state = candidate.state
    if not isinstance(state, Failing):
        return decision
    own = GateEvidence(state.merge, state.run, state.result, Fault.CANDIDATE)
    match result:
        case Passed() if doubt.question is Question.ALONE:
            others = tuple(each.pr for each in found.landed) if found else ()
            return _narrow(decision, candidate, replace(doubt, proof=name), others, found)
        case Passed():
            return _flaky(decision, candidate, state, name=name, result=result)
        case Failed():
            return eject(decision, candidate, replace(own, proof=name))
        case NoVerdict():
            return eject(decision, candidate, own)


def _halved(
    decision: Decision,
    candidate: Candidate,
    doubt: Doubt,
    result: GateResult,
    background: Background | None,
) -> Decision:
    """Conclude from the run on what landed up to the middle of those that are left."""
    if isinstance(result, NoVerdict):
        return _clash(decision, candidate, doubt, doubt.others)
    others = narrowing.left(doubt, green=isinstance(result, Passed))
    return _narrow(decision, candidate, doubt, others, background)


def _narrow(
    decision: Decision,
    candidate: Candidate,
    doubt: Doubt,
    others: Sequence[int],
    background: Background | None,
) -> Decision:
    """Look further for the one that the change clashes with, while a slot is idle for that."""
    snapshot, state = decision.snapshot, candidate.state
    landed = background.landed if background else ()
    commits = {each.pr: each.commit for each in landed if each.commit is not None}
    more = narrowing.among(doubt, others, commits, until=snapshot.now + JUDGING_WAIT_S)
    if more is None or idle(snapshot) < 1 or not isinstance(state, Failing):
        return _clash(decision, candidate, doubt, others or doubt.others)
    text = f"green alone: it turns red with one of {names(others)}, which is found out by halving"
    judged = candidate.moved(replace(state, judging=more))
    return decision.put(judged).tell("judging", text, pr=candidate.pr)


def _clash(
    decision: Decision, candidate: Candidate, doubt: Doubt, others: Sequence[int]
) -> Decision:
    """End a change that is green alone and red with one of the others."""
    state = candidate.state
    if not isinstance(state, Failing):
        return decision
    evidence = GateEvidence(
        merge=state.merge,
        run=state.run,
        result=state.result,
        fault=Fault.COMBINATION,
        proof=doubt.proof,
        others=narrowing.named(doubt, others),
    )
    return eject(decision, candidate, evidence)


def _doubt(
    snapshot: Snapshot, candidate: Candidate, state: Failing, background: Background
) -> Doubt | None:
    """Return what is worth asking about a red run, or None where its fault is plain."""
    if snapshot.slots < 1:
        return None
    until = snapshot.now + JUDGING_WAIT_S
    others = suspects(state.merge, background.landed)
    if others:
        return Doubt(Question.ALONE, candidate.head, background.fork, others, until)
    retried = state.result.step.tries > 1 or state.result.reason is Reason.GATE_TIMEOUT
    if retried or idle(snapshot) < 1:
        return None
    return Doubt(Question.AGAIN, state.merge.merged, state.merge.base, (), until)


def suspects(merge: Merge, landed: Sequence[Landed]) -> tuple[int, ...]:
    """Return who may clash with a change: those that share files with it, else the last few."""
    paths = set(merge.paths)
    sharing = [each.pr for each in landed if paths.intersection(each.paths)]
    return tuple((sharing or [each.pr for each in landed])[-OTHERS_MAX:])


def _flaky(
    decision: Decision, candidate: Candidate, state: Failing, *, name: str, result: Passed
) -> Decision:
    merge = state.merge
    run = decision.snapshot.runs[name]
    verdict = Verdict(
        base=merge.base,
        merged=merge.merged,
        tree=merge.tree,
        run=name,
        spec=run.order.spec.digest,
        worker=run.progress.worker,
        steps=result.steps,
        seal=result.seal,
    )
    text = f"{state.result.step.name} is flaky: it passed on the same commit when it ran again"
    if isolation.lands_from(decision.snapshot, merge):
        return decision.move(candidate, Verified(merge, verdict), text)
    return isolation.rejoin(decision.tell("flaky", text, pr=candidate.pr), (candidate,))


def _suspect(decision: Decision, alike: Sequence[Heard]) -> Decision:
    """Halt the lane; whoever is still here is gated anew after it, the others get a failure back."""
    now = decision.snapshot.now
    last = alike[-1]
    text = (
        f"{names([each.pr for each in alike])} fail in the same new way ({last.step}: {last.error}),"
        " so the gate itself is suspect"
    )
    moves: list[tuple[Candidate, State]] = []
    owed = list(decision.snapshot.state.owed)
    for each in alike:
        found = decision.snapshot.candidate(each.pr)
        if found is None:
            owed.append(each.pr)
        elif found.attempt != each.attempt:
            decision = decision.put(given_back(found))
        elif isinstance(found.state, Failing):
            moves.append((found, Queued()))
    decision = decision.move_all(moves, "the gate is suspect: gated anew once the queue goes on")
    decision = decision.lane(heard=(), owed=tuple(owed))
    if decision.snapshot.state.halt is not None:
        return decision
    halt = Halt(text, now, "mergebot", "somebody looks at the gate and resumes")
    return decision.halt(halt, text)


def _alike(snapshot: Snapshot, last: Heard) -> Sequence[Heard]:
    """Return the newest of each PR's recent results that failed like the last one."""
    if not last.error:
        return ()
    same = {
        each.pr: each
        for each in snapshot.state.heard
        if (each.step, each.error) == (last.step, last.error)
    }
    return tuple(same.values())


def _signature(candidate: Candidate, result: Failed) -> Heard:
    lines = [line.strip() for line in result.first_error.splitlines() if line.strip()]
    error = lines[0][:200] if lines else ""
    return Heard(candidate.pr, candidate.attempt, result.step.name, error)


def _heard(decision: Decision, results: Sequence[Heard]) -> Decision:
    heard = (*decision.snapshot.state.heard, *results)[-HEARD_MAX:]
    return decision.lane(heard=heard)


def _charged(candidate: Candidate, failures: int) -> Candidate:
    spent = max(0, candidate.budget.failures + failures)
    return replace(candidate, budget=replace(candidate.budget, failures=spent))
