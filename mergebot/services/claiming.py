"""Claiming: read the ledger, decide, commit at the revision that was read, and again if too late.

A session claims by a token of its own; a pull request by the block in its description. Whoever is
refused is told who holds what, since when, and how to ask.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from mergebot.domain.claims import ClaimBlock, ClaimFaults, NoBlock, parse_claim_block
from mergebot.domain.holding import (
    Deed,
    Denied,
    Done,
    Extend,
    Overseer,
    Right,
    act,
    carried,
    end,
)
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import (
    Ask,
    Change,
    Collision,
    Granted,
    How,
    Ledger,
    LedgerClaim,
    Taken,
    Terms,
    acquire,
    proof_of,
)
from mergebot.domain.limits import GENERATION_LEAP
from mergebot.domain.names import shown
from mergebot.domain.patterns import Cover, parse
from mergebot.domain.patterns import Pattern as Parsed
from mergebot.domain.policy import ClaimPolicy
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.tickets import task_key
from mergebot.ports.errors import Unavailable
from mergebot.ports.store import Stale
from mergebot.services.granting import granted, sealed
from mergebot.services.parts import Parts

Found = TypeVar("Found")

TRIES = 200
"""Commits that may come too late: sixteen who claim at once need a few dozen at worst."""

RECEIPTS_READ = 200
"""Receipts in which a new ledger looks for generations that were given out before a loss."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a session wants to claim, and what whoever asks for it may do in the repository.

    Whoever brings a `session`, a secret of their own, gets the same claim when they ask again.
    """

    task: str
    patterns: tuple[str, ...]
    assumes: tuple[str, ...]
    owner: str
    branch: str
    permission: Permission
    session: str = ""


@dataclass(frozen=True, slots=True)
class Owned:
    """A claim and the token of the session that owns it; nobody else ever learns the token."""

    claim: LedgerClaim
    token: str


def claim(parts: Parts, lane: Lane, wanted: Wanted) -> Owned | Taken | Denied:
    """Claim for a session, with a fresh token; raises Unavailable."""
    fault = protected_fault(parts, lane, wanted.patterns, wanted.permission)
    if fault:
        return Denied(fault)
    token = wanted.session or parts.tokens.new()
    ask = Ask(
        task=wanted.task,
        patterns=wanted.patterns,
        assumes=wanted.assumes,
        owner=wanted.owner,
        branch=wanted.branch,
        proof=proof_of(token),
    )
    found = _acquire(parts, lane, ask)
    return Owned(found.claim, token) if isinstance(found, Granted) else found


def claim_for(
    parts: Parts, lane: Lane, pull: PullRequest
) -> Granted | Taken | ClaimFaults | NoBlock:
    """Make or renew the claim that a pull request's block asks for; raises Unavailable.

    Without a block it takes over the claim that a session made for its branch. A block that was
    taken out of the description releases the claim that it had made.
    """
    block = parse_claim_block(pull.body)
    if isinstance(block, NoBlock):
        _released_by_edit(parts, lane, pull)
        return _of_branch(parts, lane, pull)
    if isinstance(block, ClaimFaults):
        return block
    return _acquire(parts, lane, ask_of(pull, block, lane))


def _of_branch(parts: Parts, lane: Lane, pull: PullRequest) -> Granted | ClaimFaults | NoBlock:
    branch = pull.head_branch if pull.head_repo == lane.repo else ""
    now = parts.clock.now()

    def decide(ledger: Ledger) -> tuple[Granted | ClaimFaults | NoBlock, Change]:
        found = carried(ledger, pull.number, branch, now=now)
        if not isinstance(found, Granted):
            return found, Change((), ())
        if not granted(parts.notary, lane, ledger.claims[found.claim.id]):
            return NoBlock(), Change((), ())
        return found, found.change

    return change(parts, lane, decide)


def ask_of(pull: PullRequest, block: ClaimBlock, lane: Lane) -> Ask:
    """Return what a pull request's block asks for; only a branch of this repository has a name."""
    own = pull.head_repo == lane.repo
    return Ask(
        task=block.task,
        patterns=block.patterns,
        assumes=block.assumes,
        owner=pull.author.login,
        branch=pull.head_branch if own else "",
        pr=pull.number,
    )


def do(parts: Parts, lane: Lane, name: str, deed: Deed, right: Right) -> Done | Denied | Taken:
    """Do something to the live claim called `name`; raises Unavailable."""
    now = parts.clock.now()

    def decide(ledger: Ledger) -> tuple[Done | Denied | Taken, Change]:
        found = act(ledger, name, deed, right, now=now)
        return found, found.change if isinstance(found, Done) else Change((), ())

    return change(parts, lane, decide)


