"""The planner: what should run, stop and land, from one snapshot.

The open candidates that are ready form a chain over the trunk's tip: each is gated on the merged
commit of the nearest one ahead that is not failing. Where the rules allow it, neighbours in the
chain share one run (groups.py), and members of a red group are gated beside it (isolation.py). A
plan only proposes. Replaying a head needs git, so a candidate without a merged commit ends the
chain for this round; the caller replays it and asks again.

    tip ── #4 verified ── #7 gating ── #9 queued      proposes Land(4), then Prepare(9, on #7's)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mergebot.domain import groups
from mergebot.domain.candidate import (
    ALONE,
    Blocked,
    Candidate,
    Failing,
    Gating,
    Kind,
    Landing,
    Merge,
    Parked,
    Queued,
    Unjudged,
    Verified,
    merge_of,
    run_of,
)
from mergebot.domain.fairness import fairly
from mergebot.domain.ids import Sha
from mergebot.domain.isolation import is_apart
from mergebot.domain.lane import Checking, Green, Red, Snapshot, UnknownHealth
from mergebot.domain.policy import Culprit
from mergebot.domain.speculation import Pace, pace, window

CONFIG_PATHS = groups.CONFIG_PATHS


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
class PrepareGroup:
    """Replay these PRs in order, each on the one before, and gate the last one's commit for all.

    Whoever shares a file with one before it ends the group; whoever cannot be replayed is left out.
    """

    prs: tuple[int, ...]
    base: Sha


@dataclass(frozen=True, slots=True)
class Restart:
    """Give up the PR's run or verdict: the base under it is not the one it needs any more."""

    pr: int


@dataclass(frozen=True, slots=True)
class Land:
    """Land the PR, and its group with it: it is verified, at the front, on the tip."""

    pr: int


Proposal = CheckTrunk | Probe | Prepare | PrepareGroup | Restart | Land


def plan(snapshot: Snapshot) -> tuple[Proposal, ...]:
    """Return what to do next, in order; nothing while the lane has no gate or no tip."""
    tip = snapshot.tip
    policy = snapshot.policy
    if policy is None or policy.gate.empty or tip is None or snapshot.state.recovering:
        return ()
    if any(isinstance(each.state, Landing) for each in snapshot.candidates):
        return ()
    return (*_for_the_trunk(snapshot, tip), *_for_the_queue(snapshot, tip))


