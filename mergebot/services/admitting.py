"""Bringing pull requests into the queue, and keeping open candidates true to their PRs."""

from dataclasses import dataclass, replace

from mergebot.domain.admission import NO_HEAD, Labelled, Request, Retried, admit, repeats
from mergebot.domain.candidate import Candidate, Claim, Kind, Landing, NoClaim, Parked, Queued
from mergebot.domain.decision import Decision
from mergebot.domain.effects import AddLabel, DropCandidate, RemoveLabel
from mergebot.domain.external import red_check
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Snapshot
from mergebot.domain.limits import READ_GOOD_S
from mergebot.domain.policy import Hedging, QueuePolicy
from mergebot.domain.pulls import Permission, PullRequest, same_label
from mergebot.domain.reasons import Reason
from mergebot.domain.watching import label_of, unheld, waits_for_people, watch
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.branch_rules import cannot_land
from mergebot.services.deciding import decide
from mergebot.services.escalating import waits_for_person
from mergebot.services.own_labels import forget_asked, labelled_again, taken_off_by_mistake
from mergebot.services.parts import Parts
from mergebot.services.pinning import pin
from mergebot.services.stacking import FREE, standing_of


@dataclass(frozen=True, slots=True)
class Wish:
    """Who wants `pull` landed at `head`, in which lane, and by which way.

    `read_at` is when `pull` was asked for, 0.0 for a moment ago.
    """

    pull: PullRequest
    head: Sha
    kind: Kind
    actor: Actor
    way: Labelled | Retried
    read_at: float = 0.0


def bring_in(parts: Parts, lane: Lane, wish: Wish) -> Candidate:
    """Admit a PR, once per open head, and return its candidate.

    One that would only end as the newest did at this head makes no new one: that one is returned.
    Raises Unavailable or Refused when the forge cannot be asked.
    """
    began = wish.read_at or parts.clock.now()
    request = _request(parts, lane, wish)

    def rule(decision: Decision) -> Decision:
        _check_fresh(decision, began)
        if decision.snapshot.state.rules.at is None:
            raise Unavailable(f"nothing is known of {lane.repo} yet: its record is being rebuilt")
        current = decision.snapshot.candidate(wish.pull.number)
        decision = forget_asked(decision, wish.pull.number)
        if current is not None:
            return _promote(decision, current, request)
        # Read after the snapshot: an attempt that ended since then makes the commit stale.
        latest = parts.store.latest(lane, wish.pull.number)
        candidate = admit(decision.snapshot, request, latest)
        text = f"{request.actor.login} asked to land {request.head[:7]}"
        if repeats(candidate, latest):
            label = label_of(candidate.kind, queue_policy(decision.snapshot))
            told = _told_once(parts, decision, candidate.pr, f"{text}, which was answered before")
            return told.want(RemoveLabel(candidate.pr, label))
        admitted = decision.put(candidate).lane(next_seq=candidate.seq + 1)
        admitted = admitted.tell("asked", text, pr=candidate.pr)
        return admitted.move(candidate, candidate.state, _words(candidate))

    snapshot = decide(parts, lane, rule)
    current = snapshot.candidate(wish.pull.number) or parts.store.latest(lane, wish.pull.number)
    if current is None:
        raise Unavailable(f"#{wish.pull.number} was admitted, and the record was lost right then")
    return current


def _told_once(parts: Parts, decision: Decision, pr: int, text: str) -> Decision:
    """Add to a PR's story what is not its end already: whoever asks in a loop fills no record."""
    last = parts.store.story(decision.snapshot.lane, pr, limit=1)
    return decision if last and last[-1].text == text else decision.tell("asked", text, pr=pr)


def follow(parts: Parts, lane: Lane, pull: PullRequest) -> Snapshot:
    """Apply the PR's present shape to its open candidate."""
    began = parts.clock.now()
    approvals = _approvals(parts, lane, pull)
    known = parts.store.read(lane)
    open_one = known.candidate(pull.number)
    standing = standing_of(parts, lane, pull) if _is_waiting(open_one) else FREE
    label = label_of(open_one.kind, queue_policy(known)) if open_one else ""
    again = open_one is not None and taken_off_by_mistake(parts, lane, open_one, pull, label=label)
    shown = labelled_again(pull, label) if again else pull

    def rule(decision: Decision) -> Decision:
        _check_fresh(decision, began)
        snapshot = decision.snapshot
        candidate = snapshot.candidate(pull.number)
        queue = queue_policy(snapshot)
        # Only reading the trunk back ends a landing: what the forge shows may be its own work.
        if candidate is None or isinstance(candidate.state, Landing):
            return decision
        state = watch(candidate, shown, trunk=lane.trunk, queue=queue, now=snapshot.now)
        if state is not None:
            text = getattr(state, "text", type(state).__name__)
            decision = decision.move(candidate, state, text)
            return decision.want(DropCandidate(pull.number)) if pull.closed else decision
        if again:
            decision = decision.want(AddLabel(pull.number, label))
        if unheld(candidate, pull, queue):
            return decision.move(candidate, Queued(), "the hold label is gone")
        if _now_ready(candidate, approvals, queue) and not standing.blocked:
            proposal = replace(candidate.proposal, since=standing.since)
            ready = replace(candidate, proposal=proposal)
            return decision.move(ready, Queued(), "nothing that it waited for is missing now")
        if pull.merged and waits_for_people(candidate):
            return decision.move(
                candidate, Queued(), "it is merged: what is left of it is looked at"
            )
        return decision

    return decide(parts, lane, rule)