def do_for_pull(parts: Parts, lane: Lane, pr: int, deed: Deed, login: str) -> Done | Denied | Taken:
    """Do something to the live claim of a pull request, as somebody who may; raises Unavailable."""
    own = parts.ledger.read(lane).of_pull(pr)
    if own is None:
        return Denied(
            f"#{pr} has no live claim: add a mergebot block to its description", gone=True
        )
    return do(parts, lane, own.id, deed, Overseer(login))


def extend_for_pull(
    parts: Parts, lane: Lane, pr: int, patterns: tuple[str, ...], *, who: Overseer, may: Permission
) -> Done | Denied | Taken:
    """Add patterns to a pull request's claim; protected paths only for an admin."""
    fault = protected_fault(parts, lane, patterns, may)
    if fault:
        return Denied(fault)
    return do_for_pull(parts, lane, pr, Extend(patterns), who.login)


def landed(parts: Parts, lane: Lane, pr: int, receipt: str) -> None:
    """End the claim of a pull request that landed, with its receipt as evidence."""
    _end(parts, lane, pr, How.LANDED, f"#{pr} landed; receipt {receipt}")


def pinned(parts: Parts, lane: Lane, pr: int) -> LedgerClaim | None:
    """Return the live claim of a pull request as it is now."""
    return parts.ledger.read(lane).of_pull(pr)


def protected_fault(
    parts: Parts, lane: Lane, patterns: tuple[str, ...], permission: Permission
) -> str:
    """Return why somebody may not name these paths: protected ones are named only by an admin."""
    policy = parts.store.read(lane).policy
    claims = policy.claims if policy else ClaimPolicy()
    valid = [each for each in map(parse, claims.protected) if isinstance(each, Parsed)]
    guard = Cover(each.folded for each in valid)
    for text in patterns:
        pattern = parse(text)
        if not isinstance(pattern, Parsed) or not pattern.is_literal:
            continue
        if guard.covers("/".join(pattern.folded.segments)) and permission < Permission.ADMIN:
            return f"{shown(text)} is protected: only an admin claims it, by naming it exactly"
    return ""


def change(parts: Parts, lane: Lane, decide: Callable[[Ledger], tuple[Found, Change]]) -> Found:
    """Decide on the newest ledger, again until nobody else commits in between.

    `decide` must only decide; it may be called several times. Raises Unavailable.
    """
    for _ in range(TRIES):
        ledger = _seeded(parts, parts.ledger.read(lane))
        found, wanted = decide(ledger)
        if not wanted.claims and not wanted.notes:
            return found
        try:
            parts.ledger.commit(ledger, sealed(parts.notary, ledger, wanted))
        except Stale:
            continue
        return found
    raise Unavailable(f"the ledger of {lane.repo} kept changing; nothing was written")


def _acquire(parts: Parts, lane: Lane, ask: Ask) -> Granted | Taken:
    policy = parts.store.read(lane).policy
    pool = policy.claims.pool if policy else 0
    name = f"pr-{ask.pr}" if ask.pr else f"c-{parts.tokens.new()[-12:]}"
    terms = Terms(name, parts.clock.now(), pool)

    def decide(ledger: Ledger) -> tuple[Granted | Taken, Change]:
        own = ledger.of_session(ask.proof)
        if own is not None and task_key(own.task, lane.repo) == task_key(ask.task, lane.repo):
            return Granted(own, Change((), ())), Change((), ())
        found = acquire(ledger, ask, terms)
        return found, found.change if isinstance(found, Granted) else Change((), ())

    found = change(parts, lane, decide)
    if isinstance(found, Taken) and found.holders:
        holder = found.holders[0].id
        collision = Collision(terms.now, ask.owner, ask.task, ask.patterns, holder)
        parts.ledger.collide(lane, collision)
    return found


def _seeded(parts: Parts, ledger: Ledger) -> Ledger:
    """Let a ledger that is new, or was lost, give out generations above those in any receipt."""
    if ledger.revision:
        return ledger
    claims = [
        receipt.fields.get("claim")
        for receipt in parts.store.landings(ledger.lane, limit=RECEIPTS_READ)
    ]
    known = [each["generation"] for each in claims if isinstance(each, dict)]
    highest = max((each for each in known if isinstance(each, int)), default=0)
    return replace(ledger, generation=highest + GENERATION_LEAP) if highest else ledger


def _end(parts: Parts, lane: Lane, pr: int, how: How, evidence: str) -> None:
    now = parts.clock.now()

    def decide(ledger: Ledger) -> tuple[None, Change]:
        own = ledger.of_pull(pr)
        if own is None:
            return None, Change((), ())
        return None, end(ledger, own, how, evidence, now=now).change

    change(parts, lane, decide)


def _released_by_edit(parts: Parts, lane: Lane, pull: PullRequest) -> None:
    own = parts.ledger.read(lane).of_pull(pull.number)
    # A session's claim outlives the block: its owner holds the token and may still be at work.
    if own is not None and not own.proof:
        text = f"the block was taken out of the description of #{pull.number}"
        _end(parts, lane, pull.number, How.RELEASED, text)
