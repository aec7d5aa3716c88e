"""Making it right without any webhook: the queue against the forge and git, again and again."""

from collections.abc import Sequence

import structlog

from mergebot.domain.admission import Labelled
from mergebot.domain.candidate import Gating, Kind, Parked
from mergebot.domain.effects import RemoveLabel
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Checking, Red, Snapshot, UnknownHealth
from mergebot.domain.limits import LABEL_SLACK_S, RUN_SILENT_S, RUN_UNTAKEN_S
from mergebot.domain.policy import Policy, QueuePolicy
from mergebot.domain.pulls import PullRequest, Repository
from mergebot.domain.watching import label_of
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.forge import LabelEvent
from mergebot.ports.store import SeenHead
from mergebot.services.admitting import Wish, bring_in, follow, queue_policy
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts
from mergebot.services.repositories import forget, git_of, repository_of
from mergebot.services.tick import look
from mergebot.services.trunk import read_rules

log = structlog.get_logger()


def reconcile(parts: Parts, repos: Sequence[str]) -> None:
    """Compare every lane with the forge and git, and repair what differs.

    One repository's odd state never stops another's lane.
    """
    parts.doorbell.intake()
    for repo in repos:
        try:
            forget(parts, repo)
            _lane(parts, open_lane(parts, repo))
        except (Unavailable, Refused) as error:
            log.warning("lane_not_reconciled", lane=repo, why=str(error))


def nudge(parts: Parts) -> None:
    """Ring for whatever is due by time alone, from the store, without asking the forge."""
    if parts.inbox.depth():
        parts.doorbell.intake()
    for lane in parts.store.lanes():
        snapshot = parts.store.read(lane)
        if parts.store.due_effects(lane, snapshot.now, limit=1):
            parts.doorbell.publish(lane)
        for run in _untaken(snapshot):
            parts.doorbell.gate(lane, run)
        if _due(snapshot):
            parts.doorbell.tick(lane)


def open_lane(parts: Parts, repo: str) -> Lane:
    """Return the lane of a repository, made known first where it is new or was renamed."""
    repository = repository_of(parts, repo)
    known = next((each for each in parts.store.lanes() if each.repo_id == repository.id), None)
    if known is not None and known.repo == repository.full_name:
        return known
    trunk = known.trunk if known else _trunk(parts, repository)
    lane = Lane(repository.id, repository.full_name, trunk)
    parts.store.open_lane(lane)
    return lane


def _trunk(parts: Parts, repository: Repository) -> str:
    git = parts.mirrors.of(repository)
    tip = git.fetch(repository.default_branch, []).trunk
    if tip is None:
        raise Refused(f"{repository.full_name} has no branch {repository.default_branch} yet")
    policy = read_rules(git, parts.rules, tip).policy
    return policy.trunk if isinstance(policy, Policy) else repository.default_branch


def _lane(parts: Parts, lane: Lane) -> None:
    git = git_of(parts, lane)
    look(parts, lane, git)
    pulls = {pull.number: pull for pull in parts.forge.open_pulls(lane.repo)}
    seen = parts.store.seen_heads(lane)
    snapshot = parts.store.read(lane)
    for candidate in snapshot.candidates:
        _follow(parts, lane, candidate.pr, pulls.get(candidate.pr))
    queue = queue_policy(snapshot)
    missing = [pull for pull in pulls.values() if _asks(snapshot, pull, queue)]
    for pull, event in _by_label_time(parts, lane, missing, queue):
        if _served(parts, lane, pull, event):
            _unlabel(parts, lane, pull.number, event.label)
            continue
        _admit(parts, lane, pull, event, seen=seen.get(pull.number), queue=queue)
    now = parts.clock.now()
    parts.store.see_heads(
        lane, {number: SeenHead(pull.head, now) for number, pull in pulls.items()}
    )
    parts.doorbell.tick(lane)


def _follow(parts: Parts, lane: Lane, number: int, pull: PullRequest | None) -> None:
    try:
        follow(parts, lane, pull or parts.forge.pull(lane.repo, number))
    except Missing:
        log.info("pull_missing", lane=lane.repo, pr=number)


