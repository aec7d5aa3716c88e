"""Gate runs over dictionaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from threading import RLock

from mergebot.adapters.memory.kept import MemoryKept
from mergebot.adapters.record import (
    USUAL_SAMPLES,
    Heard,
    failure,
    hosts_heard,
    passes,
    slots_heard,
)
from mergebot.domain.capacity import SAMPLES, UNKNOWN_CORES, Cores, Host
from mergebot.domain.gate import GateResult
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Run, RunOrder, RunProgress
from mergebot.domain.steps import Tally


@dataclass(slots=True)
class _Record:
    run: Run
    owner: str | None = None
    stopped: bool = False

    @property
    def wanted(self) -> bool:
        return not self.stopped and self.run.result is None


@dataclass(slots=True)
class _Lane:
    runs: dict[str, _Record] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    asks: dict[str, tuple[float, ...]] = field(default_factory=dict)


class MemoryRuns(MemoryKept):
    """The gate runs of every lane; safe to use from several threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = RLock()
        self._lanes: dict[str, _Lane] = {}
        self._workers: dict[str, Heard] = {}

    def _lane(self, lane: Lane) -> _Lane:
        key = lane.key
        found = self._lanes.get(key)
        if found is None:
            found = self._lanes[key] = _Lane()
        return found

    def order(self, lane: Lane, order: RunOrder) -> None:
        """Make a run known; a run that is known already stays as it is."""
        with self._lock:
            self._lane(lane).runs.setdefault(order.run, _Record(Run(order)))

    def stop(self, lane: Lane, run: str) -> None:
        """Note that nobody wants a run any more."""
        with self._lock:
            record = self._lane(lane).runs.get(run)
            if record:
                record.stopped = True

    def get(self, lane: Lane, run: str) -> Run | None:
        """Return a run."""
        with self._lock:
            record = self._lane(lane).runs.get(run)
            return record.run if record else None

    def these(self, lane: Lane, names: Sequence[str]) -> Mapping[str, Run]:
        """Return those of the runs that are known."""
        if not names:
            return {}
        with self._lock:
            known = self._lane(lane).runs
            return {name: known[name].run for name in names if name in known}

    def take(self, lane: Lane, run: str, worker: str, now: float) -> Run | None:
        """Take a run for `worker`; None when it is gone, stopped, ended or was taken before."""
        with self._lock:
            record = self._lane(lane).runs.get(run)
            if record is None or not record.wanted or record.owner is not None:
                return None
            record.owner = worker
            progress = RunProgress(worker=worker, started_at=now, beat=now)
            record.run = replace(record.run, progress=progress)
            return record.run

    def beat(self, lane: Lane, run: str, progress: RunProgress) -> bool:
        """Report progress; False means that nobody wants the run any more: stop at once."""
        with self._lock:
            record = self._lane(lane).runs.get(run)
            if record is None or not record.wanted or record.owner != progress.worker:
                return False
            record.run = replace(record.run, progress=progress)
            return True

    def wanted(self, lane: Lane, run: str) -> bool:
        """Tell whether anybody still wants the run."""
        with self._lock:
            record = self._lane(lane).runs.get(run)
            return record is not None and not record.stopped

    def finish(self, lane: Lane, run: str, result: GateResult, now: float) -> bool:
        """Record a result, once, by the run's owner; a stopped run's result is dropped (False)."""
        with self._lock:
            record = self._lane(lane).runs.get(run)
            if record is None or record.stopped or record.owner is None:
                return False
            if record.run.result is not None:
                return record.run.result == result
            record.run = replace(record.run, result=result, ended_at=now)
            self._count(self._lane(lane), result)
            for step, seconds in passes(result):
                samples = self._lane(lane).seconds.setdefault(step, [])
                samples.append(seconds)
                del samples[:-USUAL_SAMPLES]
            return True

    @staticmethod
    def _count(lane: _Lane, result: GateResult) -> None:
        for step, _ in passes(result):
            tally = lane.tallies.get(step, Tally())
            lane.tallies[step] = replace(tally, passes=tally.passes + 1)
        if step := failure(result):
            tally = lane.tallies.get(step, Tally())
            lane.tallies[step] = replace(tally, failures=tally.failures + 1)

    def tallies(self, lane: Lane) -> Mapping[str, Tally]:
        """Return how often each step passed and failed."""
        with self._lock:
            return dict(self._lane(lane).tallies)

    def usual_seconds(self, lane: Lane) -> Mapping[str, float]:
        """Return the median seconds of each step's last passes."""
        with self._lock:
            return {step: median(samples) for step, samples in self._lane(lane).seconds.items()}

    def workers(self, now: float) -> int:
        """Return how many gate slots were heard of lately."""
        with self._lock:
            return slots_heard(list(self._workers.values()), now)

    def announce(self, worker: str, slots: int, now: float, cores: Cores = UNKNOWN_CORES) -> None:
        """Say that a worker host is alive, how many gates it takes at once, and on which cores."""
        with self._lock:
            self._workers[worker] = Heard(slots, now, cores)

    def note_use(self, lane: Lane, cores: Cores, asks: float) -> None:
        """Note how many of these cores a green gate of the lane could use; the newest few are kept."""
        with self._lock:
            known = self._lane(lane).asks.get(cores.key, ())
            self._lane(lane).asks[cores.key] = (asks, *known)[:SAMPLES]

    def hosts(self, lane: Lane, now: float) -> tuple[Host, ...]:
        """Return the hosts heard of lately whose cores are known, with what gates asked for."""
        with self._lock:
            asks = self._lane(lane).asks
            workers = [
                replace(each, asks=asks.get(each.cores.key, ()))
                for each in self._workers.values()
                if each.cores.key
            ]
        return hosts_heard(workers, now) if workers else ()
