"""The last check before the push: everything a landing rests on, read afresh.

`guard` decides from the lane's record, the pull request and the remote's refs, all just read. It
lets a candidate through only when each of them agrees; what it does not know is never a pass.
"""

from dataclasses import dataclass

from mergebot.domain.candidate import (
    Cancelled,
    Candidate,
    Claim,
    Ejected,
    Kind,
    Merge,
    NoClaim,
    Parked,
    PlainEvidence,
    Queued,
    State,
    Verified,
)
from mergebot.domain.ids import Sha, short
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import Ledger
from mergebot.domain.planning import may_land
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.reasons import Reason
from mergebot.domain.watching import watch


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read right before the landing: the PR, the refs, and what the enqueuer may do."""

    pull: PullRequest
    trunk: Sha | None
    head: Sha | None
    permission: Permission
    approvals: int


@dataclass(frozen=True, slots=True)
class Go:
    """Nothing stands in the way."""

    verified: Verified


@dataclass(frozen=True, slots=True)
class Wait:
    """Two sources disagree, or the lane changed: look again soon."""

    why: str


@dataclass(frozen=True, slots=True)
class Turn:
    """The candidate goes to another state instead."""

    state: State
    why: str


Guard = Go | Wait | Turn


def guard(snapshot: Snapshot, candidate: Candidate, facts: Facts) -> Guard:
    """Decide whether `candidate` may land now; of a group, each member is asked."""
    policy = snapshot.policy
    state = candidate.state
    if policy is None or not isinstance(state, Verified) or not may_land(snapshot, candidate):
        return Wait("the lane does not let it land now")
    verdict = state.verdict
    alone = (verdict.base, verdict.merged) == (state.merge.base, state.merge.merged)
    if not alone and candidate.pr not in verdict.group:
        return Turn(Queued(), "its verdict is for another commit")
    if verdict.spec != policy.gate.digest:
        return Turn(Queued(), "the gate changed since it was green")
    forced = watch(
        candidate, facts.pull, trunk=snapshot.lane.trunk, queue=policy.queue, now=snapshot.now
    )
    if forced is not None:
        return Turn(forced, _text(forced))
    if facts.head not in {candidate.head, state.merge.merged}:
        return Wait("the forge and its git disagree about the head")
    if facts.trunk != verdict.base:
        return Wait("the trunk moved")
    if not permitted(candidate, facts.permission, policy.queue.actors):
        text = f"{candidate.enqueued_by.login} may not queue here any more"
        return Turn(Cancelled(Reason.NOT_PERMITTED, text, snapshot.now), text)
    if facts.approvals < policy.queue.require_approvals:
        text = f"{facts.approvals} of {policy.queue.require_approvals} approvals"
        return Turn(Parked(Reason.NOT_READY, text), text)
    return Go(state)


def remade(verified: Verified, merge: Merge) -> bool:
    """Tell whether a fresh replay is what was verified, by its commit and by its tree.

    A verdict may be one for the tree alone, so the tree is never taken from the record.
    """
    verdict = verified.verdict
    same = verdict.merged != merge.merged or verdict.tree == merge.tree
    return same and verified.merge.merged == merge.merged


def permitted(candidate: Candidate, permission: Permission, actors: tuple[int, ...]) -> bool:
    """Tell whether whoever queued the candidate may do so: write, or maintain for a repair."""
    needed = Permission.MAINTAIN if candidate.kind is Kind.REPAIR else Permission.WRITE
    if candidate.kind is Kind.NORMAL and candidate.enqueued_by.id in actors:
        return True
    return permission >= needed


def claim_narrowed(pinned: Claim, written: Claim | NoClaim, *, now: float) -> Turn | None:
    """Decide what a claim that was edited since it was pinned means: a wider one changes nothing."""
    patterns = written.patterns if isinstance(written, Claim) else ()
    gone = [each for each in pinned.patterns if each not in patterns]
    if not gone:
        return None
    text = f"{gone[0]} was taken out of its claim after it was queued: label again to queue it as it is"
    return Turn(Ejected(Reason.CLAIM_MISSING, PlainEvidence(text), now), text)


def claim_lost(candidate: Candidate, pinned: Claim, ledger: Ledger, *, now: float) -> Turn | None:
    """Decide what the ledger means for the pinned claim: it has to be live, its own, and alone."""
    rivals = ledger.rivals(pinned.patterns, but=pinned.id)
    if rivals:
        holder = rivals[0]
        text = f"some of its files are claimed by {holder.owner} for {holder.task} now"
        return Turn(Ejected(Reason.CLAIM_OVERLAP, PlainEvidence(text), now), text)
    held = ledger.claims.get(pinned.id)
    if held is None or held.pr != candidate.pr:
        text = f"its claim {pinned.id} ended after it was queued: label again to claim anew"
        return Turn(Ejected(Reason.CLAIM_MISSING, PlainEvidence(text), now), text)
    return None


def moved_text(base: Sha, trunk: Sha | None) -> str:
    """Say that the trunk is not where a landing needed it."""
    return f"the trunk is at {short(trunk) if trunk else 'nothing'}, not at {short(base)}"


def _text(state: State) -> str:
    match state:
        case Cancelled(text=text) | Parked(text=text):
            return text
        case _:
            return type(state).__name__.lower()
