import pytest

from mergebot.domain.costs import Cost, Reported, Unusable, amount_fault, shown_amount, spent
from mergebot.domain.dispatching import Nothing, Why
from mergebot.domain.holding import Denied, Overseer, Release
from mergebot.domain.ledger import proof_of
from mergebot.domain.policy import FleetPolicy
from mergebot.domain.pulls import Permission
from mergebot.services.claiming import do
from mergebot.services.costing import Booked, Reporter, report_cost, spent_in
from mergebot.services.dispatching import Given
from tests.support.builders import NOW
from tests.support.village import ALICE, BOB, EVE, LANE, Village
from tests.unit.test_dispatching import ask, block, refused, village

RULES = 'cost_max = 10.0\ncost_unit = "EUR"\n'


def task(made: Village, owner: str = "agent-1") -> Given:
    found = ask(made, owner)
    assert isinstance(found, Given), found
    return found


def report(made: Village, given: Given, amount: float, reference: str = "") -> object:
    by = Reporter(BOB, Permission.WRITE, proof_of(given.owned.token))
    said = Reported(amount, "", reference)
    return report_cost(made.parts, LANE, given.owned.claim.id, said, by=by)


@pytest.mark.parametrize("value", [-0.01, 1e9 + 1, float("nan"), float("inf"), True, "3", None])
def test_what_is_no_amount_is_refused(value: object) -> None:
    assert amount_fault(value) == "amount must be a number from 0 to 1,000,000,000"


def test_amounts_are_written_as_people_write_them() -> None:
    shown = [shown_amount(each) for each in (0, 12.5, 1_200_000, 0.000015)]
    assert shown == ["0", "12.5", "1,200,000", "0.000015"]


def test_once_the_ceiling_is_reached_nothing_is_handed_out_and_the_budget_is_named() -> None:
    made = village(RULES, t101=block("a"), t102=block("b"), t103=block("c"))
    first, second = task(made), task(made)
    report(made, first, 6.0)
    report(made, second, 4.5)
    found = refused(made)
    assert found.why is Why.BUDGET_SPENT
    assert found.sentence == (
        "agents spent 10.5 of 10 EUR that a day may cost (fleet.cost_max); "
        "counts only what agents reported: 2 of 2 tasks"
    )


def test_below_the_ceiling_work_goes_on_and_the_sum_says_what_it_leaves_out() -> None:
    made = village(RULES, t101=block("a"), t102=block("b"), t103=block("c"))
    report(made, task(made), 9.99)
    task(made)
    assert isinstance(ask(made), Given)
    told = spent_in(made.ledgers, made.store.read(LANE))
    assert told.coverage == "counts only what agents reported: 1 of 3 tasks"


def test_a_report_that_is_repeated_counts_once() -> None:
    made = village(RULES, t101=block("a"))
    given = task(made)
    assert isinstance(report(made, given, 6.0, "run-1"), Booked)
    again = report(made, given, 6.0, "run-1")
    assert isinstance(again, Booked)
    assert not again.fresh
    report(made, given, 1.5, "run-2")
    assert spent_in(made.ledgers, made.store.read(LANE)).amount == 7.5


def test_another_amount_under_the_same_reference_is_refused() -> None:
    made = village(RULES, t101=block("a"))
    given = task(made)
    report(made, given, 6.0)
    found = report(made, given, 5.0)
    assert isinstance(found, Unusable)
    assert "was reported with 6 EUR already" in found.sentence
    assert spent_in(made.ledgers, made.store.read(LANE)).amount == 6.0


def test_a_unit_that_is_not_counted_here_is_refused_by_name() -> None:
    made = village(RULES, t101=block("a"))
    claim = task(made).owned.claim.id
    admin = Reporter(ALICE, Permission.ADMIN)
    found = report_cost(made.parts, LANE, claim, Reported(1.0, "tokens"), by=admin)
    assert isinstance(found, Unusable)
    assert "counted in EUR here" in found.sentence


def test_only_the_owner_or_an_admin_reports_also_after_the_claim_ended() -> None:
    made = village(RULES, t101=block("a"))
    given = task(made)
    claim = given.owned.claim.id
    stranger = Reporter(BOB, Permission.WRITE)
    guesser = Reporter(ALICE, Permission.ADMIN, proof_of("guess"))
    for by in (stranger, guesser):
        assert isinstance(report_cost(made.parts, LANE, claim, Reported(1.0), by=by), Denied)
    do(made.parts, LANE, claim, Release(), Overseer("alice"))
    assert isinstance(report(made, given, 1.0), Booked)
    admin = Reporter(ALICE, Permission.ADMIN)
    late = report_cost(made.parts, LANE, claim, Reported(1.0, reference="late"), by=admin)
    assert isinstance(late, Booked)


def test_the_author_of_a_pull_request_reports_for_the_claim_of_its_block() -> None:
    made = village(RULES)
    pr = made.propose({"src/a": "1"}, body=made.claiming("T-1", "src/**"))
    held = made.ledger.of_pull(pr)
    assert held is not None
    for who, right in ((EVE, Denied), (BOB, Booked)):
        by = Reporter(who, Permission.WRITE)
        assert isinstance(report_cost(made.parts, LANE, held.id, Reported(1.0), by=by), right)


def test_what_was_reported_a_day_ago_no_longer_counts() -> None:
    old = Cost("1", NOW - 86_401, "a", "A-1", "mia", 9.0, "USD", "a")
    new = Cost("2", NOW - 86_399, "b", "B-2", "mia", 2.0, "USD", "b")
    other = Cost("3", NOW, "c", "C-3", "mia", 5.0, "EUR", "c")
    found = spent([old, new, other], [], FleetPolicy(), repo=LANE.repo, now=NOW)
    assert (found.amount, found.reported, found.over) == (2.0, 1, False)


def test_nothing_is_handed_out_only_until_a_day_has_passed() -> None:
    made = village(RULES, t101=block("a"), t102=block("b"))
    report(made, task(made), 10.0)
    assert isinstance(ask(made), Nothing)
    made.clock.advance(made.clock.now() + 86_401)
    assert isinstance(ask(made), Given)
