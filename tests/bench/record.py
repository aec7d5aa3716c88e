"""What the bot's record says about its gate runs, read straight from its Redis."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redis import Redis

from tests.bench.fleet import Fleet
from tests.bench.stack import Bot


@dataclass(frozen=True, slots=True)
class Run:
    """One gate run; times in seconds since 1970, 0 where there was none yet."""

    ordered_at: float
    taken_at: float
    ended_at: float


def runs(bot: Bot, fleet: Fleet, pull: int) -> list[Run]:
    """Return the runs of a pull request, in the order in which they were ordered."""
    socket = (bot.home / "valkey" / "socket").read_text().strip()
    keys = f"mb:{{{fleet.bare.stem}-*}}:run:*"
    with Redis(unix_socket_path=socket) as client:
        found = [client.hgetall(key) for key in client.scan_iter(keys, count=1000)]
    made = [_run(fields) for fields in found if _pull(fields) == pull]
    return sorted(made, key=lambda run: run.ordered_at)


def _pull(fields: Mapping[bytes, bytes]) -> int:
    return int(json.loads(fields.get(b"order", b"{}")).get("pr", 0))


def _run(fields: Mapping[bytes, bytes]) -> Run:
    order: dict[str, Any] = json.loads(fields[b"order"])
    progress: dict[str, Any] = json.loads(fields.get(b"progress", b"{}"))
    return Run(
        ordered_at=float(order["ordered_at"]),
        taken_at=float(progress.get("started_at", 0.0)),
        ended_at=float(fields.get(b"ended_at", b"0")),
    )