def _check_fresh(decision: Decision, began: float) -> None:
    """Raise Unavailable where what was read of the forge is old news: its reader was paused."""
    if decision.snapshot.now - began > READ_GOOD_S:
        raise Unavailable("what was read of the pull request is too old to act on")


def kind_of(label: str, queue: QueuePolicy) -> Kind | None:
    """Return what setting `label` asks for, or None when it is none of ours."""
    if same_label(label, queue.fix_label):
        return Kind.REPAIR
    return Kind.NORMAL if same_label(label, queue.label) else None


def queue_policy(snapshot: Snapshot) -> QueuePolicy:
    """Return the labels in force: those of the rules, or the defaults while there are none."""
    policy = snapshot.policy
    return policy.queue if policy else QueuePolicy()


def permission_of(parts: Parts, lane: Lane, actor: Actor) -> Permission:
    """Return what `actor` may do.

    The bot sets labels only for people who may queue. Where the record that names them is lost, it
    stands for the least of them, whatever else its account may do.
    """
    own = actor.id == parts.forge.me().id
    return Permission.WRITE if own else parts.forge.permission(lane.repo, actor)


def want_label(parts: Parts, lane: Lane, pull: PullRequest, kind: Kind) -> None:
    """Set the label first: it is the durable record of an open candidate.

    One that an ended attempt left behind is set anew: it was set for an older head.
    """
    snapshot = parts.store.read(lane)
    label = label_of(kind, queue_policy(snapshot))
    there = pull.has(label)
    if there and (snapshot.state.recovering or snapshot.candidate(pull.number) is not None):
        return
    if there:
        parts.forge.remove_label(lane.repo, pull.number, label)
    parts.forge.add_label(lane.repo, pull.number, label)


def _promote(decision: Decision, current: Candidate, request: Request) -> Decision:
    """Let the repair label lift a candidate that is queued already into the repair lane."""
    lifted = request.kind is Kind.REPAIR and current.kind is Kind.NORMAL
    if not lifted or request.permission < Permission.MAINTAIN:
        return decision
    repair = replace(current, kind=Kind.REPAIR, authority=request.permission)
    return decision.put(repair).tell("repair", "moved to the repair lane", pr=current.pr)


def _request(parts: Parts, lane: Lane, wish: Wish) -> Request:
    permission = permission_of(parts, lane, wish.actor)
    listed = wish.actor.id in queue_policy(parts.store.read(lane)).actors
    standing = standing_of(parts, lane, wish.pull)
    # What nobody may queue reserves nothing either.
    allowed = permission >= Permission.WRITE or listed
    claim = pin(parts, lane, wish.pull) if allowed else NoClaim()
    known = claim if isinstance(claim, Claim) else NoClaim()
    return Request(
        pull=wish.pull,
        head=wish.head,
        kind=wish.kind,
        actor=wish.actor,
        permission=permission,
        approvals=_approvals(parts, lane, wish.pull),
        claim=claim,
        asked=waits_for_person(parts, lane, known),
        unlandable=_unlandable(parts, lane, wish.pull),
        way=wish.way,
        blocked=standing.blocked,
        stacked_on=standing.stacked_on,
        red_check=_red_check(parts, lane, wish.head),
    )


def _red_check(parts: Parts, lane: Lane, head: Sha) -> str:
    """Return a check that is red on the head, where hedges want to know; nobody waits for that."""
    if head == NO_HEAD or queue_policy(parts.store.read(lane)).hedge is Hedging.OFF:
        return ""
    try:
        return red_check(parts.forge.checks(lane.repo, head))
    except (Refused, Unavailable):
        return ""


def _unlandable(parts: Parts, lane: Lane, pull: PullRequest) -> str:
    return cannot_land(parts, lane, parts.store.read(lane).policy, pr=pull.number)


def _approvals(parts: Parts, lane: Lane, pull: PullRequest) -> int:
    queue = queue_policy(parts.store.read(lane))
    if queue.require_approvals == 0 or pull.closed:
        return 0
    return parts.forge.approvals(lane.repo, pull.number)


def waiting_for_others(snapshot: Snapshot) -> tuple[int, ...]:
    """Return the PRs that may go on once another one has landed."""
    return tuple(each.pr for each in snapshot.candidates if _is_waiting(each))


def _is_waiting(candidate: Candidate | None) -> bool:
    state = candidate.state if candidate else None
    return isinstance(state, Parked) and state.reason is Reason.NOT_READY


def _now_ready(candidate: Candidate, approvals: int, queue: QueuePolicy) -> bool:
    waits = isinstance(candidate.state, Parked) and candidate.state.reason is Reason.NOT_READY
    return waits and approvals >= queue.require_approvals


def _words(candidate: Candidate) -> str:
    match candidate.state:
        case Queued():
            return f"queued, attempt {candidate.attempt}"
        case Parked(text=text):
            return text
        case state:
            return f"not queued: {getattr(state, 'reason', '')}"
