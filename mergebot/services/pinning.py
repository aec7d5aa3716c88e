"""A pull request's claim in the queue: pinned when it is queued, and looked at again as it lands.

The right to change a path comes from what stands on the forge: the block in the description, and
`claim` commands of people who may write. The ledger says whether nobody else has it.
"""

from mergebot.domain.admission import Overlap
from mergebot.domain.candidate import Candidate, Claim, NoClaim
from mergebot.domain.claims import ClaimBlock, ClaimFaults, NoBlock, parse_claim_block
from mergebot.domain.commands import ExtendClaim, parse_commands
from mergebot.domain.ids import Lane
from mergebot.domain.landing import Turn, claim_lost, claim_narrowed
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import Taken
from mergebot.domain.notices import holders_text
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.services.claiming import claim_for
from mergebot.services.parts import Parts


def pin(parts: Parts, lane: Lane, pull: PullRequest) -> Claim | NoClaim | Overlap | tuple[str, ...]:
    """Claim for a pull request that is being queued; raises Unavailable.

    Returns the claim as it is pinned on its candidate, or why it cannot be had.
    """
    block = parse_claim_block(pull.body)
    found = claim_for(parts, lane, pull)
    if isinstance(found, NoBlock) or isinstance(block, NoBlock):
        return NoClaim()
    if isinstance(found, ClaimFaults):
        return found.faults
    if isinstance(block, ClaimFaults):
        return block.faults
    if isinstance(found, Taken):
        return Overlap(holders_text(found.sentence, found.holders, parts.clock.now()))
    held = found.claim
    more = extensions(parts, lane, pull.number) if held.extra else ()
    return _claim(block, more, name=held.id, generation=held.generation)


def written_claim(
    parts: Parts, lane: Lane, pull: PullRequest, pinned: Claim | NoClaim
) -> Claim | NoClaim:
    """Return the claim as the forge has it now, whatever the record says of it."""
    block = parse_claim_block(pull.body)
    if not isinstance(block, ClaimBlock):
        return NoClaim()
    if not isinstance(pinned, Claim):
        return _claim(block, (), name=f"pr-{pull.number}", generation=0)
    wider = not set(pinned.patterns) <= set(block.patterns)
    more = extensions(parts, lane, pull.number) if wider else ()
    return _claim(block, more, name=pinned.id, generation=pinned.generation)


def extensions(parts: Parts, lane: Lane, pr: int) -> tuple[str, ...]:
    """Return the patterns that comments added to a PR's claim, of those who may write here."""
    me = parts.forge.me().id
    patterns: dict[str, None] = {}
    for comment in parts.forge.comments(lane.repo, pr):
        asked = parse_commands(comment.body, parts.handle)
        if not isinstance(asked, ExtendClaim) or comment.author.id == me:
            continue
        if parts.forge.permission(lane.repo, comment.author) >= Permission.WRITE:
            patterns |= dict.fromkeys(asked.patterns)
    return tuple(patterns)


def claim_turn(
    parts: Parts, snapshot: Snapshot, candidate: Candidate, pull: PullRequest
) -> Turn | None:
    """Return what becomes of a candidate whose claim is not what was pinned, else None."""
    if not isinstance(candidate.claim, Claim):
        return None
    written = written_claim(parts, snapshot.lane, pull, candidate.claim)
    ledger = parts.ledger.read(snapshot.lane)
    return claim_narrowed(candidate.claim, written, now=snapshot.now) or claim_lost(
        candidate, candidate.claim, ledger, now=snapshot.now
    )


def _claim(block: ClaimBlock, more: tuple[str, ...], *, name: str, generation: int) -> Claim:
    patterns = tuple(dict.fromkeys((*block.patterns, *more)))
    return Claim(name, block.task, patterns, block.assumes, generation)
