"""The outbox: bringing comments, checks, labels and kept commits up to date, once each."""

from collections.abc import Callable
from functools import partial

import structlog

from mergebot.domain.candidate import merge_of
from mergebot.domain.effects import (
    AddLabel,
    ClosePull,
    DropCandidate,
    EndClaim,
    KeepCandidate,
    KeepHalt,
    LookAgain,
    LookEarly,
    PublishNotice,
    React,
    RemoveLabel,
    Tell,
    told_mark,
)
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import asked_for
from mergebot.domain.limits import HANDS_PER_MINUTE, LANE_LEASE_S, STARTS_KEEP_S, STARTS_MAX
from mergebot.domain.notices import told
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.leases import LeaseLost
from mergebot.ports.store import Due, NoticeRecord
from mergebot.services.chain import request_for
from mergebot.services.claiming import landed as end_landed_claim
from mergebot.services.deciding import decide
from mergebot.services.early_warning import look_early
from mergebot.services.forks import close_unseen
from mergebot.services.halting import keep_halt
from mergebot.services.notifying import Form, Letter, letter_for
from mergebot.services.parts import Parts
from mergebot.services.repositories import git_of
from mergebot.services.rereading import (
    TWICE,
    comments_now,
    doubt,
    says_open,
    strike,
    tidy,
    unsettle,
)

log = structlog.get_logger()

BATCH = 50
BEHIND = 1000
TURN_S = 2.0
"""How long one lane may write before it lets others, and their landings, have the worker."""

WAITS_S = (2.0, 10.0, 30.0, 120.0, 600.0)
Hold = Callable[[], object]
"""Keeps the lease; raises LeaseLost where somebody else publishes by now."""

TRIES_MAX = 50
ROUNDS = 5
MARKER = "<!-- mergebot:"
WRITES = {PublishNotice: 2, LookAgain: 2, Tell: 1}
WRITES |= dict.fromkeys((RemoveLabel, AddLabel, ClosePull, React), 1)
"""Content writes of an effect: a notice is a comment and a check. Refs are moved by git."""


def publish(parts: Parts, lane: Lane) -> None:
    """Write every effect that is due; one that fails waits and shows as lagging."""
    resource = f"publish:{lane.key}"
    while lease := parts.leases.acquire(resource, ttl_s=LANE_LEASE_S, purpose="publish"):
        try:
            _publish(parts, lane, partial(parts.leases.extend, lease, ttl_s=LANE_LEASE_S))
        except LeaseLost:
            log.info("publishing_taken_over", lane=lane.repo)
        finally:
            wanted = parts.leases.release(lease)
        if not wanted:
            return


def _publish(parts: Parts, lane: Lane, hold: Hold) -> None:
    account = str(parts.forge.me().id)
    ends_at = parts.clock.now() + TURN_S
    while due := parts.store.due_effects(lane, parts.clock.now(), limit=BATCH):
        for each in due:
            writes = WRITES.get(type(each.effect), 0)
            wait = parts.store.pace(account, writes, spare=HANDS_PER_MINUTE) if writes else 0.0
            if wait:
                # What is due stays due, its newest state is written then, and nothing has failed.
                log.info("publishing_paced", wait_s=wait)
                _behind(parts, lane, hold, ends_at)
                return
            if parts.clock.now() >= ends_at:
                parts.doorbell.publish(lane)
                return
            _counted(parts, lane, each, hold)


def _behind(parts: Parts, lane: Lane, hold: Hold, ends_at: float) -> None:
    """Do what writes nothing and waits behind what does: claims are made and ended, refs moved."""
    for due in parts.store.due_effects(lane, parts.clock.now(), limit=BEHIND):
        if type(due.effect) in WRITES:
            continue
        if parts.clock.now() >= ends_at:
            parts.doorbell.publish(lane)
            return
        _counted(parts, lane, due, hold)


def _counted(parts: Parts, lane: Lane, due: Due, hold: Hold) -> None:
    """Write one effect, unless that killed its worker again and again."""
    starts = parts.store.begin(lane, due.effect.key)
    if starts > STARTS_MAX:
        _later(parts, lane, due, "writing it killed its worker", STARTS_KEEP_S)
        return
    _one(parts, lane, due, hold)
    if starts > 1 and isinstance(due.effect, PublishNotice | Tell | LookAgain):
        # Whoever began before may be paused rather than dead, and write at any time yet.
        doubt(parts, lane, due.effect.pr)
    parts.store.end(lane, due.effect.key)


