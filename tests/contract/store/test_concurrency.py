import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TypeVar

from redis import Redis

from mergebot.adapters.redis.connect import connect
from mergebot.domain.lane import LaneState
from mergebot.domain.story import Entry
from mergebot.ports.leases import HeldLease
from mergebot.ports.store import Commit, Stale, Store
from tests.contract.store.conftest import Kit, redis_kit
from tests.contract.store.test_commit import order
from tests.support.sample import LANE

T = TypeVar("T")

CONTENDERS = 16
ROUNDS = 20
COMMITTERS = 4
COMMITS = 25


def at_once(contend: Callable[[int], T]) -> list[T]:
    """Call `contend` in sixteen threads that start together."""
    barrier = Barrier(CONTENDERS)

    def one(number: int) -> T:
        barrier.wait()
        return contend(number)

    with ThreadPoolExecutor(CONTENDERS) as pool:
        return list(pool.map(one, range(CONTENDERS)))


def count_up(store: Store, times: int) -> int:
    """Commit `times` times and return how often somebody else was faster."""
    stale = 0
    for _ in range(times):
        while True:
            now = store.read(LANE)
            state = replace(now.state, next_seq=now.state.next_seq + 1)
            entry = Entry(0.0, 0, "count", str(state.next_seq))
            try:
                store.commit(now, Commit(state, entries=(entry,)))
            except Stale:
                stale += 1
            else:
                break
    return stale


def count_up_elsewhere(url: str) -> int:
    return count_up(redis_kit(connect(url)).store, COMMITS)


def counted(store: Store, commits: int) -> bool:
    """Tell whether every commit is there, each on top of the one before."""
    found = store.read(LANE)
    story = [entry.text for entry in store.story(LANE, 0, limit=500)]
    counted = (found.revision, found.state.next_seq) == (commits, commits + 1)
    return counted and story == [str(number + 2) for number in range(commits)]


def test_threads_that_commit_to_one_lane_lose_no_update(kit: Kit) -> None:
    with ThreadPoolExecutor(COMMITTERS) as pool:
        list(pool.map(lambda _: count_up(kit.store, COMMITS), range(COMMITTERS)))
    assert counted(kit.store, COMMITTERS * COMMITS)


def test_processes_that_commit_to_one_lane_lose_no_update(client: Redis, valkey_url: str) -> None:
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(COMMITTERS, mp_context=fork) as pool:
        list(pool.map(count_up_elsewhere, [valkey_url] * COMMITTERS))
    assert counted(redis_kit(client).store, COMMITTERS * COMMITS)


def test_one_of_many_takers_gets_a_run(kit: Kit) -> None:
    runs = [f"r{number}" for number in range(ROUNDS)]
    kit.commit(Commit(LaneState(), orders=tuple(order(run) for run in runs)))
    for run in runs:
        taken = at_once(lambda number, run=run: kit.runs.take(LANE, run, f"w{number}", 1.0))  # type: ignore[misc]  # mypy cannot type a lambda's default
        winners = [each for each in taken if each]
        assert len(winners) == 1
        assert kit.runs.get(LANE, run) == winners[0]


def test_one_of_many_contenders_holds_a_lease_under_a_rising_generation(kit: Kit) -> None:
    generations = []
    for _ in range(ROUNDS):
        held = at_once(lambda _: kit.leases.acquire("lane", ttl_s=60.0, purpose="tick"))
        [winner] = [lease for lease in held if lease]
        generations.append(winner.generation)
        released = at_once(lambda number, lease=winner: release(kit, lease, number))  # type: ignore[misc]  # mypy cannot type a lambda's default
        assert released.count(True) == 1
    assert generations == sorted(set(generations))


def release(kit: Kit, lease: HeldLease, number: int) -> bool:
    """Release a lease as its holder (0) or as somebody who guesses its token."""
    return kit.leases.release(lease if number == 0 else replace(lease, token=f"{number:032x}"))


def test_one_of_many_doubled_deliveries_is_kept(kit: Kit) -> None:
    kept = at_once(lambda _: kit.inbox.put("guid", "push", b"{}"))
    assert (kept.count(True), kit.inbox.depth()) == (1, 1)
