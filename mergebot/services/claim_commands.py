"""Commands about a pull request's claim and its contracts, from comments on it."""

from mergebot.domain.commands import Answer, ExtendClaim, Park, Plain
from mergebot.domain.holding import Deed, Denied, Overseer, Release, Unpark
from mergebot.domain.holding import Park as ParkDeed
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import Taken
from mergebot.domain.limits import PARK_REVIEW_S
from mergebot.domain.news import CommentMade
from mergebot.domain.notices import holders_text
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.ports.errors import Refused
from mergebot.services import contracting
from mergebot.services.claiming import do_for_pull, extend_for_pull
from mergebot.services.early_warning import want_look
from mergebot.services.parts import Parts
from mergebot.services.regranting import claim_of_pull, may_change_claim
from mergebot.services.repositories import git_of

ClaimCommand = Plain | ExtendClaim | Park | Answer


def obey(parts: Parts, lane: Lane, news: CommentMade, command: ClaimCommand) -> str:
    """Do what a comment asks of a claim or a contract.

    Returns "" where a reaction says enough, else a sentence for its author. Raises Refused.
    """
    permission = parts.forge.permission(lane.repo, news.author)
    if isinstance(command, Answer):
        speaker = contracting.Speaker(news.author, permission)
        git = git_of(parts, lane)
        contracting.answer(parts, git, lane, news.number, command, by=speaker)
        return ""
    pull = parts.forge.pull(lane.repo, news.number)
    if not may_change_claim(pull, news.author, permission):
        raise Refused("only the author of a pull request, or a maintainer, changes its claim")
    who = Overseer(news.author.login)
    if command is not Plain.RELEASE and parts.ledger.read(lane).of_pull(pull.number) is None:
        _made(parts, lane, pull)
    if isinstance(command, ExtendClaim):
        found = extend_for_pull(parts, lane, news.number, command.patterns, who=who, may=permission)
    else:
        found = do_for_pull(parts, lane, news.number, _deed(parts, lane, news, command), who.login)
    if isinstance(found, Denied):
        raise Refused(found.sentence)
    if isinstance(found, Taken):
        raise Refused(holders_text(found.sentence, found.holders, parts.clock.now()))
    # A look would claim again what the block in the description still asks for.
    if command is not Plain.RELEASE and parts.store.read(lane).candidate(news.number) is None:
        want_look(parts, lane, news.number)
    return ""


def _made(parts: Parts, lane: Lane, pull: PullRequest) -> None:
    """Make the claim that the description asks for: the first look, which does, may be to come."""
    open_here = not pull.closed and pull.base == lane.trunk
    if open_here and parts.forge.permission(lane.repo, pull.author) >= Permission.WRITE:
        claim_of_pull(parts, lane, pull)


def _deed(parts: Parts, lane: Lane, news: CommentMade, command: Plain | Park) -> Deed:
    match command:
        case Park(reason):
            return ParkDeed(reason, parts.clock.now() + PARK_REVIEW_S)
        case Plain.RELEASE:
            if parts.store.read(lane).candidate(news.number) is not None:
                raise Refused(f"#{news.number} is in the queue; cancel it before its claim goes")
            return Release(f"by a comment on #{news.number}")
        case _:
            return Unpark()
