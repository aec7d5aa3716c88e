"""One suite for every store: each test runs over dictionaries and over a real Valkey."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from redis import Redis

from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.leases import MemoryLeases
from mergebot.adapters.memory.logs import MemoryLogs
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.redis.connect import connect
from mergebot.adapters.redis.inbox import RedisInbox
from mergebot.adapters.redis.leases import RedisLeases
from mergebot.adapters.redis.logs import RedisLogs
from mergebot.adapters.redis.runs import RedisRuns
from mergebot.adapters.redis.store import RedisStore
from mergebot.domain.lane import Snapshot
from mergebot.ports.inbox import Inbox
from mergebot.ports.leases import Leases
from mergebot.ports.runs import Logs, Runs
from mergebot.ports.store import Commit, Store
from tests.support.sample import LANE
from tests.support.valkey import valkey_server


class WallClock:
    """The machine's time."""

    def now(self) -> float:
        return time.time()


@dataclass(frozen=True, slots=True)
class Kit:
    """The ports of one kind of store, over one record."""

    store: Store
    runs: Runs
    logs: Logs
    inbox: Inbox
    leases: Leases

    def commit(self, commit: Commit) -> Snapshot:
        """Commit to the lane as it is now."""
        return self.store.commit(self.store.read(LANE), commit)


def memory_kit() -> Kit:
    clock = WallClock()
    runs = MemoryRuns()
    return Kit(
        MemoryStore(clock, runs), runs, MemoryLogs(), MemoryInbox(clock), MemoryLeases(clock)
    )


def redis_kit(client: Redis) -> Kit:
    clock = WallClock()
    return Kit(
        RedisStore(client, clock),
        RedisRuns(client),
        RedisLogs(client),
        RedisInbox(client),
        RedisLeases(client, clock),
    )


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    with valkey_server() as url:
        yield url


@pytest.fixture
def client(valkey_url: str) -> Iterator[Redis]:
    client = connect(valkey_url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture(params=["memory", "redis"])
def kit(request: pytest.FixtureRequest) -> Kit:
    if request.param == "memory":
        return memory_kit()
    return redis_kit(request.getfixturevalue("client"))
