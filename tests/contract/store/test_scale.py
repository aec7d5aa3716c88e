from redis import Redis

from mergebot.domain.candidate import Queued
from mergebot.domain.lane import LaneState
from mergebot.ports.store import Commit
from tests.contract.store.conftest import redis_kit
from tests.support.sample import LANE, candidate

COUNT = 10_000


def sent_by(client: Redis) -> int:
    """Return how many bytes the server has sent so far."""
    return int(client.info("stats")["total_net_output_bytes"])


def test_a_queue_of_ten_thousand_is_sent_once_for_each_commit(client: Redis) -> None:
    queue = tuple(candidate(Queued(), pr=pr) for pr in range(1, COUNT + 1))
    writer, reader = redis_kit(client), redis_kit(client).store
    writer.commit(Commit(LaneState(), queue))

    begun = sent_by(client)
    assert reader.read(LANE).candidates == queue
    first = sent_by(client)
    assert reader.read(LANE).candidates == queue
    assert writer.store.read(LANE).candidates == queue
    again = sent_by(client)
    assert again - first < (first - begun) / 100

    writer.commit(Commit(LaneState(), (candidate(Queued(), pr=COUNT + 1),)))
    assert len(reader.read(LANE).candidates) == COUNT + 1


def test_what_a_store_knew_of_a_lost_record_is_forgotten_with_it(client: Redis) -> None:
    kit = redis_kit(client)
    kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    client.flushdb()
    assert kit.store.read(LANE).candidates == ()
    kit.commit(Commit(LaneState()))
    assert kit.store.read(LANE).candidates == ()
