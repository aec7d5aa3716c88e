"""Which slots count: those that the cores of their hosts have room for."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain.candidate import Candidate
from mergebot.domain.capacity import Capacity, Host, Use, asked, capacity, room
from mergebot.domain.checking import objection
from mergebot.domain.lane import Rules, Snapshot
from mergebot.domain.planning import Prepare, PrepareGroup, plan, ready
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.speculation import pace, window
from mergebot.domain.views import planner_view
from tests.support.builders import POLICY, TIP, candidate, gating, sha, snapshot

BUSY = (1.0,) * 5
HAWK = Host("k1", "hawk", 8, 2.0, BUSY)


def lane(*queue: Candidate, batch: int = 1, fixed: int = 0, host: Host = HAWK) -> Snapshot:
    rules = Rules(TIP, replace(POLICY, queue=QueuePolicy(batch=batch, window=fixed)))
    return replace(snapshot(*queue, rules=rules), slots=host.slots, hosts=(host,))


def test_as_many_slots_count_as_gates_that_compute_have_cores() -> None:
    found = capacity((HAWK,), {}, 8)
    why = "2 of 8 slots count: the last 5 gates on hawk could use 1.0 cores each"
    assert found == Capacity(8, 2, f"{why}, and it has 2 cores")
    assert found.shared


@pytest.mark.parametrize(
    ("asks", "counted"), [(0.0, 8), (0.05, 8), (0.24, 8), (0.5, 4), (1.1, 2), (1.9, 1), (8.0, 1)]
)
def test_gates_that_sleep_share_nothing_and_greedy_ones_leave_one_slot(
    asks: float, counted: int
) -> None:
    assert room(replace(HAWK, asks=(asks,) * 3), None) == counted


@pytest.mark.parametrize("host", [replace(HAWK, asks=(1.0, 1.0)), replace(HAWK, cores=0.0)])
def test_nothing_is_concluded_from_two_runs_or_of_a_host_that_names_no_cores(host: Host) -> None:
    found = capacity((host,), {}, 8)
    assert found == Capacity(8, 8)
    assert found.text == "8 gate slots, and no sign that cores are shared."


def test_one_odd_run_moves_nothing() -> None:
    assert room(replace(HAWK, asks=(0.1, 1.0, 1.0, 1.0, 9.0)), None) == 2


def test_hosts_are_judged_each_by_its_own_cores() -> None:
    owl = Host("k2", "owl", 4, 16.0, BUSY)
    found = capacity((HAWK, owl), {}, 13)
    assert found.counted == 2 + 4 + 1
    assert "owl" not in found.why


@given(
    st.lists(st.floats(0.0, 64.0), max_size=12),
    st.integers(1, 64),
    st.floats(0.0, 64.0),
    st.one_of(st.none(), st.integers(0, 80)),
)
def test_at_least_one_slot_counts_and_never_more_than_there_are(
    asks: list[float], slots: int, cores: float, before: int | None
) -> None:
    assert 1 <= room(Host("k", "h", slots, cores, tuple(asks)), before or None) <= slots


@given(st.floats(1.0, 16.0), st.lists(st.floats(0.0, 0.5), min_size=2, max_size=40))
def test_what_gates_ask_for_may_sway_without_the_number_going_to_and_fro(
    low: float, sways: list[float]
) -> None:
    held: list[int | None] = [None]
    for sway in sways:
        asks = 32.0 / (low + sway)
        held.append(room(Host("k", "h", 32, 32.0, (asks,) * 3), held[-1]))
    changes = sum(one != two for one, two in pairwise(held[1:]))
    assert changes <= 1


def test_a_gate_asks_for_what_it_computes_over_the_time_it_would_take_alone() -> None:
    crowded = Use(cpu_s=10.0, wall_s=40.0, alone_s=10.0)
    sleepy = Use(cpu_s=0.5, wall_s=10.0, alone_s=10.0)
    assert asked([crowded], 41.0, 0.0) == pytest.approx(1.0)
    assert asked([crowded, sleepy], 50.0, 0.0) == pytest.approx(10.5 / 20)
    assert asked([crowded, crowded], 40.0, 0.0) == pytest.approx(2.0)
    assert asked([crowded], 40.0, waited_s=90.0) == pytest.approx(0.1)
    assert asked([], 0.0, 0.0) is None


def test_each_candidate_alone_makes_the_window_shrink_and_never_a_group() -> None:
    busy = lane(gating(1, TIP), gating(2, sha("m1")), *map(candidate, range(3, 9)))
    assert window(busy) == 4
    assert plan(busy) == ()
    one = lane(gating(1, TIP), *map(candidate, range(2, 9)))
    assert plan(one) == (Prepare(2, sha("m1")),)
    assert pace(one, ready(one)).text.endswith("each candidate gated by itself, 2 at once")


def test_where_one_slot_counts_groups_take_the_place_of_speculation() -> None:
    greedy = replace(HAWK, asks=(2.0,) * 3)
    proposals = plan(lane(*map(candidate, range(1, 6)), batch=0, host=greedy))
    assert proposals == (PrepareGroup((1, 2, 3, 4, 5), TIP),)


def test_a_window_that_the_rules_fix_stays() -> None:
    busy = lane(gating(1, TIP), gating(2, sha("m1")), candidate(3), fixed=6)
    assert plan(busy) == (Prepare(3, sha("m2")),)


def test_runs_from_when_more_slots_counted_are_no_reason_to_refuse() -> None:
    queue = [gating(pr, TIP if pr == 2 else sha(f"m{pr - 1}")) for pr in range(2, 9)]
    crowded = lane(candidate(1), *queue)
    assert objection(crowded, Prepare(1, TIP)) is None


def test_the_evidence_is_in_the_lanes_document() -> None:
    view = planner_view(lane())["slots"]
    assert isinstance(view, dict)
    assert (view["announced"], view["counted"]) == (8, 2)
    assert "hawk" in str(view["why"])