def in_order(snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the candidates in the order they may land: repairs first, then by their place."""
    return tuple(
        sorted(snapshot.candidates, key=lambda each: (each.kind is not Kind.REPAIR, each.place))
    )


def ready(snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return those that can move: none parked or judged, under a red trunk or a halt only repairs."""
    stopped = isinstance(snapshot.state.health, Red) or snapshot.state.halt is not None
    return tuple(
        each
        for each in in_order(snapshot)
        if not isinstance(each.state, Parked)
        and not _judged(each)
        and (not stopped or each.kind is Kind.REPAIR)
    )


def _judged(candidate: Candidate) -> bool:
    state = candidate.state
    return isinstance(state, Failing) and not isinstance(state.judging, Unjudged)


def standing(snapshot: Snapshot) -> tuple[Candidate, ...]:
    """Return the candidates that stand on each other, from the tip up.

    A red one is among them while its base is not known to be green; nobody stands on it.
    """
    base, found = snapshot.tip, list[Candidate]()
    if base is None:
        return ()
    whole = groups.whole_runs(snapshot.candidates)
    able = [each for each in ready(snapshot) if not is_apart(each)]
    for each in _chain(snapshot, able, base):
        merge = None if _torn(each, whole) else _merge_on(each, base)
        if merge is not None:
            found.append(each)
            base = base if isinstance(each.state, Failing) else merge.merged
    return tuple(found)


def may_land(snapshot: Snapshot, candidate: Candidate) -> bool:
    """Tell whether the lane lets this candidate land now, as far as the lane alone knows.

    A hand-made halt stops everyone; a red trunk stops all but repairs; unknown is never a pass.
    """
    state = snapshot.state
    if state.halt is not None or state.recovering or not isinstance(candidate.state, Verified):
        return False
    members = groups.lands_with(snapshot, candidate)
    if not members or _base_of(members[0]) != snapshot.tip:
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
    able = ready(snapshot)
    how = pace(snapshot, able)
    whole = groups.whole_runs(snapshot.candidates)
    room = how.runs - _unfinished(snapshot)
    apart = [each for each in able if is_apart(each)]
    torn = [each.pr for each in apart if isinstance(each.state, Gating) and _torn(each, whole)]
    if torn:
        return tuple(Restart(pr) for pr in torn)
    chain = _chain(snapshot, [each for each in able if not is_apart(each)], tip)
    along = _along(snapshot, chain, tip, how=how, whole=whole, room=room)
    suspects = [each for each in apart if isinstance(each.state, Queued)]
    if suspects and room > 0 and not any(isinstance(each, Land | Restart) for each in along):
        return (_prepare(suspects, tip, how),)
    return along


def _chain(snapshot: Snapshot, able: Sequence[Candidate], tip: Sha) -> Sequence[Candidate]:
    """Return the candidates in the order in which they are gated: a share of the window each."""
    share = snapshot.policy.queue.share if snapshot.policy else 1.0
    if share >= 1.0:
        return able
    return fairly(able, tip, most=max(1, int(share * window(snapshot))))


def _along(
    snapshot: Snapshot,
    chain: Sequence[Candidate],
    base: Sha,
    *,
    how: Pace,
    whole: frozenset[str],
    room: int,
) -> tuple[Proposal, ...]:
    """Walk the chain up to the first one that needs something done."""
    nodes: set[str | None] = set()
    front = True
    for place, candidate in enumerate(chain[: how.window]):
        state = candidate.state
        merge = None if _torn(candidate, whole) else _merge_on(candidate, base)
        if isinstance(state, Blocked) and state.base == base:
            continue
        if merge is None and isinstance(state, Queued):
            full = room < 1 or len(nodes) >= how.nodes
            waiting = chain[place : how.window]
            return () if full else (_prepare(waiting, base, how),)
        if merge is None:
            return tuple(Restart(pr) for pr in _fallen(chain[place:]))
        if front and may_land(snapshot, candidate):
            return (Land(candidate.pr),)
        if isinstance(state, Failing):
            continue
        front = False
        if groups.changes_rules(merge):
            return ()
        nodes.add(run_of(state))
        base = merge.merged
    return ()


def _prepare(waiting: Sequence[Candidate], base: Sha, how: Pace) -> Prepare | PrepareGroup:
    """Propose the first of those who wait, with as many behind it as go with it.

    One that is gated on this base already goes by itself.
    """
    if any(each.merge.base == base for each in waiting[0].hedges):
        return Prepare(waiting[0].pr, base)
    first = groups.company_of(waiting[0].state)
    size = how.size if first == ALONE else how.cap
    unit: list[int] = []
    for each in waiting[:size]:
        if not isinstance(each.state, Queued) or groups.company_of(each.state) != first:
            break
        unit.append(each.pr)
    return PrepareGroup(tuple(unit), base) if len(unit) > 1 else Prepare(unit[0], base)


def _fallen(chain: Sequence[Candidate]) -> Iterator[int]:
    """Yield the first, and all behind it that stand on it: the chain is rebuilt in one go."""
    yield chain[0].pr
    if isinstance(chain[0].state, Gating | Verified):
        for each in chain[1:]:
            if isinstance(each.state, Gating | Verified | Failing):
                yield each.pr


def _torn(candidate: Candidate, whole: frozenset[str]) -> bool:
    """Tell whether its run is that of a group that somebody left."""
    state = candidate.state
    return isinstance(state, Gating | Verified) and run_of(state) not in whole


def _unfinished(snapshot: Snapshot) -> int:
    """Return how many runs of candidates have not ended."""
    runs = {each.state.run for each in snapshot.candidates if isinstance(each.state, Gating)}
    ended = sum(name in snapshot.runs and snapshot.runs[name].result is not None for name in runs)
    return len(runs) - ended


def _base_of(candidate: Candidate) -> Sha | None:
    merge = merge_of(candidate.state)
    return merge.base if merge else None


def _bisects(snapshot: Snapshot) -> bool:
    policy = snapshot.policy
    if policy is None or policy.own_gate.empty or policy.trunk_check == "external":
        return False
    return policy.health.culprit is Culprit.BISECT


def _merge_on(candidate: Candidate, base: Sha) -> Merge | None:
    """Return the candidate's merged commit if it stands on `base`."""
    match candidate.state:
        case Gating(merge) | Failing(merge) | Verified(merge) if merge.base == base:
            return merge
        case _:
            return None
