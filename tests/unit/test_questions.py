"""What else a person is asked about: a broken gate, an order nobody may decide; and never twice."""

from dataclasses import replace

import pytest

from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.candidate import Cancelled, Ejected, Parked
from mergebot.domain.dependencies import circles
from mergebot.domain.gate import GateResult, Lack, NoVerdict, Passed
from mergebot.domain.ledger import Change, Note
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.ports.forge import Issue
from mergebot.services.claiming import Wanted, claim
from mergebot.services.dispatching import Applicant, next_task
from tests.support.village import ALICE, GATE, LANE, PASS, Village
from tests.unit.test_escalating import fail, failing

RULES = GATE + '[budget]\nfailures = 2\ninfra = 1\n[fleet]\nbacklog_label = "agents"\n'


class Silent(Village):
    """A village whose gate judges the trunk alone: it gives no verdict on any change."""

    lack: Lack = Lack.INFRASTRUCTURE

    def _gate(self, run: str) -> None:
        taken = self.runs.take(LANE, run, "gate", self.clock.now())
        if taken is None:
            return
        silent = NoVerdict("the disk is full", self.lack)
        result: GateResult = silent if taken.order.pr else Passed((PASS,))
        self.runs.finish(LANE, run, result, self.clock.now())
        self.parts.doorbell.tick(LANE)


def ticket(village: Village, number: int, body: str = "") -> None:
    village.hosting.tickets[number] = Issue(number, "Task", False, False, ("agents",), body, 1.0)


def questions(village: Village, number: int) -> list[str]:
    found = [each.body for each in village.hosting.comments.values() if each.pr == number]
    plain = [each.replace("\\", "").replace("\u2060", "") for each in found]
    return [each for each in plain if "This needs a person" in each]


def rounds(village: Village, number: int = 2) -> None:
    for _ in range(number):
        village.clock.advance(village.clock.now() + 30)
        village.reconcile()


def lose_redis(village: Village) -> None:
    village.ledgers = MemoryLedger()
    village.store = MemoryStore(village.clock, village.runs)
    village.parts = replace(village.parts, ledger=village.ledgers, store=village.store)
    rounds(village)


def requeue(village: Village, pr: int) -> None:
    village.hosting.change(ALICE, pr, "edited", body=village.hosting.pulls[pr].body + "\n")
    village.label(pr)


def test_a_gate_that_fails_three_changes_alike_asks_one_person_once() -> None:
    village = Village(rules=RULES, works=lambda tree: not any("broken" in name for name in tree))
    pulls = [village.propose({f"broken-{n}": "1"}) for n in range(3)]
    for pr in pulls:
        village.hosting.add_label(ALICE, pr, "merge-queue")
    village.settle()
    halt = village.store.read(LANE).state.halt
    assert halt is not None
    rounds(village, 3)
    asked = [text for pr in pulls for text in questions(village, pr)]
    assert len(asked) == 1
    assert "the queue halted itself, because #1, #2 and #3 fail in the same new way" in asked[0]
    assert "What is in the queue keeps its place" in asked[0]
    assert village.candidate(pulls[-1]).open


def test_a_sandbox_that_does_not_start_asks_one_person_once() -> None:
    village = Silent(rules=RULES)
    village.lack = Lack.SANDBOX
    pr = village.propose({"a": "1"})
    village.label(pr)
    rounds(village, 3)
    (asked,) = questions(village, pr)
    assert "no gate runs, because the sandbox cannot start: the disk is full" in asked


def test_a_halt_by_a_person_asks_nobody() -> None:
    village = Village(rules=RULES)
    pr = village.propose({"a": "1"})
    village.say(pr, "@mergebot halt we move house", by=ALICE)
    rounds(village)
    assert village.store.read(LANE).state.halt is not None
    assert questions(village, pr) == []


def test_a_task_whose_gates_gave_no_verdict_too_often_asks_once_and_goes_back() -> None:
    village = Silent(rules=RULES)
    ticket(village, 101)
    pr = village.propose({"src/a": "1"}, body=village.claiming("#101", "src/**"))
    village.label(pr)
    for _ in range(3):
        village.clock.advance(village.clock.now() + 600)
        village.reconcile()
    state = village.candidate(pr).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.BUDGET_SPENT
    (asked,) = questions(village, 101)
    assert "the gate gave no verdict 1 time, last because the disk is full" in asked
    assert "needs-a-person" in village.hosting.tickets[101].labels
    assert "merge-queue" not in village.hosting.pulls[pr].labels
    assert village.ledger.of_task("#101") is None
    requeue(village, pr)
    rounds(village)
    assert len(questions(village, 101)) == 1


