"""Hedges: what the chain would need next if somebody ahead turned red, gated before it does.

Whoever stands behind a candidate that looks risky is gated once more, on the chain without it, on
a slot that nobody else has a use for. If the risky one turns red, those behind it go on with that
run instead of a fresh one. A hedge changes which gates run and never what lands: its result counts
for exactly its own merged commit, and only once the chain has need of that one.

    tip ── #4 gating, risky ── #7 gating        a hedge of #7 is gated on the tip, without #4
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mergebot.domain.candidate import (
    ALONE,
    Candidate,
    Failing,
    Gating,
    Hedge,
    Merge,
    Verified,
    merge_of,
    runs_of,
)
from mergebot.domain.decision import Decision
from mergebot.domain.gate import Failed, GateResult, GateSpec, NoVerdict
from mergebot.domain.groups import changes_rules
from mergebot.domain.ids import Sha, short
from mergebot.domain.judging import outcome
from mergebot.domain.lane import RunOrder, Snapshot
from mergebot.domain.names import shown
from mergebot.domain.planning import standing
from mergebot.domain.policy import Hedging
from mergebot.domain.trials import idle
from mergebot.domain.wording import count

HEARD_MIN = 5
RED_SHARE = 0.25
"""Of the last results, from `HEARD_MIN` on: where more are red, every gate may well be."""


@dataclass(frozen=True, slots=True)
class PrepareHedge:
    """Gate the PR on `base` too, where it stands if `without` turns red, which `why` makes likely."""

    pr: int
    base: Sha
    without: int
    why: str


@dataclass(frozen=True, slots=True)
class Hedges:
    """The runs that an outcome can still use, and what an idle slot should gate next."""

    kept: frozenset[str]
    proposed: tuple[PrepareHedge, ...]


NONE = Hedges(frozenset(), ())


def hedges(snapshot: Snapshot) -> Hedges:
    """Return which hedges are worth their slot, the likeliest to be needed first."""
    policy = snapshot.policy
    if policy is None or policy.queue.hedge is Hedging.OFF or policy.gate.external.checks:
        return NONE
    wanted = [each for found in _alternatives(snapshot) for each in _wanted(snapshot, *found)]
    running = [each.run for each in wanted if isinstance(each, Hedge) and _goes_on(snapshot, each)]
    free = idle(snapshot)
    stopped = running[max(free, 0) :]
    proposed = [each for each in wanted if isinstance(each, PrepareHedge)]
    kept = {each.run for each in wanted if isinstance(each, Hedge)}.difference(stopped)
    return Hedges(frozenset(kept), tuple(proposed[: max(0, free - len(running))]))


def _wanted(
    snapshot: Snapshot, without: Candidate, why: str, behind: Sequence[Candidate]
) -> Iterator[Hedge | PrepareHedge]:
    """Yield the hedges of those behind a candidate, and the next one that is still to be made."""
    merge = merge_of(without.state)
    base = merge.base if merge else None
    for each in behind:
        found = _on(each, base)
        if base is None:
            return
        if found is None:
            yield PrepareHedge(each.pr, base, without.pr, why)
            return
        yield found
        if not isinstance(_result(snapshot, found), Failed):
            base = found.merge.merged


def _goes_on(snapshot: Snapshot, hedge: Hedge) -> bool:
    return _result(snapshot, hedge) is None


def _result(snapshot: Snapshot, hedge: Hedge) -> GateResult | None:
    """Return how a hedge ended, None while it may still; one that was just ordered has no run yet."""
    run = snapshot.runs.get(hedge.run)
    return outcome(run, snapshot.now) if run else None


def room(snapshot: Snapshot) -> int:
    """Return how many slots are idle beside the hedges that run."""
    every = [hedge for each in snapshot.candidates for hedge in each.hedges]
    return idle(snapshot) - sum(_goes_on(snapshot, hedge) for hedge in every)


def drop(decision: Decision) -> Decision:
    """Stop the hedges that no outcome can use any more, or whose slot another gate needs."""
    kept = hedges(decision.snapshot).kept
    for candidate in decision.snapshot.candidates:
        left = tuple(each for each in candidate.hedges if each.run in kept)
        if left != candidate.hedges:
            fewer = replace(candidate, hedges=left)
            decision = decision.put(fewer)
            for run in sorted(runs_of(candidate) - runs_of(fewer)):
                decision = decision.stop(run)
    return decision


def start(decision: Decision, proposal: PrepareHedge, merge: Merge, order: RunOrder) -> Decision:
    """Order the run of a hedge whose merged commit was made."""
    candidate = decision.snapshot.candidate(proposal.pr)
    if candidate is None:
        return decision
    now = decision.snapshot.now
    hedge = Hedge(merge, order.run, now, proposal.without, proposal.why)
    text = (
        f"gated as {short(merge.merged)} too, without #{proposal.without}, on an idle slot:"
        f" {proposal.why}"
    )
    hedged = replace(candidate, hedges=(*candidate.hedges, hedge))
    return decision.put(hedged).order(order).tell("hedge", text, pr=candidate.pr)


def usable(snapshot: Snapshot, candidate: Candidate, merge: Merge, spec: GateSpec) -> Hedge | None:
    """Return the hedge that gates exactly this merged commit by exactly this gate."""
    for each in candidate.hedges:
        run = snapshot.runs.get(each.run)
        if each.merge != merge or run is None or run.order.spec != spec:
            continue
        if not isinstance(outcome(run, snapshot.now), NoVerdict):
            return each
    return None


def adopt(decision: Decision, candidate: Candidate, hedge: Hedge) -> Decision:
    """Go on with a hedge's run as the candidate's own: what it was without is red."""
    left = tuple(each for each in candidate.hedges if each != hedge)
    text = (
        f"replayed on {short(hedge.merge.base)} as {short(hedge.merge.merged)}, which is gated"
        f" already, in case #{hedge.without} would turn red"
    )
    state = Gating(hedge.merge, hedge.run, hedge.since)
    return decision.move(replace(candidate, hedges=left), state, text)


def _alternatives(
    snapshot: Snapshot,
) -> Sequence[tuple[Candidate, str, Sequence[Candidate]]]:
    """Return who may turn red, why, and those behind it; named reasons come first."""
    chain = _hedgeable(standing(snapshot))
    general = _general(snapshot)
    named, others = [], []
    for place, each in enumerate(chain[:-1]):
        state = each.state
        if not isinstance(state, Gating):
            continue
        why = _risk(each, chain[:place]) or general
        if why:
            named.append((each, why, chain[place + 1 :]))
        elif snapshot.policy and snapshot.policy.queue.hedge is Hedging.IDLE:
            others.append((each, "a slot is idle", chain[place + 1 :]))
    return (*named, *others)


def _hedgeable(chain: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the front of the chain in which each is gated by itself, under one set of rules."""
    found = []
    for each in chain:
        state = each.state
        match state:
            case Gating(company=company) if company == ALONE:
                pass
            case Verified(verdict=verdict) if not verdict.group:
                pass
            case Failing():
                pass
            case _:
                break
        found.append(each)
        if changes_rules(state.merge):
            break
    return found


def _risk(candidate: Candidate, ahead: Sequence[Candidate]) -> str:
    """Return what is known that makes a candidate likelier to fail than others, "" for nothing."""
    failures = candidate.budget.failures
    if failures:
        return f"#{candidate.pr} was red {count(failures, 'time')} before"
    if candidate.red_check:
        return f"{shown(candidate.red_check)} was red on #{candidate.pr} when it was queued"
    paths = _paths(candidate)
    for each in reversed(ahead):
        shared = sorted(paths & _paths(each))
        if shared:
            path = shown(shared[0])
            return f"#{candidate.pr} changes {path}, as #{each.pr} ahead of it does"
    return ""


def _general(snapshot: Snapshot) -> str:
    heard = snapshot.state.heard
    red = sum(bool(each.step) for each in heard)
    if len(heard) < HEARD_MIN or red <= RED_SHARE * len(heard):
        return ""
    return f"{red} of the last {len(heard)} gates were red"


def _paths(candidate: Candidate) -> frozenset[str]:
    merge = merge_of(candidate.state)
    return frozenset(merge.paths) if merge else frozenset()


def _on(candidate: Candidate, base: Sha | None) -> Hedge | None:
    return next((each for each in candidate.hedges if each.merge.base == base), None)
