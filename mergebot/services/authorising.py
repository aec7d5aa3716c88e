"""Who asked for a landing, and for what, as the forge itself has it: the record's word is not enough.

The record says who queued a head and what it may touch; whoever can write to Redis could say so
too. Right before a landing the label, its setter, the last push and the claim are read again.
"""

from dataclasses import replace

from mergebot.domain.candidate import Cancelled, Candidate, Parked
from mergebot.domain.ids import Lane, short
from mergebot.domain.landing import Turn, permitted
from mergebot.domain.lane import Snapshot
from mergebot.domain.limits import FORGE_WAIT_S
from mergebot.domain.policy import Policy
from mergebot.domain.pulls import Permission, PullRequest, same_label
from mergebot.domain.reasons import Reason
from mergebot.domain.watching import label_of
from mergebot.services.admitting import permission_of
from mergebot.services.own_labels import set_by_bot
from mergebot.services.parts import Parts
from mergebot.services.pinning import written_claim


def authorised(
    parts: Parts, snapshot: Snapshot, candidate: Candidate, pull: PullRequest, policy: Policy
) -> Turn | None:
    """Return what becomes of a candidate that the forge does not show as authorised, else None.

    Somebody who may queue set the label, and nobody pushed after that.
    """
    lane, now = snapshot.lane, snapshot.now
    wanted = label_of(candidate.kind, policy.queue)
    events = parts.forge.label_events(lane.repo, candidate.pr)
    setting = [each for each in events if same_label(each.label, wanted)]
    if not setting:
        text = f"the forge does not show yet who set the label {wanted}"
        return Turn(Parked(Reason.FORGE_UNAVAILABLE, text, now + FORGE_WAIT_S), text)
    latest = setting[-1]
    asker = replace(candidate, enqueued_by=latest.actor)
    # The bot set it for whoever queued the candidate, and what they may do was looked at already.
    if not set_by_bot(parts, latest) and not permitted(
        asker, permission_of(parts, lane, latest.actor), policy.queue.actors
    ):
        text = f"{latest.actor.login} set the label {wanted} and may not queue here"
        return Turn(Cancelled(Reason.NOT_PERMITTED, text, now), text)
    pushed = parts.forge.head_pushed_at(lane.repo, pull)
    if pushed is not None and pushed > latest.at:
        text = f"{short(pull.head)} was pushed after the label {wanted} was set"
        return Turn(Cancelled(Reason.HEAD_CHANGED, text, now), text)
    return None


def bounded(candidate: Candidate, permission: Permission) -> Candidate:
    """Return the candidate with no more authority than its asker has now."""
    return replace(candidate, authority=min(candidate.authority, permission))


def claimed_now(parts: Parts, lane: Lane, candidate: Candidate, pull: PullRequest) -> Candidate:
    """Return the candidate with the claim that the PR itself makes now."""
    return replace(candidate, claim=written_claim(parts, lane, pull, candidate.claim))
