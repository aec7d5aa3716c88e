"""Gate runs on Redis: one hash per run, written by its owner alone once it is taken."""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from statistics import median

from redis import Redis

from mergebot.adapters.record import USUAL_SAMPLES, Heard, failure, passes, slots_heard
from mergebot.adapters.redis.codec import decode, decoder, encode
from mergebot.adapters.redis.kept import RedisKept
from mergebot.adapters.redis.keys import EVENTS, WORKERS, LaneKeys
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.domain.capacity import SAMPLES, UNKNOWN_CORES, Cores
from mergebot.domain.gate import GateResult
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Run, RunOrder, RunProgress
from mergebot.domain.limits import LOG_KEEP_S
from mergebot.domain.steps import Tally

_TAKE = Script("take")
_BEAT = Script("beat")
_FINISH = Script("finish")

_FORGET_WORKER_S = 24 * 3600


class RedisRuns(RedisKept):
    """The gate runs of every lane. Its errors are Unavailable and Unreadable."""

    def __init__(self, client: Redis) -> None:
        super().__init__(Server(client))

    def get(self, lane: Lane, run: str) -> Run | None:
        """Return a run."""
        key = LaneKeys(lane).run(run)
        names = ["order", "progress", "result", "ended_at"]
        found = self._server.ask(lambda client: client.hmget(key, names))
        return read_run(found, where=key) if found[0] else None

    def take(self, lane: Lane, run: str, worker: str, now: float) -> Run | None:
        """Take a run for `worker`; None when it is gone, stopped, ended or was taken before.

        A run is taken once: two messages for one run on the same host make one gate, too.
        """
        keys = LaneKeys(lane)
        progress = RunProgress(worker=worker, started_at=now, beat=now)
        words = [worker, token_hex(8), encode(RunProgress, progress)]
        words += [str(LOG_KEEP_S), EVENTS, lane.key]
        order = self._server.run(_TAKE, [keys.run(run), keys("state")], words)
        if order is None:
            return None
        return Run(decode(RunOrder, order, where=keys.run(run)), progress)

    def beat(self, lane: Lane, run: str, progress: RunProgress) -> bool:
        """Report progress; False means that nobody wants the run any more: stop at once."""
        keys = LaneKeys(lane)
        words = [progress.worker, encode(RunProgress, progress), progress.step, EVENTS, lane.key]
        return bool(self._server.run(_BEAT, [keys.run(run), keys("state")], words))

    def wanted(self, lane: Lane, run: str) -> bool:
        """Tell whether anybody still wants the run."""
        key = LaneKeys(lane).run(run)
        order, stopped = self._server.ask(lambda client: client.hmget(key, ["order", "stopped"]))
        return order is not None and stopped is None

    def finish(self, lane: Lane, run: str, result: GateResult, now: float) -> bool:
        """Record a result, once, by the run's owner; a stopped run's result is dropped (False)."""
        keys = LaneKeys(lane)
        words: list[Word] = [encode(GateResult, result), repr(now), LOG_KEEP_S, USUAL_SAMPLES]
        words += [EVENTS, lane.key, failure(result)]
        for step, seconds in passes(result):
            words += [step, repr(seconds)]
        written = [keys.run(run), keys("state"), keys("usual"), keys("tallies")]
        return bool(self._server.run(_FINISH, written, words))

    def usual_seconds(self, lane: Lane) -> Mapping[str, float]:
        """Return the median seconds of each step's last passes."""
        found = self._server.ask(lambda client: client.hgetall(LaneKeys(lane)("usual")))
        return {
            step.decode(): median(float(sample) for sample in samples.split())
            for step, samples in found.items()
        }

    def tallies(self, lane: Lane) -> Mapping[str, Tally]:
        """Return how often each step passed and failed."""
        found = self._server.ask(lambda client: client.hgetall(LaneKeys(lane)("tallies")))
        counts = {name.decode(): int(number) for name, number in found.items()}
        steps = {name[1:] for name in counts}
        return {step: Tally(counts.get(f"+{step}", 0), counts.get(f"-{step}", 0)) for step in steps}

    def workers(self, now: float) -> int:
        """Return how many gate slots were heard of lately."""
        found = self._server.ask(lambda client: client.hvals(WORKERS))
        return slots_heard(list(map(read_worker, found)), now)

    def announce(self, worker: str, slots: int, now: float, cores: Cores = UNKNOWN_CORES) -> None:
        """Say that a worker host is alive, how many gates it takes at once, and on which cores."""
        words = [str(slots), repr(now)]
        if cores.key:
            words += [repr(cores.count), cores.key, cores.host]
        known = self._server.ask(
            lambda client: (
                client.pipeline().hset(WORKERS, worker, " ".join(words)).hgetall(WORKERS).execute()
            )
        )[1]
        heard = {name: read_worker(text).at for name, text in known.items()}
        gone = [name for name, at in heard.items() if at < now - _FORGET_WORKER_S]
        if gone:
            self._server.ask(lambda client: client.hdel(WORKERS, *gone))

    def note_use(self, lane: Lane, cores: Cores, asks: float) -> None:
        """Note how many of these cores a green gate of the lane could use; the newest few are kept."""
        key = LaneKeys(lane).asks(cores.key)
        self._server.ask(
            lambda client: (
                client.pipeline()
                .lpush(key, repr(asks))
                .ltrim(key, 0, SAMPLES - 1)
                .expire(key, LOG_KEEP_S)
                .execute()
            )
        )


def read_worker(text: bytes, asks: Sequence[bytes] = ()) -> Heard:
    """Return what a worker said last, with what gates asked for of its cores."""
    slots, at, *cores = text.decode().split()
    found = Cores(cores[1], cores[2], float(cores[0])) if cores else UNKNOWN_CORES
    return Heard(int(slots), float(at), found, tuple(map(float, asks)))


def read_run(fields: Sequence[bytes | None], *, where: str) -> Run:
    """Return a run from its order, progress, result and end, as far as there are any."""
    order, progress, result, ended_at = fields
    return Run(
        order=decode(RunOrder, order or "null", where=where),
        progress=decode(RunProgress, progress, where=where) if progress else RunProgress(),
        result=decoder(GateResult, where=where)(result) if result else None,
        ended_at=float(ended_at or 0.0),
    )
