"""What one more or one fewer worker would have done last week, worked out aside.

The lane's own arrivals and outcomes are played through the production planner with one worker less,
with as many as there are, and with one more. Only what differs between the three is told: halts,
waiting authors and faults of machines are not played.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

import structlog

from mergebot.domain.candidate import Candidate, Ejected, GateEvidence, Landed
from mergebot.domain.gate import StepResult
from mergebot.domain.lane import Snapshot
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.receipts import Receipt
from mergebot.domain.status import Document
from mergebot.domain.views import ended_at
from mergebot.domain.wording import DAY_S, HOUR_S, count, duration, iso
from mergebot.ports.errors import Unavailable
from mergebot.ports.store import Store
from mergebot.services.simulation.measuring import Measures
from mergebot.services.simulation.replaying import Past, play_all

log = structlog.get_logger()

WEEK_S = 7.0 * DAY_S
CHANGES_MIN = 20
"""Of ended changes: fewer say nothing about a week."""

CHANGES_MAX = 300
"""The newest that are played: more take minutes of a core in the worst case, and tell the same."""

AGAIN_S = float(HOUR_S)
READ_MAX = 2000
FEWER, MORE = -1, 1

Work = Callable[[], Document]
Played = Mapping[int, Measures]
Elsewhere = Callable[[Callable[[], Played]], Played]
PENDING: Document = {
    "at": None,
    "changes": None,
    "workers": None,
    "text": "What one worker more or less would have done last week is being worked out.",
    "rows": [],
}


@dataclass(slots=True)
class Aside:
    """Answers that take long: the last one at once, and a fresh one worked out beside it.

    `start` runs a piece of work without waiting for it, and `elsewhere` what computes for long, so
    that it slows nobody who asks for a page. One answer is under way at a time.
    """

    start: Callable[[Callable[[], None]], None]
    elsewhere: Elsewhere
    _answers: dict[str, tuple[float, Document]] = field(default_factory=dict)
    _busy: Lock = field(default_factory=Lock)

    def answer(self, key: str, now: float, work: Work) -> Document:
        """Return what is known about `key`, at most an hour old or about to be renewed."""
        at, known = self._answers.get(key, (float("-inf"), PENDING))
        if now - at > AGAIN_S and self._busy.acquire(blocking=False):
            self.start(lambda: self._renew(key, now, work))
            at, known = self._answers.get(key, (at, known))
        return known

    def _renew(self, key: str, now: float, work: Work) -> None:
        try:
            self._answers[key] = now, work()
        except Unavailable as error:
            log.info("hindsight_waits", key=key, why=str(error))
        except Exception:
            log.exception("hindsight_failed", key=key)
            self._answers[key] = (
                now,
                {**PENDING, "text": "It could not be worked out: see the log."},
            )
        finally:
            self._busy.release()


def hindsight(store: Store, snapshot: Snapshot, elsewhere: Elsewhere) -> Document:
    """Return what other numbers of workers would have made of the last week; raises Unavailable."""
    lane, since = snapshot.lane, snapshot.now - WEEK_S
    receipts = store.landings(lane, limit=READ_MAX)
    past = past_of(store.ended(lane, limit=READ_MAX), receipts, since)
    workers = snapshot.capacity.counted
    queue = snapshot.policy.queue if snapshot.policy else QueuePolicy()
    found: Document = {"at": iso(snapshot.now), "changes": len(past), "workers": workers}
    if len(past) < CHANGES_MIN or workers < 1:
        return found | {"text": _too_little(len(past), workers), "rows": []}
    numbers = [each for each in (workers + FEWER, workers, workers + MORE) if each > 0]
    played = elsewhere(partial(play_all, past, numbers, queue))
    rows = [
        {"workers": number, "mean_s": round(each.mean_s), "p95_s": round(each.p95_s)}
        for number, each in played.items()
    ]
    return found | {"text": _sentence(len(past), workers, played), "rows": rows}


def past_of(
    ended: Sequence[Candidate], receipts: Sequence[Receipt], since: float
) -> tuple[Past, ...]:
    """Return the changes that were gated to an end since then, the newest first.

    Those that were withdrawn, or sent back before any gate, needed none to speak of.
    """
    gates = {str(each.fields.get("merged")): _gate_s(each) for each in receipts}
    found: list[Past] = []
    for each in ended:
        if (ended_at(each) or 0.0) < since or len(found) >= CHANGES_MAX:
            continue
        match each.state:
            case Landed(merge):
                seconds = gates.get(merge.merged)
                if seconds is not None:
                    found.append(Past(each.enqueued_at, seconds, red=False, paths=merge.paths))
            case Ejected(evidence=GateEvidence(merge, _, result)):
                seconds = _sum_s(result.steps)
                found.append(Past(each.enqueued_at, seconds, red=True, paths=merge.paths))
            case _:
                pass
    return tuple(found)


def _gate_s(receipt: Receipt) -> float | None:
    """Return how long the steps of a landing's gate took, None where the receipt does not say."""
    gate = receipt.fields.get("gate")
    steps = gate.get("steps") if isinstance(gate, dict) else None
    if not isinstance(steps, list):
        return None
    times = [each.get("seconds") for each in steps if isinstance(each, dict)]
    return float(sum(each for each in times if isinstance(each, int | float)))


def _sum_s(steps: Sequence[StepResult]) -> float:
    return sum(each.seconds for each in steps)


def _too_little(changes: int, workers: int) -> str:
    if workers < 1:
        return "No worker is there now, so one more or less is not compared with anything."
    return (
        f"Too little history to say what one worker more or less would have done: in the last week"
        f" {count(changes, 'change')} went through a gate, and {CHANGES_MIN} are needed."
    )


def _sentence(changes: int, workers: int, played: Played) -> str:
    """Say it in one sentence, with its numbers."""
    now, more = played[workers], played[workers + MORE]
    text = (
        f"Last week's {count(changes, 'change')}, played again by today's rules: from label to trunk"
        f" they take {duration(round(now.mean_s))} on average with {count(workers, 'worker')},"
        f" {duration(round(more.mean_s))} with {workers + MORE}"
    )
    fewer = played.get(workers + FEWER)
    return (
        f"{text} and {duration(round(fewer.mean_s))} with {workers + FEWER}."
        if fewer
        else f"{text}."
    )
