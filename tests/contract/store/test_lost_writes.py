import pytest
from redis import Redis

from mergebot.domain.candidate import Queued
from mergebot.domain.lane import LaneState
from mergebot.ports.store import Commit, Stale
from tests.contract.store.conftest import redis_kit
from tests.support.sample import LANE, candidate


def test_a_decision_from_before_a_loss_is_refused_at_the_same_revision(client: Redis) -> None:
    kit = redis_kit(client)
    kit.commit(Commit(LaneState()))
    before = kit.store.read(LANE)
    client.flushdb()
    after = kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    assert after.revision == before.revision
    with pytest.raises(Stale):
        kit.store.commit(before, Commit(LaneState()))
    assert kit.store.read(LANE).candidates == after.candidates
