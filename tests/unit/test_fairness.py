from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mergebot.domain.candidate import Candidate, Queued, State, Verified
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.lane import Rules
from mergebot.domain.planning import Land, Prepare, Restart, plan
from tests.support.builders import POLICY, TIP, candidate, gating, sha, snapshot, verified
from tests.support.lanes import ToyLane

WINDOW = 4
ORDERS = st.lists(st.integers(1, 3), min_size=1, max_size=12)


class FairLane(ToyLane):
    """A lane in which one who waits for a gate may be passed, but none who could land now."""

    def overtaken(self, members: tuple[Candidate, ...]) -> list[int]:
        passed = [self.seen.candidate(pr) for pr in super().overtaken(members)]
        states = [(each.pr, each.state) for each in passed if each]
        return [pr for pr, state in states if lands_on(state) == self.tip]


def lands_on(state: State) -> Sha | None:
    """Return where a state could land."""
    return state.merge.base if isinstance(state, Verified) else None


def of(author: int, each: Candidate) -> Candidate:
    return replace(each, proposal=replace(each.proposal, author=Actor(author, f"a{author}")))


def rules(share: float) -> Rules:
    return Rules(TIP, replace(POLICY, queue=replace(POLICY.queue, share=share, window=WINDOW)))


def proposed(lane: Sequence[Candidate], share: float) -> object:
    return plan(snapshot(*lane, rules=rules(share)))


def test_another_authors_change_is_gated_before_the_third_of_one_who_has_a_half() -> None:
    lane = [of(1, gating(1, TIP)), of(1, gating(2, sha("m1")))]
    lane += [of(1, candidate(3)), of(1, candidate(4)), of(2, candidate(5))]
    assert proposed(lane, 0.5) == (Prepare(5, sha("m2")),)
    assert proposed(lane, 1.0) == (Prepare(3, sha("m2")),)
    assert proposed(lane[:4], 0.5) == (Prepare(3, sha("m2")),)


def test_what_was_passed_over_goes_behind_what_is_gated_and_throws_nothing_away() -> None:
    lane = [of(1, gating(1, TIP)), of(1, candidate(3)), of(2, gating(5, sha("m1")))]
    assert proposed(lane, 0.5) == (Prepare(3, sha("m5")),)
    lane[0], lane[1] = of(1, verified(1, TIP)), of(1, gating(3, sha("m5")))
    assert proposed(lane, 0.5) == (Land(1),)


@settings(max_examples=100, deadline=None)
@given(ORDERS, st.sampled_from([0.25, 0.5, 0.75]))
def test_no_author_is_chosen_beyond_the_share_while_another_within_it_waits(
    authors: list[int], share: float
) -> None:
    lane = [of(author, candidate(pr)) for pr, author in enumerate(authors, 1)]
    base, most = TIP, int(share * WINDOW)
    held: Counter[int] = Counter()
    for _ in range(WINDOW):
        chosen = proposed(lane, share)
        assert isinstance(chosen, tuple)
        if not chosen:
            break
        (prepare,) = chosen
        assert isinstance(prepare, Prepare), Restart
        assert prepare.base == base
        at = prepare.pr - 1
        waiting = {authors[each.pr - 1] for each in lane if isinstance(each.state, Queued)}
        if held[authors[at]] >= most:
            assert all(held[author] >= most for author in waiting)
        held[authors[at]] += 1
        lane[at] = of(authors[at], gating(prepare.pr, base))
        base = sha(f"m{prepare.pr}")
    assert sum(held.values()) == min(WINDOW, len(authors))


@settings(max_examples=60, deadline=None)
@given(
    ORDERS,
    st.frozensets(st.integers(1, 12), max_size=3),
    st.sampled_from([1, 0, 3]),
    st.lists(st.integers(0, 9), min_size=5, max_size=20),
)
def test_with_a_share_everything_good_lands_and_no_green_run_is_thrown_away(
    authors: list[int], bad: frozenset[int], batch: int, ends: list[int]
) -> None:
    lane = FairLane(workers=2, batch=batch, bad=bad, paths={pr: f"p{pr}" for pr in range(1, 13)})
    policy = replace(POLICY, queue=replace(POLICY.queue, batch=batch, share=0.5))
    lane.seen = replace(lane.seen, state=replace(lane.seen.state, rules=Rules(TIP, policy)))
    lane.admit(*range(1, len(authors) + 1))
    owned = [of(authors[each.pr - 1], each) for each in lane.seen.candidates]
    lane.seen = replace(lane.seen, candidates=tuple(owned))
    lane.tick()
    for number in [*ends, *[0] * 200]:
        if running := lane.running:
            lane.finish(running[number % len(running)])
            lane.tick()
    assert sorted(lane.landed) == [pr for pr in range(1, len(authors) + 1) if pr not in bad]
    if batch == 1 and not bad:
        assert lane.gates == len(authors)
