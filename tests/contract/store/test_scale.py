from time import perf_counter

from redis import Redis

from mergebot.domain.candidate import Queued
from mergebot.domain.lane import LaneState
from mergebot.ports.store import Commit
from tests.contract.store.conftest import redis_kit
from tests.support.sample import LANE, candidate

COUNT = 10_000


def test_a_queue_of_ten_thousand_is_read_while_a_person_waits(client: Redis) -> None:
    queue = tuple(candidate(Queued(), pr=pr) for pr in range(1, COUNT + 1))
    redis_kit(client).commit(Commit(LaneState(), queue))
    fresh = redis_kit(client).store
    started = perf_counter()
    found = fresh.read(LANE)
    assert perf_counter() - started < 3.0, "a cold read takes 0.5 s on one quiet core"
    assert found.candidates == queue
