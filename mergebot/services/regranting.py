"""What comments added to a claim, after the ledger that had it was lost.

A new claim of a pull request, of which the ledger knows no earlier one, gets back what the forge
still proves: comments that read as they were written, of those who may change the claim now, and
that the bot did not refuse. Each is granted by the ledger again, or not at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mergebot.domain.claims import ClaimBlock, ClaimFaults, NoBlock, parse_claim_block
from mergebot.domain.commands import ExtendClaim, Plain, parse_commands
from mergebot.domain.effects import told_mark
from mergebot.domain.holding import Overseer
from mergebot.domain.ids import Actor, Lane
from mergebot.domain.ledger import Change, Granted, Taken
from mergebot.domain.limits import LABEL_SLACK_S
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.ports.forge import Comment
from mergebot.services.claiming import claim_for, extend_for_pull
from mergebot.services.parts import Parts


@dataclass(frozen=True, slots=True)
class _Wish:
    patterns: tuple[str, ...]
    by: Actor
    permission: Permission


def claim_of_pull(
    parts: Parts, lane: Lane, pull: PullRequest
) -> Granted | Taken | ClaimFaults | NoBlock:
    """Make or renew a pull request's claim, with what comments had added; raises Unavailable."""
    known = parts.ledger.read(lane).of_pull(pull.number) or parts.ledger.find(
        lane, f"pr-{pull.number}"
    )
    block = parse_claim_block(pull.body)
    lost = known is None and isinstance(block, ClaimBlock) and _may_be_older(parts, lane, pull)
    wishes = _wishes(parts, lane, pull) if lost else ()
    found = claim_for(parts, lane, pull)
    if not wishes or not isinstance(found, Granted):
        return found
    for wish in wishes:
        who = Overseer(wish.by.login)
        extend_for_pull(parts, lane, pull.number, wish.patterns, who=who, may=wish.permission)
    held = parts.ledger.read(lane).of_pull(pull.number)
    return Granted(held, Change((), ())) if held else found


def may_change_claim(pull: PullRequest, who: Actor, permission: Permission) -> bool:
    """Tell whether somebody's comment may change a pull request's claim: its author, or a maintainer."""
    own = pull.author.id == who.id and permission >= Permission.WRITE
    return own or permission >= Permission.MAINTAIN


def _may_be_older(parts: Parts, lane: Lane, pull: PullRequest) -> bool:
    """Tell whether a pull request may have had a claim before the record was last rebuilt."""
    recovered = parts.store.read(lane).state.recovered
    return recovered is None or pull.created_at <= recovered.at + LABEL_SLACK_S


def _wishes(parts: Parts, lane: Lane, pull: PullRequest) -> Sequence[_Wish]:
    comments = parts.forge.comments(lane.repo, pull.number)
    me = parts.forge.me().id
    answers = [each.body for each in comments if each.author.id == me]
    wishes: list[_Wish] = []
    for comment in comments:
        command = parse_commands(comment.body, parts.handle)
        if comment.author.id == me or not isinstance(command, ExtendClaim | Plain):
            continue
        permission = parts.forge.permission(lane.repo, comment.author)
        if not may_change_claim(pull, comment.author, permission):
            continue
        if command is Plain.RELEASE:
            wishes = []
        elif isinstance(command, ExtendClaim) and not _void(comment, answers):
            wishes.append(_Wish(command.patterns, comment.author, permission))
    return wishes


def _void(comment: Comment, answers: Sequence[str]) -> bool:
    """Tell whether a comment was refused, or may have been written otherwise than it reads now."""
    mark = told_mark(f"comment-{comment.id}")
    return comment.edited or any(mark in answer for answer in answers)
