import pytest

from mergebot.domain.candidate import Ejected, Kind
from mergebot.domain.dispatching import Nothing
from mergebot.domain.holding import Park
from mergebot.domain.ledger import Parked
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.ports.forge import Issue
from mergebot.services.admitting import want_label
from mergebot.services.claiming import Wanted, claim, do_for_pull
from mergebot.services.dispatching import Applicant, next_task
from tests.support.village import BOB, GATE, LANE, Village

RULES = GATE + '[budget]\nfailures = 2\n[fleet]\nbacklog_label = "agents"\n'


@pytest.fixture
def village() -> Village:
    made = Village(rules=RULES)
    for number in (101, 102):
        made.hosting.tickets[number] = Issue(number, "Task", False, False, ("agents",), "", 1.0)
    return made


def fail(village: Village, pr: int, times: int = 1) -> None:
    for _ in range(times):
        state = village.label(pr).state
        assert isinstance(state, Ejected)
        tree = village.remote.objects.commit(village.tip).tree
        broken = {**tree, "broken": str(village.clock.now())}
        head = village.remote.commit(broken, "Again", village.tip)
        village.hosting.push(BOB, pr, head)
        village.settle()


def failing(village: Village, task: str) -> int:
    body = village.claiming(task, "broken")
    return village.propose({"broken": "1"}, body=body)


def issue_comments(village: Village, number: int) -> list[str]:
    found = [each.body for each in village.hosting.comments.values() if each.pr == number]
    return [each.replace("\\", "").replace("\u2060", "") for each in found]


def test_a_task_that_failed_too_often_asks_a_person_once_and_goes_back(village: Village) -> None:
    pr = failing(village, "#101")
    fail(village, pr, times=2)
    assert village.ledger.of_task("#101") is not None
    village.reconcile()
    village.reconcile()
    (asked,) = issue_comments(village, 101)
    assert "This needs a person: #1 failed 2 times (gate_failed 2 times)" in asked
    assert "needs-a-person" in village.hosting.tickets[101].labels
    assert village.ledger.of_task("#101") is None
    assert "merge-queue" not in village.hosting.pulls[pr].labels


def test_failures_of_a_task_count_over_all_its_pull_requests(village: Village) -> None:
    first = failing(village, "#101")
    fail(village, first)
    village.say(first, "@mergebot release")
    village.close(first)
    second = failing(village, "#101")
    fail(village, second)
    village.reconcile()
    (asked,) = issue_comments(village, 101)
    assert "#1, #2 failed 2 times" in asked


def test_until_somebody_answers_the_task_is_neither_handed_out_nor_queued(
    village: Village,
) -> None:
    first = failing(village, "#101")
    fail(village, first, times=2)
    village.reconcile()
    village.close(first)
    del village.hosting.tickets[102]
    none = next_task(village.parts, LANE, Applicant("agent", Permission.WRITE))
    assert isinstance(none, Nothing)
    assert "it waits for a person" in none.sentence
    second = failing(village, "#101")
    state = village.label(second).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.BUDGET_SPENT
    assert "a person was asked there" in state.evidence.text  # type: ignore[union-attr]  # plain


def test_what_a_person_parked_stays_parked_when_its_budget_is_spent(village: Village) -> None:
    pr = failing(village, "#101")
    do_for_pull(village.parts, LANE, pr, Park("mine", 2e6), "bob")
    fail(village, pr, times=2)
    village.reconcile()
    held = village.ledger.of_task("#101")
    assert held is not None
    assert isinstance(held.state, Parked)


def test_a_pull_request_without_a_task_is_asked_about_on_itself(village: Village) -> None:
    pr = village.propose({"broken": "1"})
    fail(village, pr, times=2)
    village.reconcile()
    village.reconcile()
    asked = [each for each in village.comments(pr) if "This needs a person" in each]
    assert len(asked) == 1


def test_two_tasks_that_keep_needing_the_same_files_are_asked_about_once(
    village: Village,
) -> None:
    village.propose({"src/a": "1"}, body=village.claiming("#101", "src/**"))
    wanted = Wanted("#102", ("src/a",), (), "agent-2", "", Permission.WRITE)
    for _ in range(4):
        claim(village.parts, LANE, wanted)
        village.reconcile()
    (asked,) = issue_comments(village, 102)
    assert "#102 and #101 need the same files (src/**)" in asked
    assert village.ledger.of_task("#101") is not None


def test_a_label_that_an_ended_attempt_left_behind_is_set_anew_for_the_new_head(
    village: Village,
) -> None:
    pr = village.propose({"a": "1"})
    village.hosting.add_label(BOB, pr, "merge-queue")
    want_label(village.parts, LANE, village.hosting.pulls[pr], Kind.NORMAL)
    events = village.parts.forge.label_events("o/r", pr)
    assert [each.actor.login for each in events] == ["bob", "mergebot"]
