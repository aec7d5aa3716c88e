"""Labels that the bot itself sets and takes off: for whom it set one, and whether it meant to.

A label is the record of what people want, and no forge can compare and swap one. So what somebody
asked for is written down before the bot sets a label for it; and a label that the bot took off, for
an attempt that had ended by then, is set again where the next attempt had begun meanwhile.
"""

from dataclasses import replace

import structlog

from mergebot.domain.admission import NO_HEAD
from mergebot.domain.candidate import Candidate, ended_at
from mergebot.domain.decision import Decision
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Asked, asked_but, asked_for
from mergebot.domain.limits import LABEL_SLACK_S
from mergebot.domain.pulls import PullRequest, same_label
from mergebot.domain.status import read_hidden_line
from mergebot.ports.forge import LabelEvent
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts
from mergebot.services.rereading import OPEN_STATES, comments_now

log = structlog.get_logger()

ENDED_KNOWN = 1000
EARLY = "open"
"""The state of a PR that nobody has queued."""


def remember(parts: Parts, lane: Lane, asked: Asked) -> None:
    """Keep who asked for which head, until a candidate is made of it; raises Unavailable."""

    def rule(decision: Decision) -> Decision:
        others = asked_but(decision.snapshot.state.asked, asked.pr)
        return decision.lane(asked=(*others, asked))

    decide(parts, lane, rule)


def forget_asked(decision: Decision, pr: int) -> Decision:
    """Note that what was asked for `pr` is a candidate now."""
    asked = decision.snapshot.state.asked
    return decision.lane(asked=asked_but(asked, pr)) if asked_for(asked, pr) else decision


def set_by_bot(parts: Parts, event: LabelEvent) -> bool:
    """Tell whether the bot set the label, which it does for others alone."""
    return event.actor.id == parts.forge.me().id


def told_head(parts: Parts, lane: Lane, pull: PullRequest) -> Sha:
    """Return the PR's head where the bot told its author that it is queued, else NO_HEAD."""
    told = [read_hidden_line(each.body) for each in comments_now(parts, lane, pull.number)]
    known = [each for each in told if each is not None and each.get("state") != EARLY]
    last = known[-1] if known else {}
    fits = last.get("state") in OPEN_STATES and last.get("head") == pull.head
    return pull.head if fits else NO_HEAD


def taken_off_by_mistake(
    parts: Parts, lane: Lane, candidate: Candidate, pull: PullRequest, *, label: str
) -> bool:
    """Tell whether the bot took an open candidate's label off, for the attempt before it.

    Whoever takes a label off may be paused right before, and the label may be set anew meanwhile.
    The forge knows who did it last; a list that does not show this attempt's own label is too old
    to tell.
    """
    if pull.has(label) or pull.closed or candidate.regret or candidate.attempt == 1:
        return False
    gone = [
        x for x in parts.forge.label_removals(lane.repo, pull.number) if same_label(x.label, label)
    ]
    if not gone or gone[-1].actor.id != parts.forge.me().id:
        return False
    made = [
        x for x in parts.forge.label_events(lane.repo, pull.number) if same_label(x.label, label)
    ]
    ends = [
        ended_at(each.state)
        for each in parts.store.ended(lane, limit=ENDED_KNOWN)
        if each.pr == candidate.pr and each.attempt < candidate.attempt
    ]
    if not made or not ends or made[-1].at + LABEL_SLACK_S < max(ends):
        return False
    own = made[-1].id < gone[-1].id
    if own:
        log.info("label_set_again", lane=lane.repo, pr=pull.number, label=label)
    return own


def labelled_again(pull: PullRequest, label: str) -> PullRequest:
    """Return the pull request as it is once its label is back."""
    return replace(pull, labels=(*pull.labels, label))
