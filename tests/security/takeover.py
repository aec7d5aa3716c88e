"""Somebody who can write to the bot's Redis, and to nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

from redis import Redis

from mergebot.adapters.clock import SystemClock
from mergebot.adapters.redis.codec import encode
from mergebot.adapters.redis.keys import LaneKeys
from mergebot.adapters.redis.store import RedisStore
from mergebot.domain.candidate import Candidate
from mergebot.domain.gate import GateResult
from mergebot.domain.ids import Lane
from mergebot.domain.lane import LaneState, Snapshot
from mergebot.ports.store import Commit, Stale


@dataclass(frozen=True)
class Intruder:
    """Writes records in the product's own form, so that nothing looks odd but the truth of it."""

    redis: Redis

    @property
    def store(self) -> RedisStore:
        """Return the store, written to without any service in between."""
        return RedisStore(self.redis, SystemClock())

    @property
    def lane(self) -> Lane:
        """Return the only lane."""
        (lane,) = self.store.lanes()
        return lane

    def read(self) -> Snapshot:
        """Return the record."""
        return self.store.read(self.lane)

    def candidate(self, pr: int) -> Candidate:
        """Return an open candidate."""
        found = self.read().candidate(pr)
        assert found is not None
        return found

    def write(
        self,
        change: Callable[[Snapshot], Candidate | None],
        state: Callable[[LaneState], LaneState] = lambda state: state,
    ) -> None:
        """Overwrite one candidate, the lane's own state, or both."""
        for _ in range(50):
            snapshot = self.read()
            candidate = change(snapshot)
            changed = (candidate,) if candidate else ()
            try:
                self.store.commit(snapshot, Commit(state(snapshot.state), changed))
            except Stale:
                continue
            return
        raise AssertionError("the record kept changing")

    def result(self, run: str, result: GateResult) -> None:
        """Overwrite what a gate run came to."""
        key = LaneKeys(self.lane).run(run)
        self.redis.hset(key, mapping={"result": encode(GateResult, result), "ended_at": "1.0"})
