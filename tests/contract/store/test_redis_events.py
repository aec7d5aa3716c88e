from collections.abc import Iterator

from redis import Redis

from mergebot.adapters.redis.events import Moved, RedisEvents
from mergebot.domain.lane import LaneState, RunProgress
from mergebot.ports.store import Commit
from tests.contract.store.conftest import redis_kit
from tests.contract.store.test_commit import gating, order
from tests.support.sample import LANE
from tests.support.waiting import eventually


def news(listening: Iterator[Moved | None]) -> Moved:
    moved = eventually(lambda: next(listening), within_s=5.0, what="a lane's news arrives")
    assert moved is not None
    return moved


def test_listeners_hear_of_commits_and_of_a_runs_steps(client: Redis) -> None:
    kit = redis_kit(client)
    listening = RedisEvents(client).listen(timeout_s=0.05)
    assert next(listening) is None
    kit.commit(Commit(LaneState(), (gating("r1"),), orders=(order("r1"),)))
    assert news(listening) == Moved(LANE.key, 1)
    kit.runs.take(LANE, "r1", "w1", 1.0)
    assert news(listening) == Moved(LANE.key, 1)
    kit.runs.beat(LANE, "r1", RunProgress("w1", beat=2.0, step="test"))
    assert news(listening) == Moved(LANE.key, 1)
    kit.runs.beat(LANE, "r1", RunProgress("w1", beat=3.0, step="test"))
    assert next(listening) is None


def test_news_that_is_none_is_ignored(client: Redis) -> None:
    listening = RedisEvents(client).listen(timeout_s=0.05)
    assert next(listening) is None
    client.publish("mb:events", "nonsense")
    assert next(listening) is None
