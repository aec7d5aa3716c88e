"""Isolation: what becomes of a group when its run ends.

A green group is verified as one. The members of a red one leave the chain, so that it does not
stop, and are gated beside it in halves, on the trunk's tip. A green half lands where nothing was
put on the tip meanwhile, and otherwise rejoins behind those that were. A red half is halved again
down to one candidate, whose red run on a green trunk is evidence. What follows for a half that
was not started yet is concluded without a run.
"""

from collections.abc import Sequence

from mergebot.domain.candidate import (
    ALONE,
    Apart,
    Candidate,
    Gating,
    Landing,
    Merge,
    Queued,
    State,
    Together,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.gate import Passed, Verdict
from mergebot.domain.ids import short
from mergebot.domain.lane import Snapshot
from mergebot.domain.wording import listed

Members = Sequence[Candidate]


def is_apart(candidate: Candidate) -> bool:
    """Tell whether a candidate is tested beside the chain."""
    state = candidate.state
    return isinstance(state, Queued | Gating) and isinstance(state.company, Apart)


def passed(decision: Decision, members: Members, run: str, result: Passed) -> Decision:
    """Conclude from the green run of these candidates, one or a group."""
    snapshot = decision.snapshot
    suspects = is_apart(members[0])
    others = untested(snapshot, members[0])
    if suspects and not _lands_from_here(snapshot, members):
        decision = rejoin(decision, members)
    else:
        decision = _verify(decision, members, run, result)
    if len(others) > 1:
        return halve(decision, others)
    return decision


def halve(decision: Decision, members: Members) -> Decision:
    """Put the members of a red group apart, in halves."""
    middle = len(members) // 2
    halves = members[:middle], members[middle:]
    names = [tuple(each.pr for each in half) for half in halves]
    moves: list[tuple[Candidate, State]] = []
    for half, own, others in zip(halves, names, reversed(names), strict=True):
        moves += [(each, Queued(Apart(own, others))) for each in half]
    text = f"{_names(members)} are red together: they are gated in halves, beside the chain"
    return decision.move_all(moves, text)


def failed(decision: Decision, members: Members) -> Decision:
    """Conclude from the red run of a group; nobody's fault is known yet."""
    others = untested(decision.snapshot, members[0])
    return release(halve(decision, members), others)


def release(decision: Decision, members: Members) -> Decision:
    """Take the suspicion from those whose other half explains why they were red together."""
    if not members:
        return decision
    text = f"the other half explains it: {_names(members)} rejoin the chain"
    return _behind_the_chain(decision, members, [Queued(ALONE)] * len(members), text)


def untested(snapshot: Snapshot, candidate: Candidate) -> Members:
    """Return the other half of a suspect's group, if no run was ordered for it yet."""
    state = candidate.state
    if not isinstance(state, Gating) or not isinstance(state.company, Apart):
        return ()
    half = state.company.others
    return tuple(
        each
        for each in snapshot.candidates
        if each.pr in half
        and isinstance(each.state, Queued)
        and isinstance(each.state.company, Apart)
        and each.state.company.members == half
    )


def _verify(decision: Decision, members: Members, name: str, result: Passed) -> Decision:
    run = decision.snapshot.runs[name]
    merges = [each.state.merge for each in members if isinstance(each.state, Gating)]
    verdict = Verdict(
        base=merges[0].base,
        merged=merges[-1].merged,
        tree=merges[-1].tree,
        run=name,
        spec=run.order.spec.digest,
        worker=run.progress.worker,
        steps=result.steps,
        group=tuple(each.pr for each in members) if len(members) > 1 else (),
        seal=result.seal,
    )
    moves = [(each, Verified(merge, verdict)) for each, merge in zip(members, merges, strict=True)]
    return decision.move_all(moves, f"the gate is green on {short(verdict.merged)}")


def rejoin(decision: Decision, members: Members) -> Decision:
    """Put those who are green apart behind all that was tested meanwhile."""
    company = Together(tuple(each.pr for each in members))
    text = f"{_names(members)} are green apart: they rejoin behind those tested meanwhile"
    return _behind_the_chain(decision, members, [Queued(company)] * len(members), text)


def _behind_the_chain(
    decision: Decision, members: Members, states: Sequence[State], text: str
) -> Decision:
    last = max((each.place[0] for each in _in_flight(decision.snapshot)), default=())
    turn = last[1] if len(last) > 1 else 0
    placed = []
    for number, each in enumerate(members, 1):
        behind = bool(last) and each.place[0] < last
        rank = (last[0], turn + number) if behind else each.rank
        placed.append(_ranked(each, rank))
    return decision.move_all(list(zip(placed, states, strict=True)), text)


def _ranked(candidate: Candidate, rank: tuple[int, ...]) -> Candidate:
    return candidate if rank == candidate.rank else candidate.at_rank(rank)


def _lands_from_here(snapshot: Snapshot, members: Members) -> bool:
    state = members[0].state
    return isinstance(state, Gating) and lands_from(snapshot, state.merge)


def lands_from(snapshot: Snapshot, merge: Merge) -> bool:
    """Tell whether a merged commit stands on the tip, and nobody was put there meanwhile."""
    return merge.base == snapshot.tip and not _in_flight(snapshot)


def _in_flight(snapshot: Snapshot) -> list[Candidate]:
    return [
        each
        for each in snapshot.candidates
        if isinstance(each.state, Gating | Verified | Landing) and not is_apart(each)
    ]


def _names(members: Members) -> str:
    return listed(tuple(f"#{each.pr}" for each in members))
