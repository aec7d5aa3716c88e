"""The doorbell on a real Valkey: rings coalesce, messages are plain, and a dead broker harms nobody."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from redis import Redis
from structlog.testing import capture_logs

from mergebot.adapters.celery_app import GATE, IO, LANE, PUBLISH, TICK, make_app
from mergebot.adapters.celery_bell import CeleryBell
from mergebot.adapters.redis.embedded import EmbeddedValkey
from mergebot.domain.ids import Lane
from tests.support.product import free_port

ONE, OTHER = Lane(1, "o/r", "main"), Lane(2, "o/s", "main")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # A home with a space in it: the address is percent-encoded, and Celery must read it too.
    with EmbeddedValkey(tmp_path_factory.mktemp("a home")) as server:
        yield server.url


@pytest.fixture
def redis(url: str) -> Iterator[Any]:
    client = Redis.from_url(url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def bell(url: str, redis: Redis) -> Iterator[CeleryBell]:
    app = make_app(url)
    yield CeleryBell(app, redis)
    app.close()


def messages(redis: Any, queue: str) -> list[tuple[str, list[str]]]:
    """Return the task and the arguments of every message in a queue, oldest first."""
    found = []
    for raw in reversed(redis.lrange(f"mb:broker:{queue}", 0, -1)):
        message = json.loads(raw)
        arguments = json.loads(base64.b64decode(message["body"]))[0]
        found.append((message["headers"]["task"], arguments))
    return found


def test_rings_for_the_same_work_are_one_message_until_it_is_answered(
    bell: CeleryBell, redis: Redis
) -> None:
    for _ in range(3):
        bell.tick(ONE)
    bell.tick(OTHER)
    assert messages(redis, LANE) == [(TICK, [ONE.key]), (TICK, [OTHER.key])]

    bell.answered(TICK, ONE.key)
    bell.tick(ONE)
    assert len(messages(redis, LANE)) == 3


def test_a_ring_that_nobody_answers_counts_again_within_seconds(
    bell: CeleryBell, redis: Any
) -> None:
    bell.publish(ONE)
    assert 0 < redis.ttl(f"mb:bell:{PUBLISH}:{ONE.key}") <= 3


def test_each_kind_of_work_has_its_queue(bell: CeleryBell, redis: Any) -> None:
    bell.gate(ONE, "run-1")
    bell.intake()
    bell.publish(ONE)
    assert messages(redis, GATE) == [("mergebot.gate", [ONE.key, "run-1"])]
    assert [task for task, _ in messages(redis, IO)] == ["mergebot.intake", PUBLISH]


def test_a_broker_that_is_down_is_logged_and_raises_nothing(tmp_path: Path) -> None:
    dead = f"redis://127.0.0.1:{free_port()}/0"
    app = make_app(dead)
    bell = CeleryBell(app, Redis.from_url(dead))
    with capture_logs() as logs:
        bell.tick(ONE)
        bell.gate(ONE, "run-1")
        bell.answered(TICK, ONE.key)
    app.close()
    assert {each["event"] for each in logs} >= {"ring_lost"}


def test_messages_are_json_and_nothing_asks_for_results(url: str) -> None:
    conf = make_app(url).conf
    assert (conf.task_serializer, conf.accept_content) == ("json", ["json"])
    assert conf.task_ignore_result
    assert conf.result_backend is None
    assert not conf.worker_enable_remote_control


def test_a_misspelt_queue_fails_loudly(url: str) -> None:
    app: Celery = make_app(url)
    with pytest.raises(Exception, match="nowhere"):
        app.send_task(TICK, args=("x",), queue="nowhere")
    app.close()
