"""What hedges need of the world: a merged commit for each, and a run on an idle slot."""

from mergebot.domain.candidate import Merge
from mergebot.domain.checking import objection, refuse
from mergebot.domain.decision import Decision
from mergebot.domain.groups import changes_rules
from mergebot.domain.hedging import PrepareHedge, drop, hedges, start
from mergebot.domain.lane import RunOrder
from mergebot.domain.policy import Policy
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Git, Replayed
from mergebot.services.chain import Chain, request_for
from mergebot.services.parts import Parts
from mergebot.services.preparing import bring_in, scope_of


def try_hedges(parts: Parts, git: Git, decision: Decision) -> Decision:
    """Gate on idle slots what the chain needs if somebody fails, and stop what it cannot need."""
    decision = drop(decision)
    tried = set[tuple[int, str]]()
    while proposals := [
        each for each in hedges(decision.snapshot).proposed if (each.pr, each.base) not in tried
    ]:
        for each in proposals:
            tried.add((each.pr, each.base))
            decision = _try(parts, git, decision, each)
    return decision


def _try(parts: Parts, git: Git, decision: Decision, proposal: PrepareHedge) -> Decision:
    against = objection(decision.snapshot, proposal)
    if against is not None:
        return refuse(decision, against)
    policy = decision.snapshot.policy
    merge = _merge(git, decision, proposal, policy) if policy else None
    if merge is None or policy is None:
        return decision
    return start(decision, proposal, merge, _order(parts, decision, proposal, merge, policy))


def _merge(git: Git, decision: Decision, proposal: PrepareHedge, policy: Policy) -> Merge | None:
    """Return what is to be gated, None where nothing is: a hedge that is not to be had costs nothing."""
    candidate = decision.snapshot.candidate(proposal.pr)
    try:
        if candidate is None or not bring_in(git, decision, candidate):
            return None
        Chain(git, decision.snapshot).bring(proposal.base)
        replay = git.replay(request_for(candidate, policy, proposal.base))
        if not isinstance(replay, Replayed) or changes_rules(replay.merge):
            return None
        return None if scope_of(git, candidate, policy, replay) else replay.merge
    except Unavailable:
        return None


def _order(
    parts: Parts, decision: Decision, proposal: PrepareHedge, merge: Merge, policy: Policy
) -> RunOrder:
    snapshot = decision.snapshot
    candidate = snapshot.candidate(proposal.pr)
    return RunOrder(
        run=parts.tokens.new(),
        pr=proposal.pr,
        head=candidate.head if candidate else merge.merged,
        base=merge.base,
        merged=merge.merged,
        spec=policy.gate,
        ordered_at=snapshot.now,
        generation=snapshot.state.generation,
        order=policy.order,
    )
