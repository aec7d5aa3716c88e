import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from mergebot.adapters.memory.clock import ManualClock
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.processes import in_a_process
from mergebot.domain.candidate import (
    Cancelled,
    Candidate,
    Ejected,
    GateEvidence,
    Landed,
    PlainEvidence,
)
from mergebot.domain.gate import Failed
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.reasons import Fault, Reason
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.domain.status import Document
from mergebot.ports.errors import Unavailable
from mergebot.ports.store import Commit
from mergebot.services.hindsight import AGAIN_S, WEEK_S, Aside, hindsight, past_of
from mergebot.services.simulation.replaying import Past, play_again
from tests.support.builders import FAIL, LANE, NOW, PASS, TIP, candidate, merge, verdict
from tests.support.website import healthy

GATE_S = 300.0


def at_once(work: Callable[[], None]) -> None:
    work()


def landed(pr: int, at: float, seconds: float = GATE_S) -> tuple[Candidate, Receipt]:
    made = merge(TIP, f"m{pr}", (f"f{pr}",))
    step = replace(PASS, seconds=seconds)
    record = LandingRecord("2027-01-15T08:00:00Z", pr, "")
    waited = replace(candidate(pr), enqueued_at=at)
    shown = replace(verdict(pr, TIP), steps=(step,))
    receipt = write_receipt(LANE, waited, merge=made, verdict=shown, record=record)
    return waited.moved(Landed(made, receipt.digest, at + seconds)), receipt


def red(pr: int, at: float, seconds: float) -> Candidate:
    result = Failed(FAIL.reason, (replace(FAIL.step, seconds=seconds),), "E", "E")
    evidence = GateEvidence(merge(TIP, f"m{pr}"), f"run{pr}", result, Fault.CANDIDATE)
    ended = Ejected(Reason.GATE_FAILED, evidence, at + seconds)
    return replace(candidate(pr), enqueued_at=at).moved(ended)


def store_of(changes: Sequence[tuple[Candidate, Receipt]], slots: int) -> MemoryStore:
    clock = ManualClock(NOW)
    runs = MemoryRuns()
    store = MemoryStore(clock, runs)
    runs.announce("host", slots, NOW)
    store.open_lane(LANE)
    commit = Commit(
        healthy(NOW),
        tuple(each for each, _ in changes),
        landed=tuple(receipt for _, receipt in changes),
    )
    store.commit(store.read(LANE), commit)
    return store


def week(count: int, slots: int) -> Document:
    changes = [landed(pr, NOW - 90_000 + pr * 200) for pr in range(1, count + 1)]
    store = store_of(changes, slots)
    return hindsight(store, store.read(LANE), lambda work: work())


def test_one_worker_more_and_one_less_are_told_in_a_sentence_with_their_numbers() -> None:
    found = week(30, 2)
    rows = found["rows"]
    assert isinstance(rows, list)
    assert [each["workers"] for each in rows] == [1, 2, 3]
    one, two, three = (each["mean_s"] for each in rows)
    assert one > two >= three >= GATE_S
    text = str(found["text"])
    assert text.startswith("Last week's 30 changes, played again by today's rules:")
    assert "with 2 workers" in text
    assert text.endswith("with 1.")


def test_where_there_is_one_worker_none_is_not_played() -> None:
    rows = week(30, 1)["rows"]
    assert isinstance(rows, list)
    assert [each["workers"] for each in rows] == [1, 2]


def test_too_little_history_is_said_and_nothing_shown() -> None:
    found = week(19, 2)
    assert found["rows"] == []
    assert "in the last week 19 changes went through a gate, and 20 are needed" in str(
        found["text"]
    )


def test_without_workers_nothing_is_compared() -> None:
    found = week(30, 0)
    assert found["rows"] == []
    assert "No worker is there now" in str(found["text"])


def test_only_what_a_gate_ended_within_the_week_is_played() -> None:
    fine, receipt = landed(1, NOW - 5000)
    old, old_receipt = landed(2, NOW - WEEK_S - 9000)
    withdrawn = candidate(3).moved(Cancelled(Reason.CLOSED, "closed", NOW - 10))
    strayed = candidate(4).moved(Ejected(Reason.CONFLICT, PlainEvidence("x"), NOW - 10))
    broken = red(5, NOW - 4000, 90.0)
    ended = [broken, strayed, withdrawn, fine, old]
    found = past_of(ended, [receipt, old_receipt], NOW - WEEK_S)
    assert found == (
        Past(NOW - 4000, 90.0, red=True, paths=("a.py",)),
        Past(NOW - 5000, GATE_S, red=False, paths=("f1",)),
    )


def test_a_red_change_stops_as_early_as_it_did() -> None:
    past = [Past(pr * 1000.0, GATE_S, red=False, paths=()) for pr in range(5)]
    early = play_again([*past, Past(5000.0, 30.0, red=True, paths=())], 2, QueuePolicy())
    late = play_again([*past, Past(5000.0, 290.0, red=True, paths=())], 2, QueuePolicy())
    assert (early.landed, early.refused) == (5, 1)
    assert early.no_s < late.no_s


def test_an_answer_is_worked_out_aside_and_again_after_an_hour() -> None:
    waiting: list[Callable[[], None]] = []
    aside = Aside(waiting.append, lambda work: work())
    answers = iter(({"text": "first"}, {"text": "second"}))

    def work() -> Document:
        return dict(next(answers))

    assert "is being worked out" in str(aside.answer("lane", NOW, work)["text"])
    assert len(waiting) == 1
    aside.answer("lane", NOW, work)
    assert len(waiting) == 1
    waiting.pop()()
    assert aside.answer("lane", NOW + 1, work) == {"text": "first"}
    assert waiting == []
    assert aside.answer("lane", NOW + AGAIN_S + 1, work) == {"text": "first"}
    waiting.pop()()
    assert aside.answer("lane", NOW + AGAIN_S + 1, work) == {"text": "second"}


def test_what_fails_is_told_and_tried_again_later() -> None:
    aside = Aside(at_once, lambda work: work())

    def away() -> Document:
        raise Unavailable("Redis does not answer")

    def mistaken() -> Document:
        raise ValueError

    assert "is being worked out" in str(aside.answer("lane", NOW, away)["text"])
    assert aside.answer("lane", NOW, mistaken)["text"] == "It could not be worked out: see the log."
    assert aside.answer("other", NOW, lambda: {"text": "fine"}) == {"text": "fine"}


def test_what_computes_for_long_runs_in_a_process_that_makes_way() -> None:
    assert in_a_process(os.getpid) != os.getpid()
    assert in_a_process(_niceness) > os.nice(0)


def _niceness() -> int:
    return os.nice(0)
