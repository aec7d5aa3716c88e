"""Redis alone: the embedded server, whether a given one is fit, and the list of workers."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from mergebot.adapters.clock import SystemClock
from mergebot.adapters.cores import usable_cores
from mergebot.adapters.pulse import RedisPulse
from mergebot.adapters.redis.connect import about_server, check_server, connect
from mergebot.adapters.redis.embedded import EmbeddedValkey
from mergebot.adapters.redis.runs import RedisRuns
from mergebot.settings import Settings


class Mendable(Protocol):
    """A server that can fall."""

    def mend(self) -> bool:
        """Start it again where it fell, and tell whether it had; raises Refused."""
        ...


def embedded(home: Path) -> AbstractContextManager[Mendable]:
    """Return a server of this process's own, which runs inside a `with`; raises Refused."""
    return EmbeddedValkey(home)


def check_redis(settings: Settings) -> None:
    """Raise Refused, or Unavailable, where the Redis of the settings cannot hold a queue."""
    client = connect(settings.redis)
    try:
        check_server(client)
    finally:
        client.close()


def announcer(settings: Settings) -> Callable[[str, int], None]:
    """Return what tells the planner that a worker has so many slots; it raises Unavailable."""
    runs, clock, cores = RedisRuns(connect(settings.redis)), SystemClock(), usable_cores()

    def announce(worker: str, slots: int) -> None:
        runs.announce(worker, slots, clock.now(), cores)

    return announce


def beater(settings: Settings, part: str) -> Callable[[], None]:
    """Return what says that a part makes progress; it raises Unavailable."""
    pulse, clock = RedisPulse(connect(settings.redis)), SystemClock()
    return lambda: pulse.beat(clock.now(), part)


def pulse_of(settings: Settings) -> Callable[[str], float | None]:
    """Return what tells when a part last made progress; it raises Unavailable."""
    return RedisPulse(connect(settings.redis)).last


def redis_about(settings: Settings) -> str:
    """Return what kind of Redis that is, in one line; raises Unavailable."""
    client = connect(settings.redis)
    try:
        return about_server(client)
    finally:
        client.close()
