from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from mergebot.adapters.redis.codec import Unreadable
from mergebot.adapters.redis.connect import check_server, connect
from mergebot.adapters.redis.keys import LANES, LaneKeys
from mergebot.domain.candidate import Queued
from mergebot.domain.lane import LaneState
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.store import Commit
from tests.contract.store.conftest import redis_kit
from tests.support.sample import LANE, candidate


@contextmanager
def setting(client: Redis, name: str, value: str) -> Iterator[None]:
    before = str(client.config_get(name)[name])
    client.config_set(name, value)
    try:
        yield
    finally:
        client.config_set(name, before)


def impatient(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=0.2, retry=Retry(NoBackoff(), 0))


@pytest.mark.parametrize("url", ["unix:///nowhere.sock", "redis://:hunter2@127.0.0.1:1/0"])
def test_a_server_that_is_not_there_is_unavailable(url: str) -> None:
    with pytest.raises(Unavailable) as refusal:
        redis_kit(connect(url)).store.read(LANE)
    assert "hunter2" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_a_server_that_does_not_answer_is_unavailable(client: Redis, valkey_url: str) -> None:
    client.client_pause(500, all=True)
    with pytest.raises(Unavailable, match="in time"):
        redis_kit(impatient(valkey_url)).store.read(LANE)
    assert redis_kit(client).store.read(LANE).revision == 0


def test_a_full_server_changes_nothing(client: Redis) -> None:
    kit = redis_kit(client)
    with setting(client, "maxmemory", "1"), pytest.raises(Unavailable, match="memory"):
        kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    assert kit.store.read(LANE).revision == 0
    assert kit.commit(Commit(LaneState())).revision == 1


def test_a_replica_is_unavailable_for_writes(client: Redis) -> None:
    kit = redis_kit(client)
    client.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(Unavailable, match="read-only"):
            kit.inbox.put("g", "push", b"{}")
    finally:
        client.replicaof("NO", "ONE")


def test_missing_rights_and_wrong_passwords_are_unavailable(client: Redis, valkey_url: str) -> None:
    client.acl_setuser(
        "reader", enabled=True, passwords=["+hunter2"], keys=["x:*"], categories=["+@all"]
    )
    try:
        for password, sentence in (("hunter2", "permission"), ("hunter3", "password")):
            user = Redis.from_url(valkey_url, username="reader", password=password)
            with pytest.raises(Unavailable, match=sentence) as refusal:
                redis_kit(user).store.read(LANE)
            assert password not in str(refusal.value)
    finally:
        client.acl_deluser("reader")


def test_a_commit_whose_answer_was_lost_may_be_sent_again(
    client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mergebot.adapters.redis.store.token_hex", lambda _: "one commit")
    kit = redis_kit(client)
    before = kit.store.read(LANE)
    first = kit.store.commit(before, Commit(LaneState(), (candidate(Queued()),)))
    assert kit.store.commit(before, Commit(LaneState(), (candidate(Queued()),))) == first
    assert kit.store.read(LANE).revision == 1


def test_scripts_are_loaded_again_after_the_server_forgot_them(client: Redis) -> None:
    kit = redis_kit(client)
    kit.commit(Commit(LaneState()))
    client.script_flush()
    assert kit.commit(Commit(LaneState())).revision == 2


def test_a_record_by_another_hand_is_refused_with_its_key(client: Redis) -> None:
    kit = redis_kit(client)
    kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    client.hset(LaneKeys(LANE)("open"), "8", '{"pr":8}')
    client.hset(LANES, "x", "nonsense")
    fresh = redis_kit(client).store
    with pytest.raises(Unreadable, match=r"mb:\{1-\w+\}:open"):
        fresh.read(LANE)
    with pytest.raises(Unreadable, match="mb:lanes"):
        fresh.lanes()


def test_a_server_that_keeps_every_key_passes_the_check(client: Redis) -> None:
    check_server(client)
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_may_evict_keys_is_refused(client: Redis, policy: str) -> None:
    with setting(client, "maxmemory-policy", policy), pytest.raises(Refused, match=policy):
        check_server(client)


def test_where_config_is_refused_the_policy_is_read_from_info(
    client: Redis, valkey_url: str
) -> None:
    client.acl_setuser("app", enabled=True, nopass=True, commands=["+ping", "+info", "+client"])
    try:
        user = Redis.from_url(valkey_url, username="app", password="any")
        check_server(user)
        with (
            setting(client, "maxmemory-policy", "allkeys-lfu"),
            pytest.raises(Refused, match="lfu"),
        ):
            check_server(user)
    finally:
        client.acl_deluser("app")


class OldRedis:
    """What a Redis of 2020 answers."""

    def info(self, section: str) -> dict[str, str]:
        return {"redis_version": "6.0.16"}

    def config_get(self, name: str) -> dict[str, str]:
        return {name: "noeviction"}


def test_an_old_server_is_refused_with_its_version() -> None:
    old: object = OldRedis()
    with pytest.raises(Refused, match=r"6\.0\.16.*6\.2"):
        check_server(old)  # type: ignore[arg-type]  # stands in for a server that no wheel ships


@pytest.mark.parametrize("url", ["http://host", "localhost:6379", "redis://u:hunter2@h:port/0", ""])
def test_an_unusable_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(Refused) as refusal:
        connect(url)
    assert "hunter2" not in str(refusal.value)


def test_a_client_may_be_shared_by_threads(client: Redis) -> None:
    kit = redis_kit(client)
    written = kit.commit(Commit(LaneState(), (candidate(Queued()),)))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(kit.store.read, [LANE] * 40))
    assert all(each.candidates == written.candidates for each in found)
