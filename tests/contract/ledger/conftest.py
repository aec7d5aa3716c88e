"""One suite for every ledger: each test runs over dictionaries and over a real Valkey."""

from collections.abc import Iterator

import pytest
from redis import Redis

from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.redis.connect import connect
from mergebot.adapters.redis.ledger import RedisLedger
from mergebot.ports.ledger import Ledgers
from tests.support.valkey import valkey_server


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
def ledgers(request: pytest.FixtureRequest) -> Ledgers:
    if request.param == "memory":
        return MemoryLedger()
    return RedisLedger(request.getfixturevalue("client"))
