"""The doorbell: Celery messages that say where there may be work."""

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from mergebot.adapters.celery_app import INTAKE, PUBLISH, RUN_GATE, TICK
from mergebot.domain.ids import Lane

log = structlog.get_logger()

COALESCE_S = 3
"""How long one ring stands for the next ones; a lost message delays work by this much."""

GATE_COALESCE_S = 15
"""The same for one gate run, whose message may wait long in the queue while every slot is busy."""


class CeleryBell:
    """Rings by Celery. A ring that cannot be sent is logged and forgotten: the reconciler rings.

    Rings for the same work coalesce until a worker answers the first one.
    """

    def __init__(self, app: Celery, client: Redis) -> None:
        self._app = app
        self._client = client

    def tick(self, lane: Lane) -> None:
        """Say that a lane may have something to decide."""
        self._ring_once(TICK, lane.key)

    def gate(self, lane: Lane, run: str) -> None:
        """Say that a gate run waits for a worker."""
        self._ring_once(RUN_GATE, lane.key, run, for_s=GATE_COALESCE_S)

    def publish(self, lane: Lane) -> None:
        """Say that a lane has effects to write."""
        self._ring_once(PUBLISH, lane.key)

    def intake(self) -> None:
        """Say that the inbox has deliveries."""
        self._ring_once(INTAKE)

    def answered(self, task: str, *words: str) -> None:
        """Say that a worker begins with the work, so that the next ring counts again."""
        try:
            self._client.delete(_mark(task, words))
        except RedisError as error:
            log.warning("ring_mark_stays", task=task, why=type(error).__name__)

    def _ring_once(self, task: str, *words: str, for_s: int = COALESCE_S) -> None:
        try:
            first = self._client.set(_mark(task, words), "1", nx=True, ex=for_s)
        except RedisError as error:
            log.warning("ring_lost", task=task, why=type(error).__name__)
            return
        if first:
            self._ring(task, *words)

    def _ring(self, task: str, *words: str) -> None:
        try:
            self._app.send_task(task, args=words, retry=False)
        except (OperationalError, RedisError, OSError) as error:
            log.warning("ring_lost", task=task, why=type(error).__name__)


def _mark(task: str, words: tuple[str, ...]) -> str:
    return ":".join(("mb:bell", task, *words))
