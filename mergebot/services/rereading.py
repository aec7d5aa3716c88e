"""Looking again at comments that somebody may have written over newer ones, or written twice.

No forge has a compare-and-swap for comments: whoever was paused right at a write, or whose request
was held up on its way, writes what was true then. Where that may be so, the comments are read and
put right a few times, until it cannot be so any more.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from mergebot.domain.decision import Decision
from mergebot.domain.effects import LookAgain
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Snapshot, Unsure
from mergebot.domain.limits import LOOKS_AGAIN_S
from mergebot.domain.notices import told
from mergebot.domain.status import read_hidden_line
from mergebot.ports.forge import Comment
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts

TWICE = "This was written twice; the comment before says it."
OPEN_STATES = {"queued", "parked", "gating", "verified", "landing"}
_MARKS = re.compile(r"<!-- (?:attempt|told|mergebot:early) .*? -->")


def doubt(parts: Parts, lane: Lane, pr: int) -> None:
    """Have the comments of a PR looked at again, a few times; raises Unavailable."""

    def rule(decision: Decision) -> Decision:
        others = [each for each in decision.snapshot.state.unsure if each.pr != pr]
        fresh = Unsure(pr, decision.snapshot.now + LOOKS_AGAIN_S[0])
        return decision.lane(unsure=(*others, fresh))

    decide(parts, lane, rule)


def look_where_unsure(parts: Parts, snapshot: Snapshot) -> None:
    """Ask for the looks that are due; raises Unavailable."""
    if not any(each.at <= snapshot.now for each in snapshot.state.unsure):
        return

    def rule(decision: Decision) -> Decision:
        now = decision.snapshot.now
        due = [each for each in decision.snapshot.state.unsure if each.at <= now]
        left = [each for each in decision.snapshot.state.unsure if each.at > now]
        for each in due:
            decision = decision.want(LookAgain(each.pr))
            if each.looks + 1 < len(LOOKS_AGAIN_S):
                wait_s = LOOKS_AGAIN_S[each.looks + 1]
                left.append(replace(each, at=now + wait_s, looks=each.looks + 1))
        return decision.lane(unsure=tuple(left)) if due else decision

    decide(parts, snapshot.lane, rule)


def unsettle(parts: Parts, lane: Lane, pr: int) -> None:
    """Take back what is known of a PR's comment, so that it is written once more."""
    record = parts.store.notice(lane, pr)
    if record is not None:
        parts.store.keep_notice(lane, pr, replace(record, digest=""))


def tidy(parts: Parts, lane: Lane, pr: int) -> None:
    """Strike out what stands there twice, and what speaks of a state that is over."""
    record = parts.store.notice(lane, pr)
    seen: set[str] = set()
    for each in comments_now(parts, lane, pr):
        marks = set(_MARKS.findall(each.body))
        stale = record is not None and each.id != record.comment_id and says_open(each.body)
        if marks & seen or stale:
            strike(parts, lane, each.id, TWICE if marks & seen else "This is over by now.")
        seen |= marks


def comments_now(parts: Parts, lane: Lane, pr: int) -> Sequence[Comment]:
    """Return the bot's comments on a PR as they are now, oldest first."""
    me = parts.forge.me().id
    return [each for each in parts.forge.comments(lane.repo, pr) if each.author.id == me]


def says_open(body: str) -> bool:
    """Tell whether a comment speaks of a candidate to which something can still happen."""
    document = read_hidden_line(body)
    return document is not None and document.get("state") in OPEN_STATES


def strike(parts: Parts, lane: Lane, comment: int, text: str) -> None:
    """Leave nothing of a comment but one sentence."""
    template, facts = told(text)
    parts.forge.edit_comment(lane.repo, comment, parts.letters.render(template, facts))
