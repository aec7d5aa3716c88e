"""How soon a gate starts once it is asked for, and how soon it is gone once nobody wants it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep, time

import requests

from tests.bench.fleet import LABEL, Fleet, gate_of, land_by_product, make_fleet
from tests.bench.record import Run, runs
from tests.bench.report import Row, Samples, at_most
from tests.bench.stack import Bot, Stack, stack, wait

COUNT = 8
IDLE_S = 2.0
MARK = "299.125"
"""Seconds that the endless gate sleeps: what its process is recognised by."""
ENDLESS = f"if ls area-*/change.txt; then sleep {MARK}; fi"


def measure() -> Iterator[Row]:
    """Measure starts on an idle and on a busy queue, and ejections."""
    with stack() as running:
        idle = make_fleet(running, "idle", gate_of(0), count=COUNT)
        busy = make_fleet(running, "busy", gate_of(1), count=2 * COUNT)
        endless = make_fleet(running, "endless", ENDLESS, count=COUNT)
        bot = running.bot([idle.repo, busy.repo, endless.repo], workers=4)
        yield from _idle(running, bot, idle)
        yield from _busy(running, bot, busy)
        yield from _ejections(running, bot, endless)


def _idle(running: Stack, bot: Bot, fleet: Fleet) -> Iterator[Row]:
    times, hops = Samples(), Samples()
    for number in fleet.pulls:
        sleep(IDLE_S)
        labelled = time()
        running.hub.add_label(fleet.repo, running.owner, number, LABEL)
        run = _taken(bot, fleet, number)
        times.add(run.taken_at - labelled)
        hops.add(run.taken_at - run.ordered_at)
        wait(lambda: bot.empty(fleet.repo), "an empty queue", within_s=30)
    detail = f"its webhook included; best {_best(times)}; ordered to taken {_ms(hops)}"
    value = times.median * 1000
    yield Row("latency", "idle: label to gate started", value, "ms", at_most(200), detail)


def _busy(running: Stack, bot: Bot, fleet: Fleet) -> Iterator[Row]:
    """A gate that waited for a worker starts when one is free; the others when they are ordered."""
    land_by_product(running, fleet)
    wait(lambda: bot.empty(fleet.repo), "an empty queue", within_s=30)
    found = [run for number in fleet.pulls for run in runs(bot, fleet, number) if run.taken_at]
    ends = sorted(run.ended_at for run in found)
    times = Samples()
    for run in found:
        free_at = [at for at in ends if at <= run.taken_at][-1:]
        times.add(run.taken_at - max([run.ordered_at, *free_at]))
    p95 = times.percentile(0.95) * 1000
    detail = f"best {_best(times)}, p95 {p95:.0f} ms, {len(found)} gates on 4 workers"
    value = times.median * 1000
    yield Row(
        "latency", "busy: ordered, or a worker free, to started", value, "ms", at_most(20), detail
    )


def _ejections(running: Stack, bot: Bot, fleet: Fleet) -> Iterator[Row]:
    times = Samples()
    token = (bot.home / "admin-token").read_text().strip()
    for number in fleet.pulls:
        running.hub.add_label(fleet.repo, running.owner, number, LABEL)
        wait(lambda: bool(_sleepers()), "the gate's process", within_s=30)
        answer = requests.post(
            f"{bot.address}/api/v1/repos/{fleet.repo}/candidates/{number}/cancel",
            headers={"Authorization": f"Bearer {token}"},
            json={},
            timeout=30,
        )
        answer.raise_for_status()
        ended = time()
        wait(lambda: not _sleepers(), "the end of its processes", within_s=30, every_s=0.002)
        times.add(time() - ended)
        wait(lambda: bot.empty(fleet.repo), "an empty queue", within_s=30)
    detail = f"after the answer to the cancelling; worst {times.percentile(1) * 1000:.0f} ms"
    value = times.median * 1000
    yield Row("latency", "ejection to process group gone", value, "ms", at_most(200), detail)


def _taken(bot: Bot, fleet: Fleet, number: int) -> Run:
    def latest() -> list[Run]:
        return [run for run in runs(bot, fleet, number) if run.taken_at]

    wait(lambda: bool(latest()), f"the gate of #{number}", within_s=30)
    return latest()[-1]


def _sleepers() -> list[str]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                words = (process / "cmdline").read_bytes()
                if words.startswith(b"sleep\0") and MARK.encode() in words:
                    found.append(process.name)
    return found


def _ms(samples: Samples) -> str:
    return f"{samples.median * 1000:.0f} ms"


def _best(samples: Samples) -> str:
    return f"{samples.best * 1000:.0f} ms"