def _one(parts: Parts, lane: Lane, due: Due, hold: Hold) -> None:
    try:
        _do(parts, lane, due, hold)
    except LeaseLost:
        raise
    except Unavailable as error:
        _later(parts, lane, due, str(error), error.retry_after_s)
    except Missing as error:
        log.info("effect_dropped", key=due.effect.key, why=str(error))
        parts.store.settle_effect(lane, due)
    except Refused as error:
        if due.tries >= TRIES_MAX:
            log.warning("effect_given_up", key=due.effect.key, why=str(error))
            parts.store.settle_effect(lane, due)
            return
        _later(parts, lane, due, str(error), 0.0)
    except Exception as error:
        # A mistake of ours in one notice keeps no other from being written.
        log.exception("effect_failed", key=due.effect.key)
        _later(parts, lane, due, type(error).__name__, 0.0)
    else:
        parts.store.settle_effect(lane, due)


def _later(parts: Parts, lane: Lane, due: Due, why: str, retry_after_s: float) -> None:
    wait = max(retry_after_s, WAITS_S[min(due.tries, len(WAITS_S) - 1)])
    log.warning("effect_waits", key=due.effect.key, why=why, wait_s=wait)
    parts.store.delay_effect(lane, due, parts.clock.now() + wait)


def _do(parts: Parts, lane: Lane, due: Due, hold: Hold) -> None:
    match due.effect:
        case PublishNotice(pr):
            _notice(parts, lane, pr, hold)
        case Tell(pr, topic, text):
            _tell(parts, lane, pr, topic, text=text)
        case RemoveLabel(pr, label):
            _unlabel(parts, lane, pr, label, hold)
        case AddLabel(pr, label):
            _label(parts, lane, pr, label)
        case KeepCandidate(pr, merged):
            _keep(parts, lane, pr, merged)
        case KeepHalt():
            keep_halt(parts, git_of(parts, lane), lane)
        case LookAgain(pr):
            unsettle(parts, lane, pr)
            _notice(parts, lane, pr, hold)
            tidy(parts, lane, pr)
        case LookEarly(pr):
            look_early(parts, lane, pr)
        case EndClaim(pr, receipt):
            end_landed_claim(parts, lane, pr, receipt)
        case ClosePull() | DropCandidate() | React() as touch:
            _touch(parts, lane, touch)


def _touch(parts: Parts, lane: Lane, effect: ClosePull | DropCandidate | React) -> None:
    match effect:
        case ClosePull(pr):
            close_unseen(parts, lane, pr)
        case DropCandidate(pr):
            git_of(parts, lane).drop_candidate(pr)
        case React(comment, content):
            parts.forge.react(lane.repo, comment, content)


def _unlabel(parts: Parts, lane: Lane, pr: int, label: str, hold: Hold) -> None:
    """Take a label off, unless it speaks of another attempt by now."""
    snapshot = parts.store.read(lane)
    if snapshot.candidate(pr) is None and asked_for(snapshot.state.asked, pr) is None:
        hold()
        parts.forge.remove_label(lane.repo, pr, label)


def _label(parts: Parts, lane: Lane, pr: int, label: str) -> None:
    """Put a label on while there is a candidate to speak of, and off again where that ended."""
    if parts.store.read(lane).candidate(pr) is None:
        return
    parts.forge.add_label(lane.repo, pr, label)
    if parts.store.read(lane).candidate(pr) is None:
        decide(parts, lane, lambda decision: decision.want(RemoveLabel(pr, label)))


def _keep(parts: Parts, lane: Lane, pr: int, merged: Sha) -> None:
    """Publish a failed candidate's merged commit, made again where another host made it.

    Where its base was a candidate that never landed, nobody may be able to: `repro` is a help, and
    a notice is worth having without it.
    """
    git = git_of(parts, lane)
    latest, policy = parts.store.latest(lane, pr), parts.store.read(lane).policy
    merge = merge_of(latest.state) if latest else None
    if latest and policy and merge and merge.merged == merged and not git.has(merged):
        git.fetch(lane.trunk, [pr])
        if git.has(merge.base) and git.has(latest.head):
            git.replay(request_for(latest, policy, merge.base))
    if git.has(merged):
        git.keep_candidate(pr, merged)
    else:
        log.info("candidate_not_kept", lane=lane.repo, pr=pr)


