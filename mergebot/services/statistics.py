"""Numbers that say where a queue's time goes, from what it keeps of its past."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from mergebot.domain.candidate import Candidate, Ejected
from mergebot.domain.capacity import rooms as rooms_of
from mergebot.domain.gate import Passed
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Run, Snapshot
from mergebot.domain.receipts import Receipt
from mergebot.domain.status import Document
from mergebot.domain.views import seconds_in_queue
from mergebot.domain.wording import HOUR_S, from_iso, iso
from mergebot.ports.basics import Clock
from mergebot.ports.runs import Runs
from mergebot.ports.store import Store
from mergebot.services.hindsight import Aside, hindsight

HOURS = 24
ENDED_MAX = 1000
FLAKY_RUNS_MAX = 50
TWO_POINTS = 2


@dataclass(frozen=True, slots=True)
class Statistics:
    """Reads the past of a lane; what takes long is worked out `aside`."""

    store: Store
    runs: Runs
    clock: Clock
    aside: Aside

    def of(self, lane: Lane) -> Document:
        """Return landings by hour, time in queue, ejections by reason, and what steps take."""
        now = self.clock.now()
        ended = self.store.ended(lane, limit=ENDED_MAX)
        receipts = self.store.landings(lane, limit=ENDED_MAX)
        waits = [each for each in map(seconds_in_queue, ended) if each is not None]
        usual = self.runs.usual_seconds(lane)
        snapshot = self.store.read(lane)
        return {
            "at": iso(now),
            "landings_per_hour": landings_by_hour(receipts, now),
            "in_queue": {
                "landed": len(waits),
                "p50_s": percentile(waits, 50),
                "p95_s": percentile(waits, 95),
            },
            "outcomes": outcomes(ended),
            "ejections": reasons(ended),
            "steps": [{"name": name, "median_s": round(usual[name], 1)} for name in usual],
            "flaky": self._flaky(lane, receipts[:FLAKY_RUNS_MAX]),
            "slots": slots_view(snapshot),
            "other_workers": self._other_workers(snapshot),
        }

    def _other_workers(self, snapshot: Snapshot) -> Document:
        key = f"{snapshot.lane.key} {snapshot.capacity.counted}"
        aside, store = self.aside, self.store
        return aside.answer(key, snapshot.now, lambda: hindsight(store, snapshot, aside.elsewhere))

    def _flaky(self, lane: Lane, receipts: Sequence[Receipt]) -> list[Document]:
        names = [gate_run(each) for each in receipts]
        runs = [self.runs.get(lane, name) for name in names if name]
        found = Counter(name for run in runs for name in flaky_steps(run))
        return [{"name": name, "passes": passes} for name, passes in found.most_common()]


def slots_view(snapshot: Snapshot) -> Document:
    """Return how many gate slots count, on which hosts, and the evidence in one sentence."""
    capacity, rooms = snapshot.capacity, rooms_of(snapshot.hosts, snapshot.state.rooms)
    hosts = [
        {
            "host": each.name,
            "slots": each.slots,
            "cores": each.cores,
            "counted": rooms[each.key],
            "asks": round(median(each.asks), 2) if each.asks else None,
            "gates": len(each.asks),
        }
        for each in snapshot.hosts
    ]
    return {
        "announced": capacity.announced,
        "counted": capacity.counted,
        "text": capacity.text,
        "hosts": hosts,
    }


def landings_by_hour(receipts: Sequence[Receipt], now: float) -> list[Document]:
    """Return how much landed in each of the last 24 hours, oldest first."""
    first = int(now // HOUR_S) - HOURS + 1
    hours = Counter(int(_landed_at(each) // HOUR_S) for each in receipts)
    return [
        {"hour": iso(hour * HOUR_S), "landings": hours[hour]}
        for hour in range(first, first + HOURS)
    ]


def _landed_at(receipt: Receipt) -> float:
    try:
        return from_iso(str(receipt.fields.get("landed_at", "")))
    except ValueError:
        return 0.0


def percentile(values: Sequence[float], percent: int) -> float | None:
    """Return a percentile of `values`, None of nothing."""
    if len(values) < TWO_POINTS:
        return round(values[0], 1) if values else None
    return round(quantiles(values, n=100, method="inclusive")[percent - 1], 1)


def outcomes(ended: Sequence[Candidate]) -> Document:
    """Return how many candidates ended in each way."""
    found = Counter(type(each.state).__name__.lower() for each in ended)
    return {name: found[name] for name in ("landed", "ejected", "cancelled")}


def reasons(ended: Sequence[Candidate]) -> list[Document]:
    """Return the reasons of ejections, the most frequent first."""
    found = Counter(each.state.reason for each in ended if isinstance(each.state, Ejected))
    return [{"reason": reason, "count": number} for reason, number in found.most_common()]


def flaky_steps(run: Run | None) -> list[str]:
    """Return the steps of a passed run that passed only when they ran again."""
    if run is None or not isinstance(run.result, Passed):
        return []
    return [step.name for step in run.result.steps if step.flaky]


def gate_run(receipt: Receipt) -> str | None:
    """Return the name of the gate run that a receipt rests on."""
    gate = receipt.fields.get("gate")
    run = gate.get("run") if isinstance(gate, dict) else None
    return run if isinstance(run, str) else None
