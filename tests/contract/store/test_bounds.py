from redis import Redis

from mergebot.adapters.clock import SystemClock
from mergebot.adapters.redis.store import RedisStore
from mergebot.domain.limits import WRITES_PER_MINUTE
from tests.contract.store.conftest import Kit
from tests.support.sample import LANE


def test_work_that_does_not_end_is_counted_and_work_that_ends_is_forgotten(kit: Kit) -> None:
    assert [kit.store.begin(LANE, "tick") for _ in range(4)] == [1, 2, 3, 4]
    assert kit.store.begin(LANE, "notice:7") == 1
    kit.store.end(LANE, "tick")
    assert kit.store.begin(LANE, "tick") == 1


def test_an_account_writes_no_more_than_the_forge_allows_in_a_minute(kit: Kit) -> None:
    waits = [kit.store.pace("bot", 2) for _ in range(WRITES_PER_MINUTE // 2 + 1)]
    assert waits[:-1] == [0.0] * (WRITES_PER_MINUTE // 2)
    assert 50.0 < waits[-1] <= 60.0
    assert kit.store.pace("another", 1) == 0.0


def test_what_notices_leave_of_a_minute_is_there_for_hands(kit: Kit) -> None:
    spare = 10
    for _ in range(WRITES_PER_MINUTE - spare):
        assert kit.store.pace("bot", 1, spare=spare) == 0.0
    assert kit.store.pace("bot", 1, spare=spare) > 0.0
    assert kit.store.pace("bot", spare - 1) == 0.0
    assert kit.store.pace("bot", 0, spare=1) == 0.0
    assert kit.store.pace("bot", 1) == 0.0
    assert kit.store.pace("bot", 0, spare=1) > 0.0


def test_a_forge_without_such_a_limit_is_written_to_at_any_rate(client: Redis) -> None:
    store = RedisStore(client, SystemClock(), writes_per_minute=0)
    assert {store.pace("bot", 2) for _ in range(WRITES_PER_MINUTE)} == {0.0}
