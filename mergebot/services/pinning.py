"""A pull request's claim in the queue: pinned when it is queued, and looked at again as it lands.

The block in the description counts as the forge has it. Beyond the block counts what the ledger
granted and sealed: what was added to the claim, or what a session claimed for the branch. A wish in
a comment that was refused gives no right.
"""

from mergebot.domain.admission import Overlap
from mergebot.domain.candidate import Candidate, Claim, NoClaim
from mergebot.domain.claims import ClaimBlock, ClaimFaults, NoBlock, parse_claim_block
from mergebot.domain.ids import Lane
from mergebot.domain.landing import Turn, claim_lost, claim_narrowed
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import Taken
from mergebot.domain.notices import holders_text
from mergebot.domain.pulls import PullRequest
from mergebot.services.granting import granted
from mergebot.services.parts import Parts
from mergebot.services.regranting import claim_of_pull


def pin(parts: Parts, lane: Lane, pull: PullRequest) -> Claim | NoClaim | Overlap | tuple[str, ...]:
    """Claim for a pull request that is being queued; raises Unavailable.

    Returns the claim as it is pinned on its candidate, or why it cannot be had.
    """
    found = claim_of_pull(parts, lane, pull)
    if isinstance(found, NoBlock):
        return NoClaim()
    if isinstance(found, ClaimFaults):
        return found.faults
    if isinstance(found, Taken):
        return Overlap(holders_text(found.sentence, found.holders, parts.clock.now()))
    held = found.claim
    pinned = Claim(held.id, held.task, held.every, held.assumes, held.generation)
    return written_claim(parts, lane, pull, pinned)


def written_claim(
    parts: Parts, lane: Lane, pull: PullRequest, pinned: Claim | NoClaim
) -> Claim | NoClaim:
    """Return the claim as the forge has it and the ledger granted it, whatever the record says."""
    block = parse_claim_block(pull.body)
    held = parts.ledger.read(lane).of_pull(pull.number)
    if held is not None and not granted(parts.notary, lane, held):
        held = None
    name, generation = f"pr-{pull.number}", 0
    if isinstance(pinned, Claim):
        name, generation = pinned.id, pinned.generation
    if isinstance(block, ClaimBlock):
        patterns = (*block.patterns, *(held.extra if held else ()))
        return Claim(name, block.task, tuple(dict.fromkeys(patterns)), block.assumes, generation)
    # A task may be claimed before anybody knows its files: that limits nothing yet.
    if isinstance(block, NoBlock) and held is not None and held.proof and held.every:
        return Claim(name, held.task, held.every, held.assumes, generation)
    return NoClaim()


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
