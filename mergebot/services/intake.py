"""Reading the inbox: each delivery is a hint to look at the present state of something."""

import structlog

from mergebot.domain.admission import Labelled
from mergebot.domain.candidate import Ejected, Landed, Landing, merge_of
from mergebot.domain.effects import DropCandidate
from mergebot.domain.ids import Lane
from mergebot.domain.limits import LANE_LEASE_S, STARTS_MAX
from mergebot.domain.news import (
    CheckAsked,
    CheckNews,
    CommentMade,
    Ignored,
    InstallationChanged,
    LabelSet,
    News,
    PullMoved,
    RepositoryChanged,
    ReviewGiven,
    TrunkPushed,
)
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.inbox import Delivery
from mergebot.services.admitting import (
    Wish,
    bring_in,
    follow,
    kind_of,
    queue_policy,
    waiting_for_others,
)
from mergebot.services.auditing import closed
from mergebot.services.branch_rules import branch_rules_of
from mergebot.services.commanding import answer, press
from mergebot.services.deciding import decide
from mergebot.services.early_warning import want_look
from mergebot.services.parts import Parts
from mergebot.services.recovering import recover
from mergebot.services.repositories import git_of
from mergebot.services.tenancy import installation_changed, repository_changed
from mergebot.services.tick import look

log = structlog.get_logger()

LaneNews = LabelSet | PullMoved | ReviewGiven | CommentMade | CheckAsked | TrunkPushed

BATCH = 50
SHAPING = ("opened", "reopened", "edited", "synchronize", "ready_for_review")
"""Actions that may change what a pull request claims or changes."""

INTAKE = "intake"


def drain(parts: Parts) -> None:
    """Handle every waiting delivery, oldest first; what cannot be handled now stays."""
    while lease := parts.leases.acquire(INTAKE, ttl_s=LANE_LEASE_S, purpose="inbox"):
        try:
            _drain(parts)
        finally:
            wanted = parts.leases.release(lease)
        if not wanted:
            return


def _drain(parts: Parts) -> None:
    stuck: set[str] = set()
    while True:
        found = parts.inbox.take(limit=BATCH + len(stuck))
        batch = [each for each in found if each.position not in stuck]
        if not batch:
            return
        touched: dict[str, Lane] = {}
        for delivery in batch:
            if parts.inbox.begin(delivery) > STARTS_MAX:
                log.error("delivery_set_aside", guid=delivery.guid, kind=delivery.event)
                parts.inbox.set_aside(delivery)
                continue
            try:
                lane = _handle(parts, delivery)
            except Unavailable as error:
                log.warning("delivery_waits", guid=delivery.guid, why=str(error))
                parts.inbox.put_back(delivery)
                stuck.add(delivery.position)
                continue
            except Exception:
                # A mistake of ours, or a hung task's end: the others need not wait for it.
                log.exception("delivery_failed", guid=delivery.guid, kind=delivery.event)
                stuck.add(delivery.position)
                continue
            if lane is not None:
                touched[lane.key] = lane
            parts.inbox.done(delivery)
        for lane in touched.values():
            parts.doorbell.tick(lane)


def _handle(parts: Parts, delivery: Delivery) -> Lane | None:
    try:
        news = parts.read_news(delivery.event, delivery.body)
        return _apply(parts, news)
    except (Refused, ValueError) as error:
        log.info("delivery_refused", guid=delivery.guid, kind=delivery.event, why=str(error))
        return None


def _apply(parts: Parts, news: News) -> Lane | None:
    match news:
        case Ignored(reason):
            log.debug("delivery_ignored", why=reason)
            return None
        case RepositoryChanged():
            repository_changed(parts, news)
            return None
        case InstallationChanged():
            installation_changed(parts, news)
            return None
        case CheckNews():
            return None
        case _:
            return _in_lane(parts, news)


def _in_lane(parts: Parts, news: LaneNews) -> Lane | None:
    lane = _lane(parts, news.repo, news.repo_id)
    if lane is None:
        log.info("delivery_ignored", why=f"{news.repo} is not served here")
        return None
    return lane if _heard(parts, lane, news) else None


def _heard(parts: Parts, lane: Lane, news: LaneNews) -> bool:
    """Act on what is new in a lane, and tell whether it may have something to decide."""
    match news:
        case LabelSet():
            _label(parts, lane, news)
        case PullMoved():
            _moved(parts, lane, news)
        case ReviewGiven(number=number):
            _pull(parts, lane, number)
        case CommentMade():
            if news.author.id != parts.forge.me().id:
                answer(parts, lane, news)
        case CheckAsked():
            press(parts, lane, news)
        case TrunkPushed(branch=branch, after=after):
            if branch != lane.trunk or after == parts.store.read(lane).tip:
                return False
            look(parts, lane, git_of(parts, lane))
    return True


def _lane(parts: Parts, repo: str, repo_id: int) -> Lane | None:
    lane = parts.store.lane(repo)
    if lane is None or lane.repo_id != repo_id:
        return None
    recover(parts, lane)
    return lane


def _label(parts: Parts, lane: Lane, news: LabelSet) -> None:
    snapshot = parts.store.read(lane)
    queue = queue_policy(snapshot)
    kind = kind_of(news.label, queue)
    read_at = parts.clock.now()
    pull = parts.forge.pull(lane.repo, news.pull.number)
    if kind is None:
        follow(parts, lane, pull)
        return
    if news.actor.id == parts.forge.me().id or not pull.has(news.label):
        return
    follow(parts, lane, pull)
    if pull.merged:
        # Nothing is left to land; where that was a landing the record lost, the trunk tells of it.
        return
    bring_in(parts, lane, Wish(pull, news.pull.head, kind, news.actor, Labelled(), read_at))


def _moved(parts: Parts, lane: Lane, news: PullMoved) -> None:
    """Look at a pull request that changed, and at its claim."""
    number = news.number
    _pull(parts, lane, number)
    if news.action == "closed":
        _drop_kept(parts, lane, number)
        for each in waiting_for_others(parts.store.read(lane)):
            _pull(parts, lane, each)
        closed(parts, lane, number)
    elif news.action in SHAPING and news.sender.id != parts.forge.me().id:
        want_look(parts, lane, number)


def _drop_kept(parts: Parts, lane: Lane, number: int) -> None:
    """Remove the commit that was kept for a failed candidate, now that its PR is closed."""
    latest = parts.store.latest(lane, number)
    if latest is None or merge_of(latest.state) is None:
        return
    shown = isinstance(latest.state, Landed) and branch_rules_of(parts, lane).wants_own_check
    if shown or isinstance(latest.state, Ejected):
        decide(parts, lane, lambda decision: decision.want(DropCandidate(number)))


def _pull(parts: Parts, lane: Lane, number: int) -> None:
    candidate = parts.store.read(lane).candidate(number)
    # What the forge tells while the bot lands is its own doing, and ends nothing.
    if candidate is None or isinstance(candidate.state, Landing):
        return
    try:
        follow(parts, lane, parts.forge.pull(lane.repo, number))
    except Missing:
        log.info("pull_missing", lane=lane.repo, pr=number)
