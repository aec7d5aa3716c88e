"""The queue page and its JSON twin over a real Valkey, with 10, 1,000 and 10,000 entries."""

import os
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic

import requests

from mergebot.adapters.clock import SystemClock
from mergebot.adapters.redis.connect import connect
from mergebot.adapters.redis.embedded import EmbeddedValkey
from mergebot.adapters.redis.store import RedisStore
from mergebot.domain.candidate import Parked, Queued
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Green, LaneState, Rules
from mergebot.domain.reasons import Reason
from mergebot.ports.store import Commit
from tests.bench.report import Row, Samples, at_most
from tests.bench.stack import Setting, Stack, answers, free_port, running, stack, wait
from tests.support.sample import BASE, POLICY, candidate

SIZES = (10, 1_000, 10_000)
ROUNDS = 9
CHUNK = 2_000


def measure() -> Iterator[Row]:
    """Serve three queues by one web process and time page, search and API."""
    with stack() as forge, EmbeddedValkey(forge.home / "valkey-home") as valkey:
        repos = {size: forge.hub.create_repository(forge.owner, f"q{size}") for size in SIZES}
        for size, repo in repos.items():
            _fill(forge, valkey.url, repo, size)
        address = f"http://127.0.0.1:{free_port()}"
        setting = _setting(forge, valkey.url, address, list(repos.values()))
        with running("web", settings=setting):
            wait(lambda: answers(f"{address}/readyz"), "the web's start", within_s=60)
            for size, repo in repos.items():
                yield from _time(address, repo, size)


def _time(address: str, repo: str, size: int) -> Iterator[Row]:
    largest = size == SIZES[-1]
    places = {
        "page": f"/{repo}",
        "page, searched": f"/{repo}?q=number+7",
        "API, 1,000 entries of it": f"/api/v1/repos/{repo}/queue",
        "API, one candidate": f"/api/v1/repos/{repo}/candidates/7",
    }
    for what, path in places.items():
        times, bytes_ = Samples(), 0
        for _ in range(ROUNDS):
            begun = monotonic()
            answer = requests.get(address + path, timeout=60)
            times.add(monotonic() - begun)
            answer.raise_for_status()
            bytes_ = len(answer.content)
        aim = at_most(300) if largest and what.startswith("page") else None
        best, worst = times.best * 1000, times.percentile(1) * 1000
        detail = f"best of {ROUNDS}: {best:.0f} ms, worst {worst:.0f} ms; {bytes_ // 1024} KiB"
        yield Row("pages", f"{size:,} entries: {what}", times.median * 1000, "ms", aim, detail)


def _fill(forge: Stack, url: str, repo: str, size: int) -> None:
    """Queue so many candidates, every fifth of them parked."""
    number = int(forge.bare(repo).stem)
    lane = Lane(number, repo, "main")
    clock = SystemClock()
    store = RedisStore(connect(url), clock)
    store.open_lane(lane)
    now = clock.now()
    state = LaneState(known_tip=BASE, health=Green(BASE, now - 700), rules=Rules(BASE, POLICY))
    parked = Parked(Reason.HELD, "on hold: somebody set the label merge-queue-hold")
    made = [
        replace(candidate(Queued() if n % 5 else parked, pr=n), enqueued_at=now - size + n)
        for n in range(1, size + 1)
    ]
    for start in range(0, size, CHUNK):
        store.commit(store.read(lane), Commit(state, tuple(made[start : start + CHUNK])))


def _setting(forge: Stack, redis: str, address: str, repos: list[str]) -> Setting:
    account = forge.hub.person("web-bot")
    for repo in repos:
        forge.hub.allow(repo, forge.owner, account, "admin")
    environment = {
        "MERGEBOT_HOME": os.fspath(forge.home / "web"),
        "MERGEBOT_PORT": address.rpartition(":")[2],
        "MERGEBOT_GITHUB_URL": forge.hub.api,
        "MERGEBOT_GITHUB_TOKEN": account.token,
        "MERGEBOT_REPOS": ",".join(repos),
        "MERGEBOT_WEBHOOK_SECRET": "bench-secret-of-webhooks",
        "MERGEBOT_REDIS_URL": redis,
    }
    return Setting(environment, forge.home / "web.log")
