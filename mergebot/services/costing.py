"""Costs that agents report: who may tell them of a claim, once for each reference, and their sum."""

from dataclasses import dataclass, replace

from mergebot.domain.costs import Cost, Reported, Spent, Unusable, differs, priced, spent
from mergebot.domain.holding import Denied
from mergebot.domain.ids import Actor, Lane
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import LedgerClaim
from mergebot.domain.policy import FleetPolicy
from mergebot.domain.pulls import Permission
from mergebot.ports.errors import Missing
from mergebot.ports.ledger import Ledgers
from mergebot.services.parts import Parts

COSTS_READ = 10_000
ENDED_READ = 2000
"""Ended claims looked at: more than a fleet ends in a day."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports, what they may do in the repository, and the digest of a session's token."""

    who: Actor
    permission: Permission
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Booked:
    """What counts for the reference; `fresh` is false where it was reported before."""

    cost: Cost
    fresh: bool


def report_cost(
    parts: Parts, lane: Lane, name: str, said: Reported, *, by: Reporter
) -> Booked | Denied | Unusable:
    """Record what a claim cost, live or ended; raises Unavailable."""
    claim = parts.ledger.find(lane, name)
    if claim is None:
        return Denied(f"there is no claim {name}", gone=True)
    denied = _denied(parts, lane, claim, by)
    if denied:
        return Denied(denied)
    policy = parts.store.read(lane).policy
    cost = priced(claim, said, policy.fleet if policy else FleetPolicy(), by=by.who.login)
    if isinstance(cost, Unusable):
        return cost
    cost = replace(cost, id=parts.tokens.new()[-12:], at=parts.clock.now())
    known = parts.ledger.spend(lane, cost)
    return differs(known, cost) or Booked(known, known.id == cost.id)


def spent_in(ledgers: Ledgers, snapshot: Snapshot) -> Spent:
    """Return what the agents of a repository reported within a day."""
    lane, fleet = snapshot.lane, snapshot.policy.fleet if snapshot.policy else FleetPolicy()
    ended = ledgers.ended(lane, limit=ENDED_READ)
    claims = (*ledgers.read(lane).claims.values(), *ended)
    costs = ledgers.costs(lane, limit=COSTS_READ)
    return spent(costs, claims, fleet, repo=lane.repo, now=snapshot.now)


def _denied(parts: Parts, lane: Lane, claim: LedgerClaim, by: Reporter) -> str:
    """Return why somebody may not speak for a claim: its session, its pull request's author may."""
    if by.proof:
        own = by.proof == claim.proof
        return "" if own else f"this token does not own the claim {claim.id}"
    if by.permission >= Permission.ADMIN or (not claim.proof and _author(parts, lane, claim, by)):
        return ""
    return f"only the owner of the claim {claim.id}, by its token, or an admin reports its cost"


def _author(parts: Parts, lane: Lane, claim: LedgerClaim, by: Reporter) -> bool:
    try:
        return bool(claim.pr) and parts.forge.pull(lane.repo, claim.pr).author.id == by.who.id
    except Missing:
        return False
