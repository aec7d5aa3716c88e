"""A worker process: one Celery pool over some queues, until a signal ends it.

A host runs two: `gate`, whose children run gates and may be busy for an hour, and `hands`, whose
two children decide, read deliveries and write comments. They are apart so that no long gate keeps
a landing waiting. A fork per child costs little memory and lets a hung task be killed; a message
on an idle queue is picked up within 5 ms.
"""

import logging
import os
import signal
import socket
import warnings
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import structlog
from celery import signals
from celery.apps.worker import Worker

from mergebot.adapters.celery_app import GATE, IO, LANE, make_app
from mergebot.adapters.processes import die_with_parent
from mergebot.ports.errors import Unavailable
from mergebot.settings import Settings
from mergebot.wiring.desk import Desk, desk, start_logging, worker_name
from mergebot.wiring.redis import announcer, beater
from mergebot.worker.tasks import register

log = structlog.get_logger()

HANDS = 4
"""Children that decide and write: while one lands, others take in news and wait for the forge."""

ANNOUNCE_S = 5.0


class Pool(StrEnum):
    """What a worker process does."""

    GATE = "gate"
    HANDS = "hands"


@dataclass(frozen=True, slots=True)
class _Shape:
    queues: tuple[str, ...]
    children: int


def run_worker(settings: Settings, pool: Pool) -> int:
    """Work until SIGTERM, then finish what is under way; return the exit code."""
    start_logging(settings)
    _quiet_celery()
    shape = _shape(settings, pool)
    app = make_app(settings.redis)
    register(app, _DeskKeeper(settings))
    _own_the_children(os.getpid())
    signals.setup_logging.connect(_logging_is_set_up)
    _announce(settings, pool, shape.children)
    worker = Worker(
        app=app,
        hostname=f"{pool}@{socket.gethostname()}",
        pool_cls="prefork",
        concurrency=shape.children,
        queues=list(shape.queues),
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    return int(worker.exitcode or 0)


def _quiet_celery() -> None:
    # It tells of every message at INFO, and our services log what came of it.
    logging.getLogger("celery").setLevel(logging.WARNING)
    # Root is no danger here: messages are JSON, and gates leave root before any step runs.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")


def _shape(settings: Settings, pool: Pool) -> _Shape:
    if pool is Pool.GATE:
        return _Shape((GATE,), settings.workers)
    return _Shape((LANE, IO), HANDS)


class _DeskKeeper:
    """Gives each pool child a desk of its own, made after the fork: no socket is shared."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made: tuple[int, Desk] | None = None

    def __call__(self) -> Desk:
        if self._made is None or self._made[0] != os.getpid():
            self._made = (os.getpid(), desk(self._settings))
        return self._made[1]


def _own_the_children(parent: int) -> None:
    def started(**_: Any) -> None:
        # Otherwise a pool child, and the gate that it started, outlive a killed worker.
        die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    signals.worker_process_init.connect(started, weak=False)


def _logging_is_set_up(**_: Any) -> None:
    """Keep Celery from installing its own logging."""


def _announce(settings: Settings, pool: Pool, children: int) -> None:
    """Show that this worker lives, and how many gates fit here, from its own event loop.

    A loop that hangs falls silent; its slots stop counting, and its supervisor restarts it.
    """
    name = worker_name()
    tell = announcer(settings)
    beat = beater(settings, f"{pool}@{socket.gethostname()}")

    def say(count: int) -> None:
        try:
            beat()
            if pool is Pool.GATE:
                tell(name, count)
        except Unavailable as error:
            log.warning("worker_unheard", why=str(error))

    def ready(sender: Any, **_: Any) -> None:
        say(children)
        sender.timer.call_repeatedly(ANNOUNCE_S, say, (children,))

    signals.worker_ready.connect(ready, weak=False)
    signals.worker_shutting_down.connect(lambda **_: say(0), weak=False)
