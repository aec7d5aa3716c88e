"""What judging a red candidate needs of the world: what landed meanwhile, and a run on an idle slot."""

from mergebot.domain import judging, trials
from mergebot.domain.candidate import (
    Candidate,
    Doubt,
    Ejected,
    Failing,
    GateEvidence,
    Gating,
    Question,
    Trial,
    Unjudged,
    merge_of,
)
from mergebot.domain.decision import Decision
from mergebot.domain.effects import PublishNotice
from mergebot.domain.gate import Failed
from mergebot.domain.groups import members_of
from mergebot.domain.ids import Sha
from mergebot.domain.judging import Background, Backgrounds, Landed
from mergebot.domain.lane import RunOrder, Snapshot
from mergebot.ports.git import Git, Replayed
from mergebot.services.chain import request_for
from mergebot.services.parts import Parts

LANDINGS_MAX = 200
"""Landings that are looked through; a branch that is older than those is old news."""


def backgrounds(parts: Parts, git: Git, snapshot: Snapshot) -> Backgrounds:
    """Return what landed since each candidate was begun whose gate was red; raises Unavailable."""
    red = [each for each in snapshot.candidates if _asks(snapshot, each)]
    if not red:
        return {}
    receipts = parts.store.landings(snapshot.lane, limit=LANDINGS_MAX)
    landed = {str(each.fields.get("merged")): each.fields for each in receipts}
    found: dict[int, Background] = {}
    for each in red:
        merge = merge_of(each.state)
        if merge is None or not (git.has(each.head) and git.has(merge.base)):
            continue
        fork = git.fork_point(each.head, merge.base)
        if fork is None:
            continue
        since = [
            Landed(pr, _paths(git, fields.get("base"), commit), commit)
            for commit in git.first_parents(fork, merge.base)
            if (fields := landed.get(commit)) is not None and isinstance(pr := fields["pr"], int)
        ]
        found[each.pr] = Background(fork, tuple(since))
    return found


def try_doubts(parts: Parts, git: Git, decision: Decision) -> Decision:
    """Start the runs that settle doubts where slots are idle, and stop those that hold others up."""
    decision = trials.make_way(decision)
    for candidate, doubt in trials.waiting(decision.snapshot):
        order = _order(parts, git, decision.snapshot, candidate, doubt)
        decision = trials.start(decision, candidate, order) if order else decision
    return decision


def give_back(parts: Parts, decision: Decision) -> Decision:
    """Give a failure back to those who were sent away for what was the gate's own."""
    owed = decision.snapshot.state.owed
    for pr in owed:
        candidate = parts.store.latest(decision.snapshot.lane, pr)
        if candidate is None or candidate.open or not isinstance(candidate.state, Ejected):
            continue
        if isinstance(candidate.state.evidence, GateEvidence):
            decision = decision.put(judging.given_back(candidate))
            decision = decision.want(PublishNotice(pr, candidate.attempt))
    return decision.lane(owed=()) if owed else decision


def _asks(snapshot: Snapshot, candidate: Candidate) -> bool:
    match candidate.state:
        case Failing(judging=Unjudged()):
            return True
        case Failing(judging=Trial(run=name)):
            run = snapshot.runs.get(name)
            return run is not None and run.result is not None
        case Gating(run=name, company=company) if len(members_of(company)) < 2:  # noqa: PLR2004  a group is halved first
            run = snapshot.runs.get(name)
            return run is not None and isinstance(run.result, Failed)
        case _:
            return False


def _order(
    parts: Parts, git: Git, snapshot: Snapshot, candidate: Candidate, doubt: Doubt
) -> RunOrder | None:
    """Return what is to be run, None where the change cannot be replayed for it."""
    policy, state = snapshot.policy, candidate.state
    if policy is None or not isinstance(state, Failing):
        return None
    commit = doubt.commit
    if doubt.question is Question.AMONG:
        if not git.has(doubt.base):
            return None
        replay = git.replay(request_for(candidate, policy, doubt.base))
        if not isinstance(replay, Replayed):
            return None
        commit = replay.merge.merged
    step = state.result.step
    again = doubt.question is Question.AGAIN
    return RunOrder(
        run=parts.tokens.new(),
        pr=candidate.pr,
        head=candidate.head,
        base=doubt.base,
        merged=commit,
        spec=policy.gate,
        ordered_at=snapshot.now,
        generation=snapshot.state.generation,
        order=policy.order,
        tried={step.name: step.tries} if again else {},
    )


def _paths(git: Git, base: object, commit: Sha) -> tuple[str, ...]:
    if not isinstance(base, str) or not git.has(Sha(base)):
        return ()
    return tuple(change.path for change in git.changes(Sha(base), commit))
