"""Admitting what the labels on the forge ask for, where no webhook told of it.

The label is the durable record of an open candidate; the order is that of the label events.
"""

from collections.abc import Mapping, Sequence

from mergebot.domain.admission import NO_HEAD, Labelled, Retried
from mergebot.domain.candidate import Kind
from mergebot.domain.effects import RemoveLabel
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Asked, Snapshot, asked_for
from mergebot.domain.limits import LABEL_SLACK_S, WEBHOOK_WAIT_S
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.pulls import PullRequest, same_label
from mergebot.domain.watching import label_of
from mergebot.ports.forge import LabelEvent
from mergebot.ports.store import SeenHead
from mergebot.services.admitting import Wish, bring_in, queue_policy
from mergebot.services.deciding import decide
from mergebot.services.own_labels import set_by_bot, told_head
from mergebot.services.parts import Parts


def admit_labelled(parts: Parts, lane: Lane, pulls: Sequence[PullRequest]) -> None:
    """Admit every labelled PR of `pulls` that has no open candidate, and note the heads seen.

    Raises Unavailable and Refused when the forge cannot be asked.
    """
    seen = parts.store.seen_heads(lane)
    snapshot = parts.store.read(lane)
    queue = queue_policy(snapshot)
    asking = [pull for pull in pulls if _asks(snapshot, pull, queue)]
    for pull, event in _by_label_time(parts, lane, asking, queue):
        asked = asked_for(snapshot.state.asked, pull.number)
        served = _served(parts, lane, pull, event)
        if asked is not None and (served or set_by_bot(parts, event)):
            bring_in(parts, lane, _asked_wish(pull, asked, _kind(pull, queue)))
            continue
        if served:
            _unlabel(parts, lane, pull.number, event.label)
            continue
        if set_by_bot(parts, event):
            # For whom is not on record any more: Redis lost its last writes, or all of them.
            head = told_head(parts, lane, pull)
        else:
            head = authorised_head(parts, lane, pull, event, seen=seen)
        if head == NO_HEAD and parts.clock.now() - event.at < WEBHOOK_WAIT_S:
            # Its webhook, which knows the head, may be on its way: the next round looks again.
            continue
        bring_in(parts, lane, Wish(pull, head, _kind(pull, queue), event.actor, Labelled()))
    now = parts.clock.now()
    parts.store.see_heads(lane, {pull.number: SeenHead(pull.head, now) for pull in pulls})


def authorised_head(
    parts: Parts,
    lane: Lane,
    pull: PullRequest,
    event: LabelEvent,
    *,
    seen: Mapping[int, SeenHead],
) -> Sha:
    """Return the head that the label was set on, as far as anybody can tell, else NO_HEAD.

    The forge's own record of the last push counts, since both times are then by one clock; where
    it has none, what the reconciler saw before the label. Any other head ends as head_changed, and
    so does one pushed in the very second of the label, because forges count in whole seconds.
    """
    before = seen.get(pull.number)
    pushed = parts.forge.head_pushed_at(lane.repo, pull)
    if pushed is not None and pushed < event.at:
        return pull.head
    if before is not None and (before.at <= event.at or before.head != pull.head):
        return before.head
    return NO_HEAD


def _asks(snapshot: Snapshot, pull: PullRequest, queue: QueuePolicy) -> bool:
    labelled = pull.has(queue.label) or pull.has(queue.fix_label)
    return labelled and snapshot.candidate(pull.number) is None


def _by_label_time(
    parts: Parts, lane: Lane, pulls: Sequence[PullRequest], queue: QueuePolicy
) -> list[tuple[PullRequest, LabelEvent]]:
    """Return the PRs with the event that asks for each, in the order the labels were set."""
    asked = []
    for pull in pulls:
        wanted = label_of(_kind(pull, queue), queue)
        events = parts.forge.label_events(lane.repo, pull.number)
        setting = [each for each in events if same_label(each.label, wanted)]
        if setting:
            asked.append((pull, setting[-1]))
    return sorted(asked, key=lambda pair: (pair[1].at, pair[1].id))


def _served(parts: Parts, lane: Lane, pull: PullRequest, event: LabelEvent) -> bool:
    """Tell whether this very label event made a candidate already, which has ended since."""
    latest = parts.store.latest(lane, pull.number)
    return latest is not None and event.at <= latest.enqueued_at + LABEL_SLACK_S


def _asked_wish(pull: PullRequest, asked: Asked, kind: Kind) -> Wish:
    """Return what somebody asked for, whoever set the label for it did not live to admit it."""
    way = Retried(asked.why) if asked.why else Labelled()
    return Wish(pull, asked.head, kind, asked.by, way)


def _unlabel(parts: Parts, lane: Lane, number: int, label: str) -> None:
    decide(parts, lane, lambda decision: decision.want(RemoveLabel(number, label)))


def _kind(pull: PullRequest, queue: QueuePolicy) -> Kind:
    return Kind.REPAIR if pull.has(queue.fix_label) else Kind.NORMAL
