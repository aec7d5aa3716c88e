"""Answering commands in comments: who may, doing it, and a reaction or one sentence back."""

import structlog

from mergebot.domain.commands import (
    Answer,
    Command,
    CommandFault,
    ExtendClaim,
    Halt,
    NoCommand,
    Park,
    Plain,
    Resume,
    Retry,
    parse_commands,
)
from mergebot.domain.decision import Decision
from mergebot.domain.effects import PublishNotice, React, Tell
from mergebot.domain.ids import Lane
from mergebot.domain.limits import COMMAND_GOOD_S, LABEL_SLACK_S
from mergebot.domain.news import CheckAsked, CommentMade
from mergebot.domain.pulls import TO_HALT, Permission
from mergebot.domain.status import unqueued_text
from mergebot.domain.wording import sentence
from mergebot.ports.errors import Refused, TurnedAway
from mergebot.services.claim_commands import obey
from mergebot.services.deciding import decide
from mergebot.services.operating import Operating, free_to_write
from mergebot.services.parts import Parts

log = structlog.get_logger()

DONE = "+1"
REFUSED = "confused"
BY_LABEL = frozenset({Plain.QUEUE, Plain.CANCEL, Plain.HOLD, Plain.UNHOLD})
"""Commands that are done by a label: each is a write, so it waits where the minute has no more."""


def answer(parts: Parts, lane: Lane, news: CommentMade) -> None:
    """Do what a comment asks, if it asks anything, and once; every command is answered.

    A comment may be delivered again under another name: by a second hook, or by whoever kept it.
    """
    command = parse_commands(news.body, parts.handle)
    if isinstance(command, NoCommand):
        return
    topic = f"command-{news.comment_id}"
    if parts.store.asked_once(lane, topic):
        log.info("command_known", lane=lane.repo, comment=news.comment_id)
        return
    if isinstance(command, Retry) or command in BY_LABEL:
        free_to_write(parts)
    doubt = _doubt(parts, lane, news)
    if doubt:
        _say(parts, lane, news, doubt)
    else:
        _obey(parts, lane, news, command)
    parts.store.once(lane, topic)


def _doubt(parts: Parts, lane: Lane, news: CommentMade) -> str:
    """Return why nobody knows whether a comment still waits to be obeyed, "" where it does.

    Obeyed ones are remembered for longer than such a doubt takes to arise, unless Redis is lost.
    """
    if not news.at:
        return ""
    if parts.clock.now() - news.at > COMMAND_GOOD_S:
        return "this was asked too long ago to be done now: ask again if it still holds"
    recovered = parts.store.read(lane).state.recovered
    if recovered is not None and news.at + LABEL_SLACK_S < recovered.at:
        return (
            "the record was rebuilt after you asked, so nobody knows whether this was done: "
            "ask again if it still holds"
        )
    return ""


def _obey(parts: Parts, lane: Lane, news: CommentMade, command: Command | CommandFault) -> None:
    if isinstance(command, CommandFault):
        _say(parts, lane, news, command.sentence)
        return
    needed = _needed(command)
    permission = parts.forge.permission(lane.repo, news.author)
    if permission < needed and not _own_cancel(parts, lane, news, command):
        text = (
            f"this needs {needed.name.lower()} permission, and you have {permission.name.lower()}"
        )
        _say(parts, lane, news, text)
        return
    try:
        sentence = _do(parts, lane, news, command)
    except TurnedAway:
        _react(parts, lane, news, REFUSED)
        return
    except Refused as error:
        _say(parts, lane, news, str(error))
        return
    if sentence:
        _say(parts, lane, news, sentence)
        return
    _react(parts, lane, news, DONE)


def press(parts: Parts, lane: Lane, news: CheckAsked) -> None:
    """Do what a button on the bot's check asks, for those who may; a refusal is one comment.

    Whoever pressed it spoke of the attempt and the head that they saw, and of no later one.
    """
    permission = parts.forge.permission(lane.repo, news.actor)
    if permission < Permission.WRITE:
        log.info("button_ignored", lane=lane.repo, pr=news.number, by=news.actor.login)
        return
    latest = parts.store.latest(lane, news.number)
    if latest is None or (latest.head, latest.attempt) != (news.head, news.attempt):
        log.info("button_outdated", lane=lane.repo, pr=news.number, by=news.actor.login)
        return
    operating = Operating(parts)
    try:
        if news.wish == "cancel":
            operating.cancel(lane, news.number, news.actor)
        else:
            why = "asked again on the check"
            operating.retry(lane, news.number, news.actor, why, seen=news.head)
    except TurnedAway:
        return
    except Refused as error:
        topic = f"button-{news.wish}-{news.attempt}-{parts.store.read(lane).revision}"
        told = Tell(news.number, topic, sentence(str(error)))
        decide(parts, lane, lambda decision: decision.want(told))


def _needed(command: Command) -> Permission:
    match command:
        case Plain.STATUS | Plain.EXPLAIN | Answer():
            return Permission.READ
        case Halt() | Resume():
            return TO_HALT
        case _:
            return Permission.WRITE


def _own_cancel(parts: Parts, lane: Lane, news: CommentMade, command: Command) -> bool:
    """Let an author withdraw their own pull request, whatever else they may do."""
    candidate = parts.store.read(lane).candidate(news.number)
    own = candidate is not None and candidate.proposal.author.id == news.author.id
    return own and command is Plain.CANCEL


def _do(parts: Parts, lane: Lane, news: CommentMade, command: Command) -> str:
    operating = Operating(parts)
    pr, by = news.number, news.author
    match command:
        case Plain.QUEUE:
            operating.enqueue(lane, pr, by, asked_at=news.at)
        case Plain.CANCEL:
            operating.cancel(lane, pr, by)
        case Plain.HOLD:
            operating.hold(lane, pr, by)
        case Plain.UNHOLD:
            operating.unhold(lane, pr, by)
        case Plain.STATUS | Plain.EXPLAIN:
            decide(parts, lane, lambda decision: _shown(parts, decision, news))
        case Retry(reason):
            operating.retry(lane, pr, by, reason, asked_at=news.at)
        case Halt(reason):
            operating.halt(lane, by, reason)
        case Resume(reason):
            operating.resume(lane, by, reason)
        case Plain.UNPARK | Plain.RELEASE | ExtendClaim() | Park() | Answer():
            return obey(parts, lane, news, command)
    return ""


def _shown(parts: Parts, decision: Decision, news: CommentMade) -> Decision:
    """Bring the sticky comment up to date; whoever asks about what is not queued gets a sentence."""
    pr, snapshot = news.number, decision.snapshot
    decision = decision.want(PublishNotice(pr, 0))
    if snapshot.candidate(pr) is not None:
        return decision
    text = unqueued_text(pr, parts.store.latest(snapshot.lane, pr), snapshot.policy)
    return decision.want(_answering(news, text))


def _answering(news: CommentMade, text: str) -> Tell:
    return Tell(news.number, f"comment-{news.comment_id}", sentence(text))


def _say(parts: Parts, lane: Lane, news: CommentMade, text: str) -> None:
    answers = (React(news.comment_id, REFUSED), _answering(news, text))
    decide(parts, lane, lambda decision: decision.want(*answers))


def _react(parts: Parts, lane: Lane, news: CommentMade, content: str) -> None:
    decide(parts, lane, lambda decision: decision.want(React(news.comment_id, content)))
