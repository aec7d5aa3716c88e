"""Groups: candidates that share one gate run, of which only the last one's commit is tested.

Every member has a merged commit of its own, on top of the member before it. The run is ordered for
the last one, and its outcome is the outcome of all: they are verified together, and they land in
one push or not at all. A member that leaves takes the group's run with it.

    base ── m4 ── m7 ── m9      one run, on m9; green: #4, #7 and #9 land by one push
"""

from collections.abc import Iterable, Sequence

from mergebot.domain.candidate import (
    ALONE,
    Alone,
    Apart,
    Candidate,
    Company,
    Gating,
    Landing,
    Merge,
    Queued,
    State,
    Together,
    Verified,
)
from mergebot.domain.decision import Decision
from mergebot.domain.gate import Verdict
from mergebot.domain.ids import short
from mergebot.domain.lane import RunOrder, Snapshot
from mergebot.domain.wording import listed

CONFIG_PATHS = (".mergebot.toml", ".github/mergebot.toml")


def company_of(state: State) -> Company:
    """Return the company that a state is in."""
    return state.company if isinstance(state, Queued | Gating) else ALONE


def members_of(company: Company) -> tuple[int, ...]:
    """Return the PRs of a company; none for one that is alone."""
    return () if isinstance(company, Alone) else company.members


def changes_rules(merge: Merge) -> bool:
    """Tell whether a merged commit changes the rules that would judge whoever comes after it."""
    return any(path in CONFIG_PATHS for path in merge.paths)


def fits(taken: Iterable[Merge], merge: Merge) -> bool:
    """Tell whether a merged commit may join those: it shares no file with any of them.

    One that changes the rules goes alone.
    """
    paths = set(merge.paths)
    return not changes_rules(merge) and not any(
        changes_rules(each) or paths.intersection(each.paths) for each in taken
    )


def gate(
    decision: Decision, replayed: Sequence[tuple[Candidate, Merge]], order: RunOrder
) -> Decision:
    """Order one run for all that were replayed, on the last one's merged commit."""
    members = tuple(candidate.pr for candidate, _ in replayed)
    company = _company(replayed[0][0], members)
    since = decision.snapshot.now
    moves = [(each, Gating(merge, order.run, since, company)) for each, merge in replayed]
    base, merged = replayed[0][1].base, replayed[-1][1].merged
    text = f"replayed on {short(base)} as {short(merged)}; its gate is ordered"
    if len(members) > 1:
        names = listed(tuple(f"#{pr}" for pr in members))
        text = f"replayed on {short(base)}; {names} are gated together as {short(merged)}"
    return decision.move_all(moves, text).order(order)


def whole_runs(candidates: Iterable[Candidate]) -> frozenset[str]:
    """Return the runs whose every member still waits for them, or rests on their verdict."""
    found: dict[str, set[int]] = {}
    needed: dict[str, tuple[int, ...]] = {}
    for each in candidates:
        match each.state:
            case Gating(run=run, company=company):
                members = members_of(company)
            case Verified(verdict=Verdict(run=run, group=members)):
                pass
            case _:
                continue
        found.setdefault(run, set()).add(each.pr)
        needed[run] = members or (each.pr,)
    return frozenset(run for run, prs in found.items() if prs.issuperset(needed[run]))


def gated_with(snapshot: Snapshot, candidate: Candidate) -> tuple[Candidate, ...]:
    """Return all that wait for the candidate's run, in landing order; none if one of them left."""
    state = candidate.state
    if not isinstance(state, Gating):
        return ()
    members = members_of(state.company)
    if len(members) < 2:  # noqa: PLR2004  # a group has at least two
        return (candidate,)
    found = {
        each.pr: each
        for each in snapshot.candidates
        if isinstance(each.state, Gating) and each.state.run == state.run
    }
    return tuple(found[pr] for pr in members) if found.keys() >= set(members) else ()


def lands_with(snapshot: Snapshot, candidate: Candidate) -> tuple[Candidate, ...]:
    """Return all that land by the candidate's push, in order; none if its group is not whole."""
    state = candidate.state
    if not isinstance(state, Verified | Landing):
        return ()
    verdict = state.verdict
    if not verdict.group:
        return (candidate,)
    by_pr = {each.pr: each for each in snapshot.candidates if each.pr in verdict.group}
    found = [by_pr[pr] for pr in verdict.group if pr in by_pr]
    base = verdict.base
    for each in found:
        if not isinstance(each.state, type(state)) or each.state.verdict.run != verdict.run:
            return ()
        if each.state.merge.base != base:
            return ()
        base = each.state.merge.merged
    return tuple(found) if len(found) == len(verdict.group) and base == verdict.merged else ()


def _company(first: Candidate, members: tuple[int, ...]) -> Company:
    match company_of(first.state):
        case Apart(others=others):
            return Apart(members, others)
        case Together():
            return Together(members)
        case Alone():
            return Together(members) if len(members) > 1 else ALONE