def test_pull_requests_that_wait_for_one_another_ask_who_goes_first() -> None:
    village = Village(rules=RULES)
    first = village.propose({"a": "1"}, body="Depends-On: #2\n" + village.claiming("A-1", "a"))
    second = village.propose({"b": "1"}, body="Depends-On: #1\n" + village.claiming("B-2", "b"))
    assert isinstance(village.label(first).state, Parked)
    village.label(second)
    rounds(village, 3)
    assert questions(village, second) == []
    (asked,) = questions(village, first)
    assert "#1 and #2 wait for one another" in asked
    for pr, task in ((first, "A-1"), (second, "B-2")):
        assert isinstance(village.candidate(pr).state, Cancelled)
        assert "merge-queue" not in village.hosting.pulls[pr].labels
        assert village.ledger.of_task(task) is None


def test_tasks_that_depend_on_one_another_ask_who_goes_first() -> None:
    village = Village(rules=RULES)
    for number, other in ((101, 102), (102, 103), (103, 101)):
        ticket(village, number, f"Depends-On: #{other}\n")
    rounds(village, 3)
    (asked,) = questions(village, 101)
    assert "the tasks #101, #102 and #103 depend on one another" in asked
    assert [questions(village, number) for number in (102, 103)] == [[], []]
    assert "needs-a-person" in village.hosting.tickets[101].labels


def test_a_chain_of_dependencies_asks_nobody() -> None:
    village = Village(rules=RULES)
    ticket(village, 101, "Depends-On: #102\n")
    ticket(village, 102)
    first = village.propose({"a": "1"}, body="Depends-On: #2\n")
    village.propose({"b": "1"})
    village.label(first)
    rounds(village)
    assert questions(village, first) == []
    assert questions(village, 101) == []


@pytest.mark.parametrize(
    ("waits_for", "found"),
    [
        ({1: (2,), 2: (3,), 3: ()}, ()),
        ({1: (2,), 2: (1,), 3: (1,)}, ((1, 2),)),
        ({1: (2, 3), 2: (1,), 3: (4,), 4: (3,)}, ((1, 2), (3, 4))),
        ({1: (1,)}, ((1,),)),
        ({1: (9,)}, ()),
    ],
)
def test_whoever_can_reach_itself_is_in_exactly_one_circle(
    waits_for: dict[int, tuple[int, ...]], found: tuple[tuple[int, ...], ...]
) -> None:
    assert circles(waits_for) == found


def test_nobody_is_asked_again_when_everything_in_redis_is_lost() -> None:
    village = Village(rules=RULES)
    for number, other in ((101, 102), (102, 101)):
        ticket(village, number, f"Depends-On: #{other}\n")
    first = village.propose({"a": "1"}, body="Depends-On: #2\n")
    second = village.propose({"src/b": "1"}, body="Depends-On: #1\n")
    village.label(first)
    village.propose({"src/c": "1"}, body=village.claiming("#103", "src/**"))
    ticket(village, 103)
    wanted = Wanted("#102", ("src/a",), (), "agent-2", "", Permission.WRITE)
    for _ in range(2):
        for _ in range(3):
            claim(village.parts, LANE, wanted)
        village.label(second)
        rounds(village)
        asked = [len(questions(village, number)) for number in (101, 102, 103, first, second)]
        assert asked == [1, 1, 0, 1, 0]
        lose_redis(village)


def test_a_task_that_waits_for_a_person_still_does_when_redis_is_lost() -> None:
    village = Village(rules=RULES)
    ticket(village, 101)
    pr = failing(village, "#101")
    fail(village, pr, times=2)
    rounds(village)
    lose_redis(village)
    state = village.label(pr).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.BUDGET_SPENT
    found = next_task(village.parts, LANE, Applicant("agent", Permission.WRITE))
    assert "it waits for a person" in found.sentence  # type: ignore[union-attr]  # nothing is given
    assert len(questions(village, 101)) == 1


def test_a_question_is_remembered_however_much_happens_in_the_ledger_since() -> None:
    village = Village(rules=RULES)
    ticket(village, 101)
    pr = failing(village, "#101")
    fail(village, pr, times=2)
    rounds(village)
    village.close(pr)
    village.hosting.tickets[101] = replace(village.hosting.tickets[101], labels=("agents",))
    held = claim(village.parts, LANE, Wanted("#101", ("x",), (), "a", "", Permission.WRITE))
    lines = tuple(Note(1.0, "x", 1, "mia", "renewed", str(n)) for n in range(2000))
    village.ledgers.commit(village.ledger, Change((), lines))
    rounds(village)
    assert village.ledger.of_task("#101") == held.claim  # type: ignore[union-attr]  # it is ours
    assert village.hosting.tickets[101].labels == ("agents",)
