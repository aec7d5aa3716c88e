"""Claim attempts over a real Valkey, with 10, 1,000 and 10,000 live claims."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from redis import Redis

from mergebot.adapters.redis.connect import connect
from mergebot.adapters.redis.embedded import EmbeddedValkey
from mergebot.adapters.redis.ledger import RedisLedger
from mergebot.domain.ledger import Change, Taken
from tests.bench.report import Row, at_least, at_most
from tests.support.builders import LANE
from tests.support.claims import ask, claim, try_claim

SIZES = (10, 1_000, 10_000)
ATTEMPTS = 400
CHUNK = 2_000


def measure() -> Iterator[Row]:
    """Fill a ledger and claim on: every second attempt meets somebody else's claim."""
    with (
        tempfile.TemporaryDirectory(prefix="mb-claims-") as home,
        EmbeddedValkey(Path(home)) as valkey,
    ):
        client = connect(valkey.url)
        for size in SIZES:
            yield from _timed(client, size)
        client.close()


def _timed(client: Redis, size: int) -> Iterator[Row]:
    client.flushall()
    ledgers = RedisLedger(client)
    live = [
        claim(f"c{n}", f"T-{n}", f"src/m{n % 97}/f{n}/**", f"tests/{n}.py") for n in range(size)
    ]
    for start in range(0, size, CHUNK):
        ledgers.commit(ledgers.read(LANE), Change(tuple(live[start : start + CHUNK]), ()))
    seconds, refused = [], 0
    for n in range(ATTEMPTS):
        taken = n % size
        files = f"src/m{taken % 97}/f{taken}/new.py" if n % 2 else f"new/{n}/**"
        begun = perf_counter()
        found = try_claim(ledgers, ask(f"N-{n}", files), f"n{n}")
        seconds.append(perf_counter() - begun)
        refused += isinstance(found, Taken)
    seconds.sort()
    note = f"{ATTEMPTS} attempts, {refused} met another claim"
    rate = ATTEMPTS / sum(seconds)
    p99_ms = seconds[int(ATTEMPTS * 0.99) - 1] * 1000
    yield Row("claims", f"claim attempts, {size:,} live", rate, "/s", at_least(50), note)
    yield Row("claims", f"99 % of attempts within, {size:,} live", p99_ms, "ms", at_most(50), note)
