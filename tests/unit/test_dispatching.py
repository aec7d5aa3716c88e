from threading import Thread

import pytest

from mergebot.domain.dispatching import Nothing, Why, priority_of
from mergebot.domain.holding import Overseer, Release
from mergebot.domain.pulls import Permission
from mergebot.ports.forge import Issue
from mergebot.services.claiming import do
from mergebot.services.dispatching import Applicant, Given, next_task
from tests.support.village import ALICE, GATE, LANE, Village

FLEET = GATE + '[fleet]\nbacklog_label = "agents"\n'
MORNING = 1_000_000.0 - 1_000_000.0 % 86400 + 33 * 3600


def village(more: str = "", **tickets: str) -> Village:
    made = Village(rules=FLEET + more)
    for number, body in tickets.items():
        ticket(made, int(number[1:]), body)
    return made


def ticket(made: Village, number: int, body: str = "", *labels: str) -> None:
    made.hosting.tickets[number] = Issue(
        number, f"Task {number}", False, False, ("agents", *labels), body, float(number)
    )


def block(*patterns: str) -> str:
    listed = ", ".join(f'"{each}"' for each in patterns)
    return f"```mergebot\nclaims = [{listed}]\n```\n"


def ask(made: Village, owner: str = "agent-1") -> Given | Nothing:
    return next_task(made.parts, LANE, Applicant(owner, Permission.WRITE))


def given(made: Village, owner: str = "agent-1") -> int:
    found = ask(made, owner)
    assert isinstance(found, Given), found
    return found.task.number


def refused(made: Village, owner: str = "agent-1") -> Nothing:
    found = ask(made, owner)
    assert isinstance(found, Nothing), found
    return found


@pytest.mark.parametrize(
    ("labels", "priority"),
    [(("p0",), 0), (("P4", "priority:2"), 2), (("priority: 11",), 11), (("p5",), 1_000_000)],
)
def test_the_lowest_number_among_the_labels_is_the_priority(
    labels: tuple[str, ...], priority: int
) -> None:
    assert priority_of(labels) == priority


def test_tasks_go_out_by_priority_then_by_age_each_with_its_claim() -> None:
    made = village()
    ticket(made, 101, block("a/**"))
    ticket(made, 102, block("b/**"), "p2")
    ticket(made, 103, block("c/**"), "priority:1")
    first = ask(made)
    assert isinstance(first, Given)
    assert (first.task.number, first.owned.claim.patterns) == (103, ("c/**",))
    assert (first.owned.claim.task, first.owned.claim.branch) == ("#103", "task-103")
    assert [given(made), given(made)] == [102, 101]
    assert refused(made).why is Why.NOTHING_READY


def test_a_task_whose_files_are_held_waits_and_a_later_one_goes_out() -> None:
    made = village(t101=block("src/**"), t102=block("src/a"), t103=block("docs/**"))
    assert [given(made), given(made)] == [101, 103]
    waits = refused(made).waiting[-2]
    assert (waits.task, "claimed by agent-1 for #101" in waits.because) == (102, True)


def test_what_a_task_depends_on_is_done_first() -> None:
    made = village(t101="Depends-On: #102\n", t102="")
    assert given(made) == 102
    assert "it depends on #102" in refused(made).sentence
    closed = made.hosting.tickets.pop(102)
    made.hosting.issues[closed.number] = True
    assert given(made) == 101


def test_a_task_that_landed_is_not_handed_out_again_though_its_issue_is_open() -> None:
    made = village(t101=block("src/**"), t102="Depends-On: #101\n")
    assert given(made) == 101
    pr = made.propose({"src/a": "1"}, body=made.claiming("#101", "src/**"))
    held = made.ledger.of_task("#101")
    assert held is not None
    if not held.pr:
        do(made.parts, LANE, held.id, Release(), Overseer("alice"))
        made.hosting.change(ALICE, pr, "edited", body=made.claiming("#101", "src/a"))
        made.settle()
    made.label(pr)
    assert made.ledger.of_task("#101") is None
    assert given(made) == 102


def test_a_task_that_was_given_back_is_handed_out_again() -> None:
    made = village(t101="")
    first = ask(made)
    assert isinstance(first, Given)
    do(made.parts, LANE, first.owned.claim.id, Release(), Overseer("alice"))
    assert given(made, "agent-2") == 101


def test_only_tasks_that_may_run_unattended_and_ask_nobody_go_out() -> None:
    made = village('unattended_labels = ["docs"]\n', t101="")
    ticket(made, 102, "", "docs", "needs-a-person")
    ticket(made, 103, "", "docs")
    assert given(made) == 103
    because = {each.task: each.because for each in refused(made).waiting}
    assert "none of the labels that run unattended" in because[101]
    assert "it waits for a person" in because[102]