def _asks(snapshot: Snapshot, pull: PullRequest, queue: QueuePolicy) -> bool:
    labelled = queue.label in pull.labels or queue.fix_label in pull.labels
    return labelled and snapshot.candidate(pull.number) is None


def _by_label_time(
    parts: Parts, lane: Lane, pulls: Sequence[PullRequest], queue: QueuePolicy
) -> list[tuple[PullRequest, LabelEvent]]:
    """Return the PRs with the event that asks for each, in the order the labels were set."""
    asked = []
    for pull in pulls:
        wanted = label_of(_kind(pull, queue), queue)
        events = [
            each
            for each in parts.forge.label_events(lane.repo, pull.number)
            if each.label == wanted
        ]
        if events:
            asked.append((pull, events[-1]))
    return sorted(asked, key=lambda pair: (pair[1].at, pair[1].id))


def _served(parts: Parts, lane: Lane, pull: PullRequest, event: LabelEvent) -> bool:
    """Tell whether this very label event made a candidate already, which has ended since."""
    latest = parts.store.latest(lane, pull.number)
    return latest is not None and event.at <= latest.enqueued_at + LABEL_SLACK_S


def _unlabel(parts: Parts, lane: Lane, number: int, label: str) -> None:
    decide(parts, lane, lambda decision: decision.want(RemoveLabel(number, label)))


def _admit(
    parts: Parts,
    lane: Lane,
    pull: PullRequest,
    event: LabelEvent,
    *,
    seen: SeenHead | None,
    queue: QueuePolicy,
) -> None:
    head = _authorised_head(parts, lane, pull, event, seen)
    kind = _kind(pull, queue)
    bring_in(parts, lane, Wish(pull, head, kind, event.actor, Labelled()))


def _authorised_head(
    parts: Parts, lane: Lane, pull: PullRequest, event: LabelEvent, seen: SeenHead | None
) -> Sha:
    """Return the head that the label was set on, as far as anybody can tell.

    What the reconciler saw before the label counts; else the forge's record of the last push. A
    head that was pushed after the label is answered with an older one, which ends as head_changed.
    """
    if seen is not None and seen.at <= event.at:
        return seen.head
    pushed = parts.forge.head_pushed_at(lane.repo, pull)
    if pushed is not None and pushed > event.at:
        return seen.head if seen is not None and seen.head != pull.head else NO_HEAD
    return pull.head


NO_HEAD = Sha("0" * 40)


def _kind(pull: PullRequest, queue: QueuePolicy) -> Kind:
    return Kind.REPAIR if queue.fix_label in pull.labels else Kind.NORMAL


def _untaken(snapshot: Snapshot) -> list[str]:
    return [
        name
        for name, run in snapshot.runs.items()
        if run.result is None
        and not run.progress.beat
        and snapshot.now - run.order.ordered_at > RUN_UNTAKEN_S
    ]


def _due(snapshot: Snapshot) -> bool:
    """Tell whether time alone gives this lane something to decide."""
    now = snapshot.now
    if snapshot.state.waiting or any(run.result for run in snapshot.runs.values()):
        return True
    match snapshot.state.health:
        case UnknownHealth(retry_at=retry_at) if 0.0 < retry_at <= now:
            return True
        case Checking() | Red() if _silent(snapshot):
            return True
    return _silent(snapshot) or any(
        isinstance(each.state, Parked) and 0.0 < each.state.until <= now
        for each in snapshot.candidates
    )


def _silent(snapshot: Snapshot) -> bool:
    gated = [each for each in snapshot.candidates if isinstance(each.state, Gating)]
    lost = any(
        each.state.run not in snapshot.runs for each in gated if isinstance(each.state, Gating)
    )
    beats = [run.progress.beat for run in snapshot.runs.values() if run.result is None]
    return lost or any(beat and snapshot.now - beat > RUN_SILENT_S for beat in beats)
