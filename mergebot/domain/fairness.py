"""Fairness: whose candidate is gated next, where the rules let no author take the whole window.

Only that choice is bounded. What is gated already keeps its place in the chain, in the order in
which it was gated, so nobody's run is thrown away for fairness; and an author alone may have it all.
"""

from collections import Counter
from collections.abc import Sequence

from mergebot.domain.candidate import Blocked, Candidate, Failing, Kind, Queued, merge_of
from mergebot.domain.ids import Sha


def fairly(chain: Sequence[Candidate], tip: Sha, *, most: int) -> Sequence[Candidate]:
    """Return the chain with those last who wait and whose author has `most` in front of them."""
    repairs = [each for each in chain if each.kind is Kind.REPAIR]
    normal = [each for each in chain if each.kind is not Kind.REPAIR]
    gated = _as_gated([each for each in normal if not isinstance(each.state, Queued)], tip)
    held = Counter(_author(each) for each in gated)
    next_ones, later = list[Candidate](), list[Candidate]()
    for each in normal:
        if isinstance(each.state, Queued):
            (next_ones if held[_author(each)] < most else later).append(each)
            held[_author(each)] += 1
    return (*repairs, *gated, *next_ones, *later)


def _as_gated(gated: Sequence[Candidate], tip: Sha) -> Sequence[Candidate]:
    """Return them as they stand on each other, from the tip up; what stands on none of them last."""
    left, found, base = list(gated), list[Candidate](), tip
    while here := [each for each in left if _base_of(each) == base]:
        ends = [each for each in here if isinstance(each.state, Failing | Blocked)]
        goes_on = [each for each in here if each not in ends][:1]
        found += [*ends, *goes_on]
        left = [each for each in left if each not in found]
        merge = merge_of(goes_on[0].state) if goes_on else None
        if merge is None:
            break
        base = merge.merged
    return (*found, *left)


def _base_of(candidate: Candidate) -> Sha | None:
    if isinstance(candidate.state, Blocked):
        return candidate.state.base
    merge = merge_of(candidate.state)
    return merge.base if merge else None


def _author(candidate: Candidate) -> int:
    return candidate.proposal.author.id
