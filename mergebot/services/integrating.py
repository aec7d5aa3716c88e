"""Landing: the last check, the intent, one atomic push, and reading back what happened.

    re-read everything -> guard -> commit the intent with its receipt -> push -> read back -> landed

Only a lane's holder may land. Correctness does not rest on that lease: the intent is committed at
the revision that was checked, and the remote's compare-and-swap refuses any other base.
"""

from dataclasses import dataclass

from mergebot.domain.candidate import (
    Cancelled,
    Candidate,
    Ejected,
    Landed,
    Landing,
    PlainEvidence,
    Queued,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.health import tip_landed, tip_moved
from mergebot.domain.ids import Sha, short
from mergebot.domain.landing import Facts, Go, Turn, Wait, guard
from mergebot.domain.lane import Halt, Snapshot
from mergebot.domain.limits import DISAGREE_WAIT_S, FORGE_WAIT_S, SETTLE_WAIT_S
from mergebot.domain.planning import CONFIG_PATHS
from mergebot.domain.policy import Method
from mergebot.domain.reasons import Reason
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.domain.wording import iso
from mergebot.ports.errors import Barred, Refused, Unavailable
from mergebot.ports.git import Git, Push, PushOutcome, Replayed
from mergebot.ports.leases import HeldLease
from mergebot.services.admitting import permission_of
from mergebot.services.chain import request_for
from mergebot.services.deciding import commit
from mergebot.services.parts import Parts
from mergebot.services.preparing import scope_of
from mergebot.services.trunk import observe, with_rules


@dataclass(frozen=True, slots=True)
class Hands:
    """What a landing needs in hand: the ports, the git mirror, and the lane's lease."""

    parts: Parts
    git: Git
    lease: HeldLease


def land(hands: Hands, decision: Decision, pr: int) -> Decision:
    """Land one verified candidate, or turn it to what it has become meanwhile.

    Commits on the way; raises Stale, with nothing pushed, when the lane changed since it was read,
    and Unavailable when the forge or the remote cannot be asked or do not agree.
    """
    candidate = decision.snapshot.candidate(pr)
    if candidate is None:
        return decision
    checked = _check(hands, decision.snapshot, candidate)
    match checked:
        case Wait(why):
            return _look_again(hands, decision, why)
        case Turn(state, why):
            return decision.move(candidate, state, why)
        case Go(verified):
            intended = _intend(hands, decision, candidate, verified)
            snapshot = commit(hands.parts, intended)
            return _push(hands, Decision(snapshot), pr)


def settle_landing(hands: Hands, decision: Decision) -> Decision:
    """End landings whose outcome is unclear, by reading the remote: landed, or not."""
    for candidate in decision.snapshot.candidates:
        if isinstance(candidate.state, Landing):
            decision = _read_back(hands, decision, candidate, candidate.state)
    return decision


def _look_again(hands: Hands, decision: Decision, why: str) -> Decision:
    """Go on from the trunk as it is now; where that explains nothing, wait."""
    tip = hands.git.fetch(decision.snapshot.lane.trunk, []).trunk
    if tip is not None and tip != decision.snapshot.tip:
        return observe(hands.parts, hands.git, decision, tip)
    raise Unavailable(why, DISAGREE_WAIT_S)


def _check(hands: Hands, snapshot: Snapshot, candidate: Candidate) -> Go | Wait | Turn:
    forge, lane = hands.parts.forge, snapshot.lane
    policy = snapshot.policy
    if policy is None:
        return Wait("the rules on the trunk cannot be used")
    heads = hands.git.remote_heads(lane.trunk, candidate.pr)
    needs_approvals = policy.queue.require_approvals > 0
    facts = Facts(
        pull=forge.pull(lane.repo, candidate.pr),
        trunk=heads.trunk,
        head=heads.head,
        permission=permission_of(hands.parts, lane, candidate.enqueued_by),
        approvals=forge.approvals(lane.repo, candidate.pr) if needs_approvals else 0,
    )
    checked = guard(snapshot, candidate, facts)
    if not isinstance(checked, Go):
        return checked
    return _derive_again(hands, snapshot, candidate, checked)


def _derive_again(
    hands: Hands, snapshot: Snapshot, candidate: Candidate, go: Go
) -> Go | Wait | Turn:
    """Replay and check the scope once more: the record alone can land nothing."""
    policy = snapshot.policy
    if policy is None:
        return Wait("the rules on the trunk cannot be used")
    merge = go.verified.merge
    replay = hands.git.replay(request_for(candidate, policy, merge.base))
    if not isinstance(replay, Replayed) or replay.merge.merged != merge.merged:
        return Turn(Queued(), "its merged commit could not be made again: it is gated anew")
    if scope_of(hands.git, candidate, policy, replay) is not None:
        return Turn(Queued(), "its scope is not what was checked: it is gated anew")
    return go


def _intend(hands: Hands, decision: Decision, candidate: Candidate, verified: Verified) -> Decision:
    snapshot = decision.snapshot
    state = snapshot.state
    # One lease may land several; the record may have seen higher ones than a lease after a loss.
    generation = max(hands.lease.generation, state.generation + 1)
    record = LandingRecord(iso(snapshot.now), generation, state.last_receipt, epoch=state.epoch)
    receipt = write_receipt(
        snapshot.lane,
        candidate,
        merge=verified.merge,
        verdict=verified.verdict,
        record=record,
    )
    landing = Landing(verified.merge, verified.verdict, receipt.text, snapshot.now)
    moved = candidate.moved(landing)
    text = f"landing {short(verified.merge.merged)} on {short(verified.merge.base)}"
    return (
        decision.put(moved)
        .tell("landing", text, pr=candidate.pr)
        .lane(waiting="", generation=generation)
    )


def _push(hands: Hands, decision: Decision, pr: int) -> Decision:
    candidate = decision.snapshot.candidate(pr)
    if candidate is None or not isinstance(candidate.state, Landing):
        return decision
    state = candidate.state
    try:
        outcome = _send(hands, decision, candidate, state)
    except Barred as error:
        raise Unavailable(f"this account may not push: {error}", FORGE_WAIT_S) from error
    except Refused as error:
        evidence = PlainEvidence(f"the forge refused the push: {error}")
        ejected = Ejected(Reason.BRANCH_RULES, evidence, decision.snapshot.now)
        return decision.move(candidate, ejected, evidence.text)
    match outcome:
        case PushOutcome.LANDED | PushOutcome.UNCLEAR:
            return _read_back(hands, decision, candidate, state)
        case PushOutcome.TRUNK_MOVED:
            return _did_not_land(hands, decision, candidate)
        case PushOutcome.HEAD_REFUSED:
            text = "the branch moved or went away at the last moment"
            cancelled = Cancelled(Reason.HEAD_CHANGED, text, decision.snapshot.now)
            return decision.move(candidate, cancelled, text)


def _send(hands: Hands, decision: Decision, candidate: Candidate, state: Landing) -> PushOutcome:
    """Push; without the author's branch where that is protected but still at the head."""
    snapshot = decision.snapshot
    branch = _branch_to_move(snapshot, candidate)
    outcome = hands.git.push_landing(_push_of(snapshot, candidate, state, branch))
    if outcome is not PushOutcome.HEAD_REFUSED:
        return outcome
    pull = hands.parts.forge.pull(snapshot.lane.repo, candidate.pr)
    if pull.head != candidate.head or pull.closed:
        return outcome
    return hands.git.push_landing(_push_of(snapshot, candidate, state, ""))


def _branch_to_move(snapshot: Snapshot, candidate: Candidate) -> str:
    """Return the author's branch where the forge needs it moved to show the PR as merged."""
    policy = snapshot.policy
    merge = candidate.state.merge if isinstance(candidate.state, Landing) else None
    if merge is None or policy is None or policy.queue.method is Method.MERGE:
        return ""
    if not candidate.proposal.same_repository or merge.merged == candidate.head:
        return ""
    return candidate.proposal.head_branch


def _push_of(snapshot: Snapshot, candidate: Candidate, state: Landing, branch: str) -> Push:
    return Push(
        trunk=snapshot.lane.trunk,
        base=state.merge.base,
        merged=state.merge.merged,
        receipt=Receipt(state.receipt),
        head_branch=branch,
        head=candidate.head,
    )


def _read_back(hands: Hands, decision: Decision, candidate: Candidate, state: Landing) -> Decision:
    """Conclude from the remote alone whether the landing happened."""
    lane = decision.snapshot.lane
    merged = state.merge.merged
    tip = hands.git.remote_heads(lane.trunk, candidate.pr).trunk
    if tip == merged:
        return _landed(hands, decision, candidate, state)
    if tip is not None and tip != state.merge.base:
        fetched = hands.git.fetch(lane.trunk, []).trunk
        if fetched is not None and hands.git.is_ancestor(merged, fetched):
            decision = _landed(hands, decision, candidate, state)
            decision = tip_moved(decision, fetched, "somebody pushed right after a landing")
            return with_rules(hands.parts, hands.git, decision, fetched)
        return _did_not_land(hands, decision, candidate)
    if tip == state.merge.base:
        return _did_not_land(hands, decision, candidate)
    if hands.parts.clock.now() - state.since > SETTLE_WAIT_S:
        text = f"nobody can say whether {short(merged)} landed: the trunk cannot be read"
        halt = Halt(text, decision.snapshot.now, "mergebot", "somebody resumes after looking at it")
        return decision.lane(halt=halt).tell("halted", text)
    return decision.lane(waiting="the outcome of a landing is being read back")


def _did_not_land(hands: Hands, decision: Decision, candidate: Candidate) -> Decision:
    """Go on from the trunk as it is: gated anew where it moved, else pushed again a little later."""
    lane = decision.snapshot.lane
    state = candidate.state
    tip = hands.git.fetch(lane.trunk, []).trunk
    if isinstance(state, Landing) and tip == state.merge.base:
        verified = Verified(state.merge, state.verdict)
        back = decision.move(candidate, verified, "the push did not go through")
        commit(hands.parts, back)
        raise Unavailable("a landing push did not go through", DISAGREE_WAIT_S)
    back = decision.move(candidate, Queued(), "the trunk moved before the push: gated anew")
    if tip is None or tip == back.snapshot.tip:
        return back
    moved = tip_moved(back, tip, "somebody pushed to the trunk")
    return with_rules(hands.parts, hands.git, moved, tip)


def _landed(hands: Hands, decision: Decision, candidate: Candidate, state: Landing) -> Decision:
    receipt = Receipt(state.receipt)
    merged: Sha = state.merge.merged
    landed = Landed(state.merge, receipt.digest, decision.snapshot.now)
    decision = decision.move(candidate, landed, f"landed as {short(merged)}")
    decision = tip_landed(decision, merged).receipt(receipt)
    if any(path in CONFIG_PATHS for path in state.merge.paths):
        decision = with_rules(hands.parts, hands.git, decision, merged)
    return decision
