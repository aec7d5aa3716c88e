import multiprocessing
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from redis import Redis

from mergebot.adapters.redis.ledger import RedisLedger
from mergebot.domain.holding import Done, Overseer, Reclaim, act, suspect
from mergebot.domain.ledger import Active, Change, Suspect, Taken, overlapping, proof_of
from tests.contract.ledger.contenders import CONTENDERS, contend, reclaim
from tests.support.builders import LANE
from tests.support.claims import ask, claim, put, try_claim
from tests.support.waiting import eventually

LEASE_S = 0.2


def run_all(role: Callable[[str, str, int], None], url: str, rounds: int) -> None:
    fork = multiprocessing.get_context("fork")
    names = range(CONTENDERS)
    processes = [fork.Process(target=role, args=(url, str(name), rounds)) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [0] * CONTENDERS


def winners(client: Redis, name: str) -> list[str]:
    lines = client.lrange(name, 0, -1)
    said = [(line.decode() if isinstance(line, bytes) else line).split() for line in lines]
    assert len(said) == CONTENDERS
    return [who for who, won in said if won == "True"]


def contention(client: Redis, url: str, rounds: int) -> int:
    """Return how many rounds had one winner; nothing is held twice after them."""
    run_all(contend, url, rounds)
    won = [winners(client, f"got:{number:05}") for number in range(rounds)]
    ledger = RedisLedger(client).read(LANE)
    assert len(ledger.claims) == rounds
    assert ledger.generation == rounds
    assert not overlapping(ledger)
    return sum(len(each) == 1 for each in won)


def test_of_sixteen_processes_that_want_the_same_one_gets_it(
    client: Redis, valkey_url: str
) -> None:
    assert contention(client, valkey_url, 100) == 100


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_in_a_thousand_rounds_sixteen_processes_never_hold_the_same(
    client: Redis, valkey_url: str
) -> None:
    assert contention(client, valkey_url, 1000) == 1000


def reclaiming(client: Redis, url: str, rounds: int) -> list[str]:
    """Return the claims that the story says were reclaimed, one line for each time."""
    names = [f"left-{number:05}" for number in range(rounds)]
    put(RedisLedger(client), *(claim(name, name, f"{name}/") for name in names))
    run_all(reclaim, url, rounds)
    ledger = RedisLedger(client).read(LANE)
    for number, name in enumerate(names):
        (winner,) = winners(client, f"reclaimed:{number:05}")
        assert ledger.claims[name].proof == proof_of(f"token-{winner}")
        assert ledger.claims[name].generation > 1
    told = RedisLedger(client).notes(LANE, limit=rounds * 2)
    return sorted(note.claim for note in told if note.what == "active")


def test_of_sixteen_reclaimers_one_wins(client: Redis, valkey_url: str) -> None:
    told = reclaiming(client, valkey_url, 60)
    assert told == [f"left-{number:05}" for number in range(60)]


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.timeout(400)
def test_in_a_thousand_rounds_one_reclaimer_wins_each(client: Redis, valkey_url: str) -> None:
    told = reclaiming(client, valkey_url, 1000)
    assert told == [f"left-{number:05}" for number in range(1000)]


@contextmanager
def owner(url: str) -> Iterator[subprocess.Popen[str]]:
    line = [sys.executable, "-m", "tests.contract.ledger.contenders", url, "secret"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def silent_s(ledgers: RedisLedger) -> float:
    return time.time() - ledgers.read(LANE).claims["held"].heard_at


@contextmanager
def paused(client: Redis, url: str) -> Iterator[subprocess.Popen[str]]:
    """Have an owner that has been stopped for three leases, and is suspect for it."""
    ledgers = RedisLedger(client)
    put(ledgers, replace(claim("held", "A-1", "src/**"), proof=proof_of("secret")))
    with owner(url) as process:
        eventually(lambda: silent_s(ledgers) < LEASE_S, within_s=20, what="it renews")
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: silent_s(ledgers) > 3 * LEASE_S, within_s=20, what="three leases")
        read = ledgers.read(LANE)
        ledgers.commit(read, suspect(read.claims["held"], "silent", now=time.time()).change)
        yield process


def test_an_owner_stopped_for_three_leases_still_excludes_and_goes_on(
    client: Redis, valkey_url: str
) -> None:
    ledgers = RedisLedger(client)
    with paused(client, valkey_url) as process:
        assert isinstance(ledgers.read(LANE).claims["held"].state, Suspect)
        assert isinstance(try_claim(ledgers, ask("B-2", "src/app.py"), "b"), Taken)
        process.send_signal(signal.SIGCONT)
        eventually(
            lambda: isinstance(ledgers.read(LANE).claims["held"].state, Active),
            within_s=20,
            what="its owner is heard of again",
        )
        assert ledgers.read(LANE).claims["held"].generation == 1


def test_an_owner_whose_claim_was_reclaimed_meanwhile_finds_itself_fenced(
    client: Redis, valkey_url: str
) -> None:
    ledgers = RedisLedger(client)
    with paused(client, valkey_url) as process:
        read = ledgers.read(LANE)
        deed = Reclaim("heir", proof_of("another"))
        found = act(read, "held", deed, Overseer("boss", 1), now=time.time())
        assert isinstance(found, Done)
        ledgers.commit(read, found.change)
        process.send_signal(signal.SIGCONT)
        assert process.stdout
        assert process.stdout.readline().startswith("fenced: the claim held is at generation 2")
        assert ledgers.read(LANE).claims["held"].owner == "heir"


def test_a_hundred_claims_do_not_get_in_each_others_way(client: Redis) -> None:
    ledgers = RedisLedger(client)
    for number in range(100):
        try_claim(ledgers, ask(f"T-{number}", f"src/{number}/**"), f"c{number}")
    ledger = ledgers.read(LANE)
    assert len(ledger.claims) == 100
    assert not overlapping(ledger)
    assert ledgers.commit(ledger, Change((), ())).revision == 101
