"""The checker: every proposal of the planner is held against the record once more.

The planner only proposes. What it proposes on a base that nobody stands on, for a candidate that
moved on, beyond the budget, against a halt or across somebody's claim is refused by name, counted
and shown. In a healthy lane nothing is ever refused; a count that rises is a mistake of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from mergebot.domain.candidate import (
    Candidate,
    Claim,
    Failing,
    Gating,
    Kind,
    Queued,
    Verified,
    merge_of,
)
from mergebot.domain.decision import Decision
from mergebot.domain.hedging import PrepareHedge, room
from mergebot.domain.ids import Sha, short
from mergebot.domain.isolation import is_apart
from mergebot.domain.lane import Red, Refusals, Snapshot
from mergebot.domain.patterns import Pattern, overlaps, parse
from mergebot.domain.planning import (
    CheckTrunk,
    Land,
    Prepare,
    PrepareGroup,
    Probe,
    Proposal,
    Restart,
    may_land,
)
from mergebot.domain.speculation import most_runs

REMEMBERED = 20
"""Refusals whose sentences are kept, so that the same one is counted once."""


class Refusal(StrEnum):
    """Why a proposal was not followed."""

    OVER_BUDGET = "over_budget"
    WRONG_BASE = "wrong_base"
    HALTED = "halted"
    SUPERSEDED = "superseded"
    CLAIM_CONFLICT = "claim_conflict"


@dataclass(frozen=True, slots=True)
class Objection:
    """What stands against a proposal, in one sentence."""

    reason: Refusal
    text: str


def objection(snapshot: Snapshot, proposal: Proposal | PrepareHedge) -> Objection | None:
    """Return what stands against a proposal, or None where nothing does."""
    state = snapshot.state
    if state.recovering:
        return Objection(Refusal.HALTED, "the queue is being rebuilt")
    match proposal:
        case CheckTrunk(tip) if tip != snapshot.tip:
            return Objection(Refusal.SUPERSEDED, f"{short(tip)} is not the trunk's tip")
        case Probe(commit):
            red = isinstance(state.health, Red) and commit in state.health.suspects
            text = f"{short(commit)} is not suspected of anything"
            return None if red else Objection(Refusal.SUPERSEDED, text)
        case Prepare(pr, base):
            return _to_gating(snapshot, (pr,), base)
        case PrepareGroup(prs, base):
            return _to_gating(snapshot, prs, base)
        case PrepareHedge():
            return _to_hedging(snapshot, proposal)
        case Restart(pr):
            return None if snapshot.candidate(pr) else _gone(pr)
        case Land(pr):
            return _to_landing(snapshot, pr)
        case _:
            return None


def refuse(decision: Decision, against: Objection) -> Decision:
    """Count a refusal and tell it; the same sentence counts once."""
    seen = decision.snapshot.state.refusals
    text = f"{against.reason}: {against.text}"
    if text in seen.recent:
        return decision
    counts = {**seen.counts, against.reason.value: seen.counts.get(against.reason, 0) + 1}
    recent = (*seen.recent, text)[-REMEMBERED:]
    return decision.lane(refusals=Refusals(counts, recent)).tell("refused", f"refused, {text}")


def _to_gating(snapshot: Snapshot, prs: tuple[int, ...], base: Sha) -> Objection | None:
    if _unfinished(snapshot) >= most_runs(snapshot):
        text = f"{_unfinished(snapshot)} gate runs are unfinished already"
        return Objection(Refusal.OVER_BUDGET, text)
    members = {each.pr: each for each in snapshot.candidates if each.pr in prs}
    for pr in prs:
        candidate = members.get(pr)
        if candidate is None or not isinstance(candidate.state, Queued):
            return _gone(pr)
        against = _stopped(snapshot, candidate) or _claimed(snapshot, candidate)
        if against is not None:
            return against
    if base == snapshot.tip:
        return None
    standing = any(_stands_on(each, base) for each in snapshot.candidates)
    if not standing or any(is_apart(each) for each in members.values()):
        text = f"#{prs[0]} is not to be gated on {short(base)}: nobody in the chain stands there"
        return Objection(Refusal.WRONG_BASE, text)
    return None


def _to_hedging(snapshot: Snapshot, proposal: PrepareHedge) -> Objection | None:
    if room(snapshot) < 1:
        return Objection(Refusal.OVER_BUDGET, "no slot is idle for a hedge")
    candidate, ahead = snapshot.candidate(proposal.pr), snapshot.candidate(proposal.without)
    if candidate is None or not isinstance(candidate.state, Gating | Verified | Failing):
        return _gone(proposal.pr)
    if ahead is None or not isinstance(ahead.state, Gating):
        return _gone(proposal.without)
    against = _stopped(snapshot, candidate) or _claimed(snapshot, candidate)
    if against is not None:
        return against
    bases = {hedge.merge.merged for each in snapshot.candidates for hedge in each.hedges}
    merge = merge_of(ahead.state)
    if proposal.base in bases or (merge is not None and proposal.base == merge.base):
        return None
    text = (
        f"nobody is to be hedged on {short(proposal.base)}, which is no chain without #{ahead.pr}"
    )
    return Objection(Refusal.WRONG_BASE, text)


def _to_landing(snapshot: Snapshot, pr: int) -> Objection | None:
    candidate = snapshot.candidate(pr)
    if candidate is None or not isinstance(candidate.state, Verified):
        return _gone(pr)
    against = _stopped(snapshot, candidate)
    if against is not None or may_land(snapshot, candidate):
        return against
    verdict = candidate.state.verdict
    return Objection(
        Refusal.WRONG_BASE,
        f"#{pr} was verified on {short(verdict.base)}, which is not a green tip of the trunk",
    )


def _stopped(snapshot: Snapshot, candidate: Candidate) -> Objection | None:
    if candidate.kind is Kind.REPAIR:
        return None
    if snapshot.state.halt is not None:
        return Objection(Refusal.HALTED, f"#{candidate.pr}: the queue is halted")
    if isinstance(snapshot.state.health, Red):
        return Objection(Refusal.HALTED, f"#{candidate.pr}: the trunk is red")
    return None


def _claimed(snapshot: Snapshot, candidate: Candidate) -> Objection | None:
    """Return whose recorded claim the candidate's own runs across, if one is in flight."""
    own = candidate.claim
    if not isinstance(own, Claim) or not own.generation:
        return None
    mine = _patterns(own)
    for each in snapshot.candidates:
        other = each.claim
        if not isinstance(each.state, Gating | Verified) or not isinstance(other, Claim):
            continue
        if not other.generation or (other.id, other.task) == (own.id, own.task):
            continue
        if any(overlaps(one, two) for one, two in product(mine, _patterns(other))):
            text = f"#{candidate.pr} and #{each.pr} hold claims that overlap"
            return Objection(Refusal.CLAIM_CONFLICT, text)
    return None


def _patterns(claim: Claim) -> list[Pattern]:
    return [found for text in claim.patterns if isinstance(found := parse(text), Pattern)]


def _stands_on(candidate: Candidate, commit: Sha) -> bool:
    state = candidate.state
    return isinstance(state, Gating | Verified) and state.merge.merged == commit


def _unfinished(snapshot: Snapshot) -> int:
    runs = {each.state.run for each in snapshot.candidates if isinstance(each.state, Gating)}
    found: Mapping[str, object] = snapshot.runs
    return sum(name not in found or snapshot.runs[name].result is None for name in runs)


def _gone(pr: int) -> Objection:
    return Objection(Refusal.SUPERSEDED, f"#{pr} is not where the plan took it to be")