def _tell(parts: Parts, lane: Lane, pr: int, topic: str, *, text: str) -> None:
    """Write a plain comment, unless it is there already, whatever Redis remembers."""
    marker = told_mark(topic)
    if _mine(parts, lane, pr, lambda body: marker in body) is None:
        template, facts = told(text)
        _add(parts, lane, pr, f"{parts.letters.render(template, facts)}\n\n{marker}\n")


def _notice(parts: Parts, lane: Lane, pr: int, hold: Hold) -> None:
    """Write until what stands there is what the record says now; raises LeaseLost.

    Whoever was paused in the middle could write old news over what another publisher wrote since,
    and no forge has a compare-and-swap for comments: so the lease is asked for right before.
    """
    for _ in range(ROUNDS):
        letter = letter_for(parts, lane, pr)
        if letter is None:
            return
        record = parts.store.notice(lane, pr)
        if record is not None and record.digest == letter.digest:
            return
        # From here on nobody knows what stands there, until the end of the write is on record.
        unsettle(parts, lane, pr)
        _held(parts, lane, pr, hold)
        try:
            comment = _write_some(parts, lane, pr, letter, record)
            if letter.check is not None:
                parts.forge.report(lane.repo, letter.check)
            parts.store.keep_notice(lane, pr, NoticeRecord(comment, letter.digest))
        except Unavailable:
            # It may still arrive, after newer ones.
            doubt(parts, lane, pr)
            _held(parts, lane, pr, hold)
            raise


def _held(parts: Parts, lane: Lane, pr: int, hold: Hold) -> None:
    """Make sure of the lease; without it, what was written may stand over newer news.

    The new holder then writes it again: by itself it would take that effect for done.
    """
    try:
        hold()
    except LeaseLost:
        decide(parts, lane, lambda decision: decision.want(LookAgain(pr)))
        raise


def _write_some(
    parts: Parts, lane: Lane, pr: int, letter: Letter, record: NoticeRecord | None
) -> int:
    """Write the letter, in a reduced form where the forge refuses it as it is."""
    for form in (Form.SHORT, Form.PLAIN):
        try:
            return _write(parts, lane, pr, letter, record)
        except Missing:
            raise
        except Refused as error:
            log.warning("letter_reduced", pr=pr, form=form.name, why=str(error))
            letter = letter_for(parts, lane, pr, form) or letter
    return _write(parts, lane, pr, letter, record)


def _write(parts: Parts, lane: Lane, pr: int, letter: Letter, record: NoticeRecord | None) -> int:
    repo = lane.repo
    if letter.fresh:
        mine = comments_now(parts, lane, pr)
        known = next((each.id for each in mine if letter.marker in each.body), None)
    else:
        known = record.comment_id if record else _find(parts, lane, pr)
    if known is None:
        return _add_once(parts, lane, pr, letter)
    try:
        parts.forge.edit_comment(repo, known, letter.body)
    except Missing:
        return _add(parts, lane, pr, letter.body)
    return known


def _add_once(parts: Parts, lane: Lane, pr: int, letter: Letter) -> int:
    """Write a new comment; where another publisher wrote the same meanwhile, let the first stand.

    Whoever was paused right before it cannot know better: no forge creates a comment only if.
    """
    comment = _add(parts, lane, pr, letter.body)
    mine = comments_now(parts, lane, pr)
    first = min((each.id for each in mine if letter.marker in each.body), default=comment)
    if first != comment:
        strike(parts, lane, comment, TWICE)
    for each in mine:
        if letter.fresh and each.id != first and says_open(each.body):
            strike(parts, lane, each.id, "This attempt has ended; the comment below says how.")
    return first


def _find(parts: Parts, lane: Lane, pr: int) -> int | None:
    """Return the comment to edit; one that this misses is found after the write, by `_add_once`."""
    own = parts.forge.own_comments(lane.repo, pr)
    return max((each.id for each in own if each.body.startswith(MARKER)), default=None)


def _mine(parts: Parts, lane: Lane, pr: int, fits: Callable[[str], bool]) -> int | None:
    mine = reversed(comments_now(parts, lane, pr))
    return next((each.id for each in mine if fits(each.body)), None)


def _add(parts: Parts, lane: Lane, pr: int, body: str) -> int:
    return parts.forge.add_comment(lane.repo, pr, body)
