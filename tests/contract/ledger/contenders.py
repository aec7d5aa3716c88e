"""Processes that all want the same thing at the same moment, and one that owns a claim.

What each got is left in Redis, one list for each round. Run as `python -m
tests.contract.ledger.contenders URL TOKEN` it is the owner.
"""

import sys
import time

from redis import Redis

from mergebot.adapters.redis.connect import connect
from mergebot.adapters.redis.ledger import RedisLedger
from mergebot.domain.holding import Done, Overseer, Reclaim, Renew, Session, act
from mergebot.domain.ledger import Granted, proof_of
from mergebot.ports.ledger import Ledgers
from mergebot.ports.store import Stale
from tests.support.builders import LANE
from tests.support.claims import ask, try_claim

CONTENDERS = 16
SHAPES = ("src/{}/**", "src/{}/a*.py", "src/{}/", "**/{}/app.py", "src/{}/app.py", "*/{}/ap?.py")
"""Patterns that pairwise share a path once a round's name is put in."""


def together(client: Redis, name: str) -> None:
    """Wait until every contender has come as far as this."""
    if int(client.incr(f"came:{name}")) == CONTENDERS:
        client.rpush(f"go:{name}", *range(CONTENDERS))
    client.blpop([f"go:{name}"], timeout=60)


def contend(url: str, name: str, rounds: int) -> None:
    """Claim in every round: the same task in even ones, overlapping files in odd ones."""
    client = connect(url)
    ledgers = RedisLedger(client)
    for number in range(rounds):
        label = f"{number:05}"
        pattern = SHAPES[int(name) % len(SHAPES)].format(label)
        same = ask(f"T-{label}", f"own/{label}/{name}/**")
        wanted = ask(f"T-{label}-{name}", pattern) if number % 2 else same
        together(client, label)
        found = try_claim(ledgers, wanted, f"c-{label}-{name}")
        client.rpush(f"got:{label}", f"{name} {isinstance(found, Granted)}")


def reclaim(url: str, name: str, rounds: int) -> None:
    """Reclaim one claim after the other, at the exact generation that it was left at."""
    client = connect(url)
    ledgers = RedisLedger(client)
    for number in range(rounds):
        label = f"{number:05}"
        left_at = ledgers.read(LANE).claims[f"left-{label}"].generation
        together(client, f"r{label}")
        won = _reclaimed(ledgers, f"left-{label}", left_at, name)
        client.rpush(f"reclaimed:{label}", f"{name} {won}")


def _reclaimed(ledgers: Ledgers, claim: str, generation: int, name: str) -> bool:
    deed = Reclaim(f"heir {name}", proof_of(f"token-{name}"))
    while True:
        read = ledgers.read(LANE)
        found = act(read, claim, deed, Overseer("boss", generation), now=time.time())
        if not isinstance(found, Done):
            return False
        try:
            ledgers.commit(read, found.change)
        except Stale:
            continue
        return True


def own(url: str, token: str) -> None:
    """Hold the claim `held`, saying that this process lives, until it is fenced."""
    client = connect(url)
    ledgers = RedisLedger(client)
    generation = ledgers.read(LANE).claims["held"].generation
    while True:
        read = ledgers.read(LANE)
        found = act(read, "held", Renew(), Session(proof_of(token), generation), now=time.time())
        if not isinstance(found, Done):
            sys.stdout.write(f"fenced: {found.sentence}\n")
            return
        try:
            ledgers.commit(read, found.change)
        except Stale:
            continue
        client.blpop(["nobody pushes here"], timeout=0.05)


if __name__ == "__main__":
    own(*sys.argv[1:])
