"""Landing: the last check, the intent, one atomic push, and reading back what happened.

    re-read everything -> guard -> commit the intent with its receipt -> push -> read back -> landed

Only a lane's holder may land. Correctness does not rest on that lease: the intent is committed at
the revision that was checked, and the remote's compare-and-swap refuses any other base.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mergebot.domain.candidate import (
    Cancelled,
    Candidate,
    Ejected,
    Landed,
    Landing,
    PlainEvidence,
    Queued,
    ScopeEvidence,
    Together,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.effects import ClosePull
from mergebot.domain.groups import changes_rules, lands_with
from mergebot.domain.health import tip_landed
from mergebot.domain.ids import Sha, short
from mergebot.domain.judging import spend
from mergebot.domain.landing import Facts, Go, Turn, Wait, guard, remade
from mergebot.domain.lane import Snapshot
from mergebot.domain.limits import DISAGREE_WAIT_S, FORGE_WAIT_S
from mergebot.domain.names import shown
from mergebot.domain.pulls import PullRequest
from mergebot.domain.reasons import Reason
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.domain.watching import label_of
from mergebot.domain.wording import iso
from mergebot.ports.errors import Barred, Refused, Unavailable
from mergebot.ports.git import Carried, Git, Push, PushOutcome, RemoteHeads, Replayed
from mergebot.ports.leases import HeldLease
from mergebot.ports.store import Stale
from mergebot.services.admitting import permission_of
from mergebot.services.authorising import authorised, bounded, claimed_now
from mergebot.services.branch_rules import forget_branch_rules
from mergebot.services.chain import request_for
from mergebot.services.contracting import contract_turn, looked_at_again
from mergebot.services.deciding import commit
from mergebot.services.forks import move_forks, take_back, unseen
from mergebot.services.halting import meet_halt
from mergebot.services.loads import Load, branch_to_move, head_stays, landed_once, load_of
from mergebot.services.own_check import show_own_check
from mergebot.services.own_labels import taken_off_by_mistake
from mergebot.services.parts import Parts
from mergebot.services.pinning import claim_turn
from mergebot.services.preparing import bring_in, scope_of
from mergebot.services.stacking import dependency_turn
from mergebot.services.trunk import KNOWN_LANDINGS, observe, read_rules, with_rules
from mergebot.services.vouching import signed, vouched

Heads = Mapping[int, RemoteHeads]
"""What the remote's refs said, by PR."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What a landing needs in hand: the ports, the git mirror, and the lane's lease."""

    parts: Parts
    git: Git
    lease: HeldLease


def land(hands: Hands, decision: Decision, pr: int) -> Decision:
    """Land a verified candidate and its group, or turn one of them to what it has become meanwhile.

    Commits on the way; raises Stale, with nothing pushed, when the lane changed since it was read,
    and Unavailable when the forge or the remote cannot be asked or do not agree.
    """
    candidate = decision.snapshot.candidate(pr)
    if candidate is None:
        return decision
    if isinstance(candidate.state, Verified) and not lands_with(decision.snapshot, candidate):
        return decision.move(candidate, Queued(), "its group is not whole: it is gated anew")
    members = lands_with(decision.snapshot, candidate) or (candidate,)
    trunk = decision.snapshot.lane.trunk
    heads = hands.git.heads_soon(trunk, [each.pr for each in members])
    if not _under_rules_of_tip(hands, decision.snapshot):
        text = "the rules on record are not those of the trunk: they are read again"
        tip = decision.snapshot.tip
        fresh = with_rules(hands.parts, hands.git, decision, tip) if tip else decision
        return fresh.tell("rules", text)
    for each in members:
        checked = _check(hands, decision.snapshot, each, heads)
        match checked:
            case Wait(why):
                return _look_again(hands, decision, why)
            case Turn(state, why):
                return decision.move(each, state, why)
            case Go():
                pass
    show_own_check(hands.parts, hands.git, decision.snapshot.lane, members[-1])
    snapshot = commit(hands.parts, _intend(hands, decision, members))
    return _push(hands, Decision(snapshot), pr)


def _under_rules_of_tip(hands: Hands, snapshot: Snapshot) -> bool:
    """Tell whether the rules of the record are those that the trunk carries."""
    tip = snapshot.tip
    if tip is None or not hands.git.has(tip):
        return False
    return read_rules(hands.git, hands.parts.rules, tip).policy == snapshot.state.rules.policy


def settle_landing(hands: Hands, decision: Decision) -> Decision:
    """End landings whose outcome is unclear, by reading the remote: landed, or not."""
    for candidate in decision.snapshot.candidates:
        fresh = decision.snapshot.candidate(candidate.pr)
        load = load_of(decision.snapshot, fresh) if fresh else None
        if load is not None:
            decision = _settle(hands, decision, load)
    return decision


def _look_again(hands: Hands, decision: Decision, why: str) -> Decision:
    """Go on from the trunk as it is now; where that explains nothing, wait."""
    tip = hands.git.fetch(decision.snapshot.lane.trunk, []).trunk
    if tip is not None and tip != decision.snapshot.tip:
        return observe(hands.parts, hands.git, decision, tip)
    raise Unavailable(why, DISAGREE_WAIT_S)


def _check(
    hands: Hands, snapshot: Snapshot, candidate: Candidate, asked: Callable[[], Heads]
) -> Go | Wait | Turn:
    forge, lane = hands.parts.forge, snapshot.lane
    policy = snapshot.policy
    if policy is None:
        return Wait("the rules on the trunk cannot be used")
    needs_approvals = policy.queue.require_approvals > 0
    pull = forge.pull(lane.repo, candidate.pr)
    permission = permission_of(hands.parts, lane, candidate.enqueued_by)
    approvals = forge.approvals(lane.repo, candidate.pr) if needs_approvals else 0
    # The API and git are asked at the same time, and git's answer is the slower one.
    heads = asked()[candidate.pr]
    facts = Facts(
        pull=pull,
        trunk=heads.trunk,
        head=heads.head,
        permission=permission,
        approvals=approvals,
    )
    checked = guard(snapshot, candidate, facts)
    label = label_of(candidate.kind, policy.queue)
    if taken_off_by_mistake(hands.parts, lane, candidate, pull, label=label):
        return Wait(f"the label {label} is set again: it was taken off for an earlier attempt")
    if not isinstance(checked, Go):
        return checked
    if not vouched(hands.parts.notary, lane, checked.verified.verdict):
        return Turn(Queued(), "no worker of this installation sealed its verdict: gated anew")
    turn = authorised(hands.parts, snapshot, candidate, facts.pull, policy)
    turn = turn or dependency_turn(hands.parts, lane, facts.pull)
    turn = turn or claim_turn(hands.parts, snapshot, candidate, facts.pull)
    return turn or _derive_again(hands, snapshot, bounded(candidate, facts.permission), facts.pull)


def _derive_again(
    hands: Hands, snapshot: Snapshot, candidate: Candidate, pull: PullRequest
) -> Go | Wait | Turn:
    """Replay and check the scope once more: the record alone can land nothing."""
    state, policy = candidate.state, snapshot.policy
    if policy is None or not isinstance(state, Verified):
        return Wait("the rules on the trunk cannot be used")
    merge = state.merge
    if not bring_in(hands.git, Decision(snapshot), candidate):
        return Wait("the forge's git does not show the head")
    replay = hands.git.replay(request_for(candidate, policy, merge.base))
    if not isinstance(replay, Replayed) or not remade(state, replay.merge):
        return Turn(Queued(), "its merged commit could not be made again: it is gated anew")
    for each in (candidate, claimed_now(hands.parts, snapshot.lane, candidate, pull)):
        outside = scope_of(hands.git, each, policy, replay)
        if outside is not None:
            evidence = ScopeEvidence(merge, outside.strayed, outside.details)
            text = f"it may not touch what it touches: {outside.reason.words}"
            return Turn(Ejected(outside.reason, evidence, snapshot.now), text)
    turn = contract_turn(hands.parts, hands.git, snapshot, candidate, merge)
    return turn or Go(state)


def _intend(hands: Hands, decision: Decision, members: Sequence[Candidate]) -> Decision:
    """Write what is about to be pushed into the record, each with its receipt."""
    snapshot = decision.snapshot
    state = snapshot.state
    # One lease may land several; the record may have seen higher ones than a lease after a loss.
    generation = max(hands.lease.generation, state.generation + 1)
    previous = state.last_receipt
    for candidate in members:
        verified = candidate.state
        if not isinstance(verified, Verified):
            continue
        record = LandingRecord(iso(snapshot.now), generation, previous, epoch=state.epoch)
        merge, verdict = verified.merge, verified.verdict
        written = write_receipt(
            snapshot.lane, candidate, merge=merge, verdict=verdict, record=record
        )
        receipt = signed(hands.parts.notary, written)
        previous = receipt.digest
        landing = Landing(merge, verdict, receipt.text, snapshot.now)
        text = f"landing {short(merge.merged)} on {short(merge.base)}"
        decision = decision.put(candidate.moved(landing)).tell("landing", text, pr=candidate.pr)
    return decision.lane(waiting="", generation=generation)


def _push(hands: Hands, decision: Decision, pr: int) -> Decision:
    candidate = decision.snapshot.candidate(pr)
    load = load_of(decision.snapshot, candidate) if candidate else None
    if load is None:
        return decision
    try:
        outcome, sent = _send(hands, decision, load)
    except Barred as error:
        raise Unavailable(f"this account may not push: {error}", FORGE_WAIT_S) from error
    except Refused as error:
        take_back(hands.parts, hands.git, decision.snapshot, load.landings)
        forget_branch_rules(hands.parts, decision.snapshot.lane)
        return _barred(decision, load, f"the forge refused the push: {error}")
    match outcome:
        case PushOutcome.LANDED:
            return _landed(hands, decision, sent)
        case PushOutcome.UNCLEAR:
            return _settle(hands, decision, sent)
        case PushOutcome.TRUNK_MOVED:
            return _did_not_land(hands, decision, load)
        case PushOutcome.FENCED:
            raise Stale("somebody else settled this landing meanwhile")
        case PushOutcome.REPEATED:
            return _landed_before(hands, decision, load)
        case PushOutcome.HALTED:
            raise Stale(meet_halt(hands.parts, hands.git, decision.snapshot.lane))
        case PushOutcome.HEAD_REFUSED:
            return _without_the_moved(hands, decision, load)


def _send(hands: Hands, decision: Decision, load: Load) -> tuple[PushOutcome, Load]:
    """Push; without the authors' branches where those are protected but still at their heads.

    Return what came of it, and the load as it was sent.
    """
    snapshot = decision.snapshot
    move_forks(hands.parts, hands.git, snapshot, load.landings)
    outcome = hands.git.push_landing(_push_of(snapshot, load, branch_to_move))
    if outcome is not PushOutcome.HEAD_REFUSED or _moved(hands, snapshot, load):
        return outcome, replace(load, moved=True)
    without = _push_of(snapshot, load, lambda _snapshot, _candidate: "")
    return hands.git.push_landing(without), replace(load, left=True)


def _moved(hands: Hands, snapshot: Snapshot, load: Load) -> tuple[Candidate, ...]:
    """Return those whose pull requests are not what was gated any more."""
    pulls = [
        (each, {each.head, state.merge.merged}, hands.parts.forge.pull(snapshot.lane.repo, each.pr))
        for each, state in load.landings
    ]
    return tuple(each for each, own, pull in pulls if pull.head not in own or pull.closed)


def _without_the_moved(hands: Hands, decision: Decision, load: Load) -> Decision:
    """Cancel those whose branch moved; what is left of their group is gated anew."""
    take_back(hands.parts, hands.git, decision.snapshot, load.landings)
    gone = _moved(hands, decision.snapshot, load) if load.more else load.candidates
    text = "the branch moved or went away at the last moment"
    cancelled = Cancelled(Reason.HEAD_CHANGED, text, decision.snapshot.now)
    left = [each for each in load.candidates if each not in gone]
    decision = decision.move_all([(each, cancelled) for each in gone], text)
    if not left:
        return decision
    text = "its group did not land: gated anew"
    return decision.move_all([(each, Queued()) for each in left], text)


def _barred(decision: Decision, load: Load, text: str) -> Decision:
    """Eject the one that the forge does not take; of a group, each is tried by itself."""
    if load.more:
        moves = [(each, Queued(Together((each.pr,)))) for each in load.candidates]
        return decision.move_all(moves, f"{text}; each of its group is tried by itself")
    ejected = Ejected(Reason.BRANCH_RULES, PlainEvidence(text), decision.snapshot.now)
    return decision.move(load.candidates[0], ejected, text)


def _push_of(snapshot: Snapshot, load: Load, branch: Callable[[Snapshot, Candidate], str]) -> Push:
    carried = [
        Carried(
            state.merge.merged, Receipt(state.receipt), branch(snapshot, candidate), candidate.head
        )
        for candidate, state in load.landings
    ]
    last = carried[-1]
    return Push(
        trunk=snapshot.lane.trunk,
        base=load.base,
        merged=last.merged,
        receipt=last.receipt,
        head_branch=last.head_branch,
        head=last.head,
        below=tuple(carried[:-1]),
    )


def _settle(hands: Hands, decision: Decision, load: Load) -> Decision:
    """Conclude from the remote alone whether the landing happened, and let it happen no later.

    Reading is not enough: a replica answers from the past, and whoever began this landing may have
    been paused before its push.
    """
    found = hands.git.fence(load.merged, load.generation)
    if found is None:
        return _did_not_land(hands, decision, load)
    if found.digest != load.receipt.digest:
        text = "the trunk holds another landing of the same commit: the queue is rebuilt"
        return decision.lane(recovering=True).tell("recovering", text)
    decision = _landed(hands, decision, load)
    tip = hands.git.fetch(decision.snapshot.lane.trunk, []).trunk
    return observe(hands.parts, hands.git, decision, tip) if tip else decision


def _landed_before(hands: Hands, decision: Decision, load: Load) -> Decision:
    """Land no commit twice: its receipt is there, and somebody took it off the trunk since."""
    trunk = decision.snapshot.lane.trunk
    found = landed_once(hands.git, load, trunk)
    there = [each for landings in found.values() for each in landings.values()]
    # What is known here of another trunk's landings says nothing about this record.
    digests = {each.digest for each in there if each.trunk in {trunk, ""}}
    if load.receipt.digest in digests:
        return _settle(hands, decision, load)
    if hands.git.fetch(trunk, []).trunk != load.base:
        return _did_not_land(hands, decision, load)
    take_back(hands.parts, hands.git, decision.snapshot, load.landings)
    known = hands.parts.store.landings(decision.snapshot.lane, limit=KNOWN_LANDINGS)
    if digests - {each.digest for each in known}:
        moves = [(each, Verified(state.merge, state.verdict)) for each, state in load.landings]
        text = "its commit has a receipt that the record does not know: the queue is rebuilt"
        back = decision.move_all(moves, text)
        return back.lane(recovering=True).tell("recovering", text)
    for each, state in load.landings:
        if each.pr in found:
            decision = _sent_back(decision, each, state.merge.merged, found[each.pr])
    left = [(each, Queued()) for each in load.candidates if each.pr not in found]
    return decision.move_all(left, "its group did not land: gated anew")


def _sent_back(
    decision: Decision, candidate: Candidate, merged: Sha, landed: Mapping[Sha, Receipt]
) -> Decision:
    reason = Reason.ALREADY_LANDED
    text = "this very commit landed once, and was taken off the trunk since: push a new one"
    if merged in landed and landed[merged].trunk not in {decision.snapshot.lane.trunk, ""}:
        where = landed[merged].trunk
        text = f"this very commit landed on {shown(where)} and has its receipt: push a new one"
    if merged not in landed:
        commit = next(iter(landed))
        reason = Reason.CONFLICT
        text = f"it stands on {short(commit)}, which landed once and was taken off the trunk since"
    ejected = Ejected(reason, PlainEvidence(text), decision.snapshot.now)
    return decision.move(spend(candidate, reason), ejected, text)


def _did_not_land(hands: Hands, decision: Decision, load: Load) -> Decision:
    """Go on from the trunk as it is: gated anew where it moved, else pushed again a little later."""
    lane = decision.snapshot.lane
    take_back(hands.parts, hands.git, decision.snapshot, load.landings)
    tip = hands.git.fetch(lane.trunk, []).trunk
    if tip == load.base:
        moves = [(each, Verified(state.merge, state.verdict)) for each, state in load.landings]
        commit(hands.parts, decision.move_all(moves, "the push did not go through"))
        raise Unavailable("a landing push did not go through", DISAGREE_WAIT_S)
    waiting = [(each, Queued()) for each in load.candidates]
    back = decision.move_all(waiting, "the trunk moved before the push: gated anew")
    return observe(hands.parts, hands.git, back, tip) if tip else back


def _landed(hands: Hands, decision: Decision, load: Load) -> Decision:
    for candidate, state in load.landings:
        receipt = Receipt(state.receipt)
        stays = head_stays(decision.snapshot, load, candidate)
        landed = Landed(state.merge, receipt.digest, decision.snapshot.now, stays)
        text = f"landed as {short(state.merge.merged)}"
        decision = decision.move(candidate, landed, text).receipt(receipt)
        left = not load.moved and branch_to_move(decision.snapshot, candidate)
        if left or unseen(decision.snapshot, candidate, state.merge):
            decision = decision.want(ClosePull(candidate.pr))
    decision = tip_landed(decision, load.merged)
    if any(changes_rules(state.merge) for _, state in load.landings):
        return with_rules(hands.parts, hands.git, decision, load.merged)
    return looked_at_again(hands.parts, hands.git, decision)
