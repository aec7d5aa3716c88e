"""A commit as the Redis commands that write it, encoded before anything is sent."""

from collections.abc import Iterator

from mergebot.adapters.record import ENDED_MAX, LANDINGS_MAX, STORY_MAX, identity, leaves
from mergebot.adapters.redis.codec import encode
from mergebot.adapters.redis.keys import EVENTS, LaneKeys
from mergebot.adapters.redis.server import Word
from mergebot.domain.candidate import Candidate
from mergebot.domain.effects import Effect
from mergebot.domain.lane import LaneState, RunOrder, Snapshot
from mergebot.domain.limits import LOG_KEEP_S
from mergebot.domain.story import Entry
from mergebot.ports.store import Commit

Write = tuple[Word, ...]

STORY_KEEP_S = 180 * 24 * 3600
"""How long a PR's story outlives its last entry: half a year, in which every review ends."""


def commit_call(
    before: Snapshot, after: Snapshot, commit: Commit, *, name: str, now: float
) -> tuple[list[str], list[Word]]:
    """Return the keys and arguments of `commit.lua`; `name` tells this commit from all others."""
    keys = LaneKeys(before.lane)
    writes = list(_writes(keys, before, commit, now=now))
    touched = dict.fromkeys(str(write[1]) for write in writes)
    words: list[Word] = [before.revision, name, encode(LaneState, after.state)]
    words += [" ".join(sorted(after.runs)), ENDED_MAX, EVENTS, before.lane.key, before.mark]
    for write in writes:
        words += [len(write), *write]
    return [keys("state"), keys("ended"), keys("order"), *touched], words


def _writes(keys: LaneKeys, before: Snapshot, commit: Commit, *, now: float) -> Iterator[Write]:
    revision = before.revision + 1
    yield from _candidates(keys, before, commit.candidates, revision=revision)
    for order in commit.orders:
        yield "HSETNX", keys.run(order.run), "order", encode(RunOrder, order)
        yield "EXPIRE", keys.run(order.run), LOG_KEEP_S
    for run in commit.stops:
        yield "HSET", keys.run(run), "stopped", 1
        yield "EXPIRE", keys.run(run), LOG_KEEP_S
    for effect in commit.effects:
        value = effect_value(effect, version=revision, tries=0)
        yield "HSET", keys("effects"), effect.key, value
        yield "ZADD", keys("due"), repr(now), effect.key
    for entry in commit.entries:
        yield "RPUSH", keys.story(entry.pr), encode(Entry, entry)
    for pr in sorted({entry.pr for entry in commit.entries}):
        yield "LTRIM", keys.story(pr), -STORY_MAX, -1
        yield "EXPIRE", keys.story(pr), STORY_KEEP_S
    for receipt in commit.landed:
        yield "LPUSH", keys("landings"), receipt.text
    if commit.landed:
        yield "LTRIM", keys("landings"), 0, LANDINGS_MAX - 1


def _candidates(
    keys: LaneKeys, before: Snapshot, candidates: tuple[Candidate, ...], *, revision: int
) -> Iterator[Write]:
    """Yield the ended ones first: a PR's next attempt may open in the same commit."""
    for candidate in candidates:
        if candidate.open:
            continue
        text = encode(Candidate, candidate)
        name = identity(candidate)
        if leaves(before, candidate):
            yield "HDEL", keys("open"), candidate.pr
        yield "HSET", keys("ended"), name, text
        yield "ZADD", keys("order"), "NX", revision, name
        yield "HSET", keys("newest"), candidate.pr, text
    for candidate in candidates:
        if candidate.open:
            yield "HSET", keys("open"), candidate.pr, encode(Candidate, candidate)


def effect_value(effect: Effect, *, version: int, tries: int) -> str:
    """Return an effect as it is kept; `settle.lua` reads the version at its start."""
    return f"{version}:{tries}:{encode(Effect, effect)}"
