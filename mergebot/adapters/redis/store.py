"""The store on Redis: one script reads a lane, one script commits to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex

from redis import Redis

from mergebot.adapters.record import ONCE_KEEP_S, committed, hosts_heard, place, slots_heard
from mergebot.adapters.redis.codec import decode, decoder, encode
from mergebot.adapters.redis.effects import RedisEffects
from mergebot.adapters.redis.keys import LANES, WORKERS, LaneKeys, pace_key
from mergebot.adapters.redis.runs import read_run, read_worker
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.adapters.redis.writes import commit_call
from mergebot.domain.candidate import Candidate
from mergebot.domain.ids import Lane
from mergebot.domain.lane import NEW_LANE, LaneState, Snapshot
from mergebot.domain.limits import STARTS_KEEP_S, WRITES_PER_MINUTE, WRITES_WINDOW_S
from mergebot.domain.receipts import Receipt
from mergebot.domain.story import Entry
from mergebot.ports.basics import Clock
from mergebot.ports.store import Commit, NoticeRecord, SeenHead, Stale

_READ = Script("read")
_COMMIT = Script("commit")
_ONCE = Script("once")
_BEGIN = Script("begin")
_PACE = Script("pace")


@dataclass(frozen=True, slots=True)
class _Known:
    """The open candidates of a lane as a commit left them, and the name of that commit."""

    mark: str = ""
    candidates: tuple[Candidate, ...] = ()


class RedisStore(RedisEffects):
    """The record on Redis. Its errors are Unavailable, and Unreadable for a record it cannot read.

    Candidates that did not change since the last read are not decoded again: they are immutable.
    Those of a commit that this store has read or made are not even sent again.
    """

    def __init__(
        self, client: Redis, clock: Clock, *, writes_per_minute: int = WRITES_PER_MINUTE
    ) -> None:
        super().__init__(Server(client))
        self._clock = clock
        self._writes_per_minute = writes_per_minute
        self._decoded: dict[str, dict[bytes, Candidate]] = {}
        self._known: dict[str, _Known] = {}

    def lanes(self) -> Sequence[Lane]:
        """Return every lane known, by repository and trunk."""
        found = self._server.ask(lambda client: client.hvals(LANES))
        lanes = [decode(Lane, text, where=LANES) for text in found]
        return sorted(lanes, key=lambda lane: (lane.repo, lane.trunk, lane.repo_id))

    def lane(self, repo: str) -> Lane | None:
        """Return the lane of the repository called `repo`, in any case, as forges compare names."""
        name = repo.casefold()
        return next((lane for lane in self.lanes() if lane.repo.casefold() == name), None)

    def open_lane(self, lane: Lane) -> None:
        """Make a lane known, or note that its repository was renamed."""
        self._server.ask(lambda client: client.hset(LANES, lane.key, encode(Lane, lane)))

    def close_lane(self, lane: Lane) -> None:
        """Forget that a lane is served; its record stays."""
        self._server.ask(lambda client: client.hdel(LANES, lane.key))

    def read(self, lane: Lane) -> Snapshot:
        """Return everything about a lane that a decision needs, as of one moment."""
        keys = LaneKeys(lane)
        known = self._known.get(lane.key, _Known())
        words: list[Word] = [keys.run(""), keys.asks(""), known.mark]
        answer = self._server.run(_READ, [keys("state"), keys("open"), WORKERS], words)
        revision, state, queue, runs, workers, name, asks = answer
        mark = name.decode() if name else ""
        if queue is not None:
            known = _Known(mark, self._candidates(lane, queue))
            self._known[lane.key] = known
        now = self._clock.now()
        return Snapshot(
            lane=lane,
            revision=int(revision or 0),
            state=decode(LaneState, state, where=keys("state")) if state else NEW_LANE,
            candidates=known.candidates,
            runs={
                name.decode(): read_run(fields, where=keys.run(name.decode()))
                for name, *fields in runs
            },
            slots=slots_heard(list(map(read_worker, workers)), now),
            now=now,
            mark=mark,
            hosts=hosts_heard(list(map(read_worker, workers, asks)), now),
        )

    def _candidates(self, lane: Lane, queue: bytes) -> tuple[Candidate, ...]:
        read = decoder(Candidate, where=LaneKeys(lane)("open"))
        known = self._decoded.get(lane.key, {})
        found = {text: known.get(text) or read(text) for text in queue.splitlines()}
        self._decoded[lane.key] = found
        return tuple(sorted(found.values(), key=place))

    def commit(self, snapshot: Snapshot, commit: Commit) -> Snapshot:
        """Write a decision; raises Stale, and changes nothing, if the lane moved since."""
        name = token_hex(8)
        after = replace(committed(snapshot, commit), mark=name)
        now = self._clock.now()
        keys, words = commit_call(snapshot, after, commit, name=name, now=now)
        if not self._server.run(_COMMIT, keys, words):
            raise Stale(f"{snapshot.lane.repo} moved on since revision {snapshot.revision}")
        self._known[snapshot.lane.key] = _Known(name, after.candidates)
        return after

    def ended(self, lane: Lane, *, limit: int) -> Sequence[Candidate]:
        """Return the newest ended candidates, newest first."""
        keys = LaneKeys(lane)
        if limit < 1:
            return []
        names = self._server.ask(lambda client: client.zrevrange(keys("order"), 0, limit - 1))
        if not names:
            return []
        found = self._server.ask(lambda client: client.hmget(keys("ended"), names))
        read = decoder(Candidate, where=keys("ended"))
        return [read(text) for text in found if text]

    def latest(self, lane: Lane, pr: int) -> Candidate | None:
        """Return the PR's newest candidate, open or ended."""
        keys = LaneKeys(lane)
        found = self._server.ask(
            lambda client: (
                client.pipeline()
                .hget(keys("open"), str(pr))
                .hget(keys("newest"), str(pr))
                .execute()
            )
        )
        for text, name in zip(found, ("open", "newest"), strict=True):
            if text:
                return decode(Candidate, text, where=keys(name))
        return None

    def story(self, lane: Lane, pr: int, *, limit: int) -> Sequence[Entry]:
        """Return what happened to a PR (0: to the lane itself), oldest first."""
        key = LaneKeys(lane).story(pr)
        found = self._server.ask(lambda client: client.lrange(key, -limit, -1)) if limit > 0 else []
        return [decode(Entry, text, where=key) for text in found]

    def landings(self, lane: Lane, *, limit: int) -> Sequence[Receipt]:
        """Return the newest receipts, newest first."""
        key = LaneKeys(lane)("landings")
        found = (
            self._server.ask(lambda client: client.lrange(key, 0, limit - 1)) if limit > 0 else []
        )
        return [Receipt(text.decode()) for text in found]

    def seen_heads(self, lane: Lane) -> Mapping[int, SeenHead]:
        """Return the heads that the reconciler saw last, by PR."""
        key = LaneKeys(lane)("heads")
        text = self._server.ask(lambda client: client.get(key))
        heads: Mapping[int, SeenHead] = decoder(Mapping[int, SeenHead], where=key)(text or "{}")
        return heads

    def see_heads(self, lane: Lane, heads: Mapping[int, SeenHead]) -> None:
        """Replace the heads seen."""
        text = encode(Mapping[int, SeenHead], heads)
        self._server.ask(lambda client: client.set(LaneKeys(lane)("heads"), text))

    def notice(self, lane: Lane, pr: int) -> NoticeRecord | None:
        """Return the record of a PR's sticky comment."""
        key = LaneKeys(lane)("notices")
        text = self._server.ask(lambda client: client.hget(key, str(pr)))
        return decode(NoticeRecord, text, where=key) if text else None

    def keep_notice(self, lane: Lane, pr: int, record: NoticeRecord) -> None:
        """Keep the record of a PR's sticky comment."""
        key = LaneKeys(lane)("notices")
        text = encode(NoticeRecord, record)
        self._server.ask(lambda client: client.hset(key, str(pr), text))

    def once(self, lane: Lane, topic: str) -> bool:
        """Return True the first time it is asked about a topic in thirty days, False afterwards."""
        words: list[Word] = [token_hex(8), ONCE_KEEP_S]
        return bool(self._server.run(_ONCE, [LaneKeys(lane).topic(topic)], words))

    def asked_once(self, lane: Lane, topic: str) -> bool:
        """Tell whether `once` was asked about a topic within thirty days; changes nothing."""
        return bool(self._server.ask(lambda client: client.exists(LaneKeys(lane).topic(topic))))

    def begin(self, lane: Lane, work: str) -> int:
        """Count, before it runs, that a piece of work begins; return how often without an end."""
        return int(self._server.run(_BEGIN, [LaneKeys(lane).begun(work)], [int(STARTS_KEEP_S)]))

    def end(self, lane: Lane, work: str) -> None:
        """Note that a piece of work ended, well or not: it did not kill its worker."""
        self._server.ask(lambda client: client.delete(LaneKeys(lane).begun(work)))

    def pace(self, account: str, writes: int, *, spare: int = 0) -> float:
        """Take `writes` out of the account's minute; else take none and return the wait."""
        if not self._writes_per_minute:
            return 0.0
        most, window_ms = self._writes_per_minute - spare, int(WRITES_WINDOW_S * 1000)
        words: list[Word] = [token_hex(8), writes, most, window_ms]
        return int(self._server.run(_PACE, [pace_key(account)], words)) / 1000
