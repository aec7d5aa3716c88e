"""The planner: what should run, stop and land, from one snapshot.

The open candidates that are ready form a chain over the trunk's tip: each is gated on the merged
commit of the nearest one ahead that is not failing. A plan only proposes. Replaying a head needs
git, so a candidate without a merged commit ends the chain for this round; the caller replays it
and asks again.

    tip ── #4 verified ── #7 gating ── #9 queued      proposes Land(4), then Prepare(9, on #7's)
"""

from dataclasses import dataclass

from mergebot.domain.candidate import (
    Blocked,
    Candidate,
    Failing,
    Gating,
    Kind,
    Landing,
    Merge,
    Parked,
    Queued,
    Verified,
)
from mergebot.domain.ids import Sha
from mergebot.domain.lane import Checking, Green, Red, Snapshot, UnknownHealth
from mergebot.domain.policy import Culprit

CONFIG_PATHS = (".mergebot.toml", ".github/mergebot.toml")


@dataclass(frozen=True, slots=True)
class CheckTrunk:
    """Gate the trunk's tip itself: nobody knows its health."""

    tip: Sha


@dataclass(frozen=True, slots=True)
class Probe:
    """Gate one suspect commit, to find the first bad one."""

    commit: Sha


@dataclass(frozen=True, slots=True)
class Prepare:
    """Replay the PR's head on `base`, check its scope, and gate the result."""

    pr: int
    base: Sha


@dataclass(frozen=True, slots=True)
class Restart:
    """Give up the PR's run or verdict: the base under it is not the one it needs any more."""

    pr: int


@dataclass(frozen=True, slots=True)
class Land:
    """Land the PR: it is verified, at the front, on the tip."""

    pr: int


Proposal = CheckTrunk | Probe | Prepare | Restart | Land


def plan(snapshot: Snapshot) -> tuple[Proposal, ...]:
    """Return what to do next, in order; nothing while the lane has no gate or no tip."""
    tip = snapshot.tip
    policy = snapshot.policy
    if policy is None or not policy.gate.steps or tip is None or snapshot.state.recovering:
        return ()
    if any(isinstance(each.state, Landing) for each in snapshot.candidates):
        return ()
    return (*_for_the_trunk(snapshot, tip), *_for_the_queue(snapshot, tip))


def window(snapshot: Snapshot) -> int:
    """Return how many candidates may be gated at once: twice the workers unless the rules say."""
    policy = snapshot.policy
    fixed = policy.queue.window if policy else 0
    return fixed or max(2, 2 * snapshot.slots)


def in_order(snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the candidates in the order they may land: repairs first, then by admission."""
    return tuple(
        sorted(snapshot.candidates, key=lambda each: (each.kind is not Kind.REPAIR, each.seq))
    )


def ready(snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return those that can move: none parked, and under a red trunk or a halt only repairs."""
    stopped = isinstance(snapshot.state.health, Red) or snapshot.state.halt is not None
    return tuple(
        each
        for each in in_order(snapshot)
        if not isinstance(each.state, Parked) and (not stopped or each.kind is Kind.REPAIR)
    )


def may_land(snapshot: Snapshot, candidate: Candidate) -> bool:
    """Tell whether the lane lets this candidate land now, as far as the lane alone knows.

    A hand-made halt stops everyone; a red trunk stops all but repairs; unknown is never a pass.
    """
    state = snapshot.state
    if state.halt is not None or state.recovering or not isinstance(candidate.state, Verified):
        return False
    if candidate.state.merge.base != snapshot.tip:
        return False
    match state.health:
        case Green(tip):
            return tip == snapshot.tip
        case Red(tip):
            return tip == snapshot.tip and candidate.kind is Kind.REPAIR
        case _:
            return False


def _for_the_trunk(snapshot: Snapshot, tip: Sha) -> tuple[Proposal, ...]:
    match snapshot.state.health:
        case UnknownHealth(retry_at=retry_at):
            return (CheckTrunk(tip),) if retry_at <= snapshot.now else ()
        case Checking(checked) if checked != tip:
            return (CheckTrunk(tip),)
        case Red(probe="") as red if len(red.suspects) > 1 and _bisects(snapshot):
            return (Probe(red.suspects[(len(red.suspects) - 1) // 2]),)
        case _:
            return ()


def _for_the_queue(snapshot: Snapshot, tip: Sha) -> tuple[Proposal, ...]:
    base = tip
    front = True
    for candidate in ready(snapshot)[: window(snapshot)]:
        merge = _merge_on(candidate, base)
        if isinstance(candidate.state, Blocked) and candidate.state.base == base:
            continue
        if merge is None:
            if isinstance(candidate.state, Queued):
                return (Prepare(candidate.pr, base),)
            return (Restart(candidate.pr),)
        if front and may_land(snapshot, candidate):
            return (Land(candidate.pr),)
        if isinstance(candidate.state, Failing):
            continue
        front = False
        if any(path in CONFIG_PATHS for path in merge.paths):
            return ()
        base = merge.merged
    return ()


def _bisects(snapshot: Snapshot) -> bool:
    policy = snapshot.policy
    return policy is not None and policy.health.culprit is Culprit.BISECT


def _merge_on(candidate: Candidate, base: Sha) -> Merge | None:
    """Return the candidate's merged commit if it stands on `base`."""
    match candidate.state:
        case Gating(merge) | Failing(merge) | Verified(merge) if merge.base == base:
            return merge
        case _:
            return None
