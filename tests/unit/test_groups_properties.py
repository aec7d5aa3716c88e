"""Random queues, results and events: what no plan may ever break, whatever groups it forms."""

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from mergebot.domain.candidate import Kind, Queued
from tests.support.lanes import HELD, ToyLane

PRS = 9
AT_ONCE = 6
EVENTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, PRS)), min_size=15, max_size=40)


@st.composite
def lanes(draw: st.DrawFn) -> ToyLane:
    pairs = st.frozensets(st.integers(1, PRS), min_size=2, max_size=2)
    return ToyLane(
        workers=draw(st.integers(1, 4)),
        batch=draw(st.sampled_from([0, 1, 2, 3, 8])),
        bad=draw(st.frozensets(st.integers(1, PRS), max_size=3)),
        clash=draw(st.frozensets(pairs, max_size=2)),
        paths={pr: draw(st.sampled_from("abcdefgh")) for pr in range(1, PRS + 1)},
    )


def happen(lane: ToyLane, event: tuple[int, int]) -> None:
    """Let one thing happen: an end of a run, a hold, a hold's end, a push; a tick follows or not."""
    kind, number = event
    running = lane.running
    acts: dict[int, Callable[[], None]] = {
        0: lambda: lane.move(number, HELD),
        1: lambda: lane.move(number, Queued()),
        2: lane.stranger_pushes,
    }
    if kind in acts:
        acts[kind]()
    elif running:
        lane.finish(running[number % len(running)])
    if number % 3:
        lane.tick()


def release(lane: ToyLane) -> None:
    for each in lane.seen.candidates:
        if each.state == HELD:
            lane.move(each.pr, Queued())


@settings(max_examples=60, deadline=None)
@given(lanes(), EVENTS)
def test_landings_are_gated_in_order_and_on_the_tip_and_everything_ends(
    lane: ToyLane, events: list[tuple[int, int]]
) -> None:
    lane.admit(*range(1, AT_ONCE + 1))
    waiting = list(range(AT_ONCE + 1, PRS + 1))
    for event in events:
        if waiting and event[0] > 6:
            lane.admit(waiting.pop(0), kind=Kind.REPAIR if event[0] == 9 else Kind.NORMAL)
        happen(lane, event)
    lane.admit(*waiting)
    release(lane)
    lane.drain()
    assert lane.seen.candidates == ()
    assert lane.works(lane.landed)
    assert not lane.bad & set(lane.landed)
    assert len(lane.landed) == len(set(lane.landed))


@settings(max_examples=60, deadline=None)
@given(lanes(), st.permutations(range(1, PRS + 1)))
def test_only_changes_that_are_bad_or_clash_are_refused(lane: ToyLane, order: list[int]) -> None:
    lane.admit(*sorted(order))
    for number in order:
        lane.tick()
        if running := lane.running:
            lane.finish(running[number % len(running)])
    lane.drain()
    missing = set(range(1, PRS + 1)) - set(lane.landed)
    clashing = frozenset().union(*lane.clash)
    assert lane.bad <= missing <= lane.bad | clashing
    good = set(range(1, PRS + 1)) - lane.bad - clashing
    assert good <= set(lane.landed)
