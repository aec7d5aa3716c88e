from redis import Redis

from mergebot.domain.capacity import Cores
from mergebot.domain.ids import Sha
from mergebot.domain.keeping import KeptStep
from mergebot.domain.lane import LaneState
from mergebot.domain.limits import LOG_KEEP_S
from mergebot.domain.story import Entry
from mergebot.ports.store import Commit
from tests.contract.store.conftest import redis_kit
from tests.contract.store.test_commit import gating, order
from tests.support.sample import LANE, PASSED

DAY_S = 24 * 3600
FOR_EVER = -1


def lives(client: Redis, pattern: str) -> set[int]:
    """Return the whole days that the keys matching `pattern` have left, rounded up."""
    left = [client.ttl(key) for key in client.keys(pattern)]
    return {FOR_EVER if seconds < 0 else -(-seconds // DAY_S) for seconds in left}


def test_what_nobody_asks_for_again_expires_and_the_record_stays(client: Redis) -> None:
    kit = redis_kit(client)
    entries = (Entry(1.0, 7, "note", ""),)
    kit.commit(Commit(LaneState(), (gating("r1"),), orders=(order("r1"),), entries=entries))
    kit.logs.append(LANE, "r1", b"output")
    kit.inbox.put("guid", "push", b"{}")
    kit.store.once(LANE, "topic")
    kit.runs.keep_steps(LANE, {"one": KeptStep("r1", Sha("a" * 40), PASSED)})
    kit.runs.note_use(LANE, Cores("k1", "hawk", 2.0), 1.0)
    lease = kit.leases.acquire("lane", ttl_s=60.0, purpose="tick")
    assert lives(client, "*:kept:*") | lives(client, "*:asks:*") == {14}
    assert lives(client, "*:run:*") | lives(client, "*:log:*") == {LOG_KEEP_S // DAY_S}
    assert lives(client, "*:seen:*") == {7}
    assert lives(client, "*:once:*") == {30}
    assert lives(client, "*:story:*") == {180}
    assert lives(client, "*:state") | lives(client, "*:open") == {FOR_EVER}
    assert lives(client, "*:generation") | lives(client, "*:stream") == {FOR_EVER}
    assert lease is not None
    assert client.exists("mb:{lease:lane}:holder")


def test_every_key_lies_under_the_prefix_that_the_redis_user_may_use(client: Redis) -> None:
    kit = redis_kit(client)
    kit.commit(Commit(LaneState(), (gating("r1"),), orders=(order("r1"),)))
    kit.store.open_lane(LANE)
    kit.runs.announce("w1", 1, 1.0)
    kit.leases.acquire("lane", ttl_s=60.0, purpose="tick")
    kit.inbox.put("guid", "push", b"{}")
    assert len(client.keys("*")) == len(client.keys("mb:*"))