def test_a_block_that_cannot_be_used_keeps_its_task_back_and_says_why() -> None:
    made = village(t101=block("/etc"))
    assert "its block cannot be used" in refused(made).sentence


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("live_claims_max = 1", Why.FLEET_FULL),
        ("share_per_owner = 1", Why.SHARE_SPENT),
        ('window = "10:00-20:00"', Why.OUTSIDE_WINDOW),
        ('window = "20:00-08:00"', Why.OUTSIDE_WINDOW),
    ],
)
def test_each_bound_of_the_fleet_is_named_when_it_holds(rule: str, why: Why) -> None:
    made = village(rule + "\n", t101=block("a"), t102=block("b"))
    made.clock.advance(MORNING)
    if why is not Why.OUTSIDE_WINDOW:
        assert given(made) == 101
    assert refused(made).why is why


def test_nothing_goes_out_while_the_trunk_is_red_or_the_queue_is_halted() -> None:
    made = village(t101="")
    broken = made.remote.commit({".mergebot.toml": FLEET, "broken": "1"}, "Break", made.tip)
    made.remote.push(ALICE, "main", broken)
    made.reconcile()
    made.reconcile()
    assert refused(made).why is Why.TRUNK_RED


def test_a_trunk_that_cannot_be_kept_green_stops_the_handing_out_and_a_person_is_told_once() -> (
    None
):
    made = village("reds_max = 2\n", t101="", t102="")
    pr = made.propose({"x": "1"})
    made.label(pr)
    made.settle()
    for place in range(2):
        assert isinstance(ask(made, f"agent-{place}"), Given)
        files = {".mergebot.toml": FLEET + "reds_max = 2\n"}
        for broken in ({"broken": str(place)}, {}):
            tip = made.remote.commit(files | broken, f"Push {place}", made.tip)
            made.remote.push(ALICE, "main", tip)
            made.reconcile()
            made.reconcile()
    found = refused(made)
    assert (found.why, "red at 2 tips" in found.sentence) == (Why.TRUNK_UNSTEADY, True)
    for _ in range(3):
        made.clock.advance(made.clock.now() + 30)
        made.reconcile()
    asked = [each for each in made.hosting.comments.values() if "red at 2 tips" in each.body]
    assert [each.pr for each in asked] == [pr]
    ticket(made, 103)
    made.clock.advance(made.clock.now() + 25 * 3600)
    made.reconcile()
    assert given(made) == 103


def test_nothing_goes_out_while_more_waits_than_the_rules_allow() -> None:
    made = village("queue_longest = 1\n", t101="")
    pr = made.propose({"x": "1"})
    made.hosting.add_label(ALICE, pr, "merge-queue-hold")
    made.label(pr)
    found = refused(made)
    assert (found.why, "1 change in the queue" in found.sentence) == (Why.QUEUE_LONG, True)


def test_a_session_that_asks_again_gets_the_same_task_and_claim() -> None:
    made = village(t101=block("a"), t102=block("b"))
    applicant = Applicant(
        "agent-1", Permission.WRITE, session="a secret of the agent's own session"
    )
    first, again = (next_task(made.parts, LANE, applicant) for _ in range(2))
    assert isinstance(first, Given)
    assert isinstance(again, Given)
    assert (again.task.number, again.owned) == (first.task.number, first.owned)
    assert again.owned.token == applicant.session
    made.clock.advance(made.clock.now() + 1)
    do(made.parts, LANE, first.owned.claim.id, Release(), Overseer("alice"))
    ended = next_task(made.parts, LANE, applicant)
    assert isinstance(ended, Given)
    assert ended.owned.claim.id != first.owned.claim.id
    assert len(made.ledger.claims) == 1


def test_one_session_that_asks_twice_at_once_gets_one_task() -> None:
    made = village(**{f"t{number}": "" for number in range(101, 107)})
    applicant = Applicant(
        "agent-1", Permission.WRITE, session="a secret of the agent's own session"
    )
    got: list[Given | Nothing] = []
    threads = [
        Thread(target=lambda: got.append(next_task(made.parts, LANE, applicant))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {each.task.number for each in got if isinstance(each, Given)} == {101}
    assert (len(got), len(made.ledger.claims)) == (6, 1)


def test_without_a_backlog_label_nothing_goes_out() -> None:
    made = Village()
    assert refused(made).why is Why.NO_BACKLOG


def test_twelve_who_ask_at_once_get_twelve_different_tasks() -> None:
    made = village(**{f"t{number}": "" for number in range(101, 113)})
    got: list[int] = []
    threads = [Thread(target=lambda n=n: got.append(given(made, f"agent-{n}"))) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(got) == list(range(101, 113))
