from dataclasses import replace

import pytest

from mergebot.domain.branch_rules import BranchRules
from mergebot.domain.external import (
    Account,
    AllGreen,
    App,
    Awaited,
    CheckSeen,
    OneRed,
    Outcome,
    awaited_from,
    demanded,
    judge,
    unheard,
)
from mergebot.domain.gate import ExternalChecks, GateSpec, Pin
from mergebot.domain.ids import Actor

REQUIRED = ExternalChecks(checks=("ci",))


def seen(outcome: Outcome, *, id_: int = 1, producer: str = "actions") -> CheckSeen:
    return CheckSeen(producer, "ci", id_, outcome)


def test_a_check_that_nobody_reported_is_waited_for() -> None:
    other = CheckSeen("actions", "lint", 1, Outcome.PASSED)
    assert judge(REQUIRED, [other]) == Awaited(("ci",), ())


@pytest.mark.parametrize("outcome", [Outcome.WAITING, Outcome.CANCELLED])
def test_what_runs_or_was_cancelled_is_no_verdict(outcome: Outcome) -> None:
    assert judge(REQUIRED, [seen(outcome)]) == Awaited((), ("ci",))


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.SKIPPED])
def test_a_red_or_skipped_check_fails(outcome: Outcome) -> None:
    assert judge(REQUIRED, [seen(outcome)]) == OneRed(seen(outcome))


def test_a_check_that_may_be_skipped_passes_when_it_is() -> None:
    skippable = replace(REQUIRED, skippable=("ci",))
    assert judge(skippable, [seen(Outcome.SKIPPED)]) == AllGreen()


def test_a_rerun_replaces_what_the_same_producer_said_before() -> None:
    red, running, green = (
        seen(outcome, id_=number)
        for number, outcome in enumerate((Outcome.FAILED, Outcome.WAITING, Outcome.PASSED))
    )
    assert judge(REQUIRED, [running, red]) == Awaited((), ("ci",))
    assert judge(REQUIRED, [green, running, red]) == AllGreen()


def test_every_producer_of_a_name_has_to_be_green() -> None:
    green = seen(Outcome.PASSED, id_=9)
    assert judge(REQUIRED, [green, seen(Outcome.WAITING, producer="other")]) == Awaited((), ("ci",))
    red = seen(Outcome.FAILED, producer="other")
    assert judge(REQUIRED, [green, red]) == OneRed(red)


def test_a_gate_with_other_external_checks_is_another_gate() -> None:
    plain = GateSpec((), 60.0)
    assert replace(plain, external=REQUIRED).digest != plain.digest


ACTIONS = App("github-actions", 15368)
EVE = Account("eve", 7)


def by(who: App | Account | None, outcome: Outcome, *, id_: int = 1) -> CheckSeen:
    producer = {App: "the App", Account: "the account"}.get(type(who), "nobody known")
    return CheckSeen(f"{producer} {who}", "ci", id_, outcome, by=who)


def pinned(*producers: str) -> ExternalChecks:
    return replace(REQUIRED, pins=tuple(Pin("ci", each) for each in producers))


@pytest.mark.parametrize("producer", ["github-actions", "15368"])
@pytest.mark.parametrize(
    "stranger",
    [EVE, App("evil-actions", 9), App("15368", 9), Account("github-actions", 15368), None],
    ids=str,
)
def test_of_a_pinned_check_a_strangers_word_counts_for_nothing(
    producer: str, stranger: App | Account | None
) -> None:
    green = by(stranger, Outcome.PASSED)
    assert judge(pinned(producer), [green]) == Awaited(("ci",), ())
    assert unheard(pinned(producer), [green]) == (green,)
    red = by(stranger, Outcome.FAILED)
    own = by(ACTIONS, Outcome.PASSED, id_=2)
    assert judge(pinned(producer), [red, own]) == AllGreen()
    failed = by(ACTIONS, Outcome.FAILED, id_=3)
    assert judge(pinned(producer), [green, failed]) == OneRed(failed)


def test_an_account_is_pinned_by_its_login() -> None:
    robot = Account("Build-Bot", 8)
    assert judge(pinned("@build-bot"), [by(robot, Outcome.PASSED)]) == AllGreen()
    assert judge(pinned("@build-bot"), [by(EVE, Outcome.PASSED)]) == Awaited(("ci",), ())
    app = App("build-bot", 8)
    assert judge(pinned("@build-bot"), [by(app, Outcome.PASSED)]) == Awaited(("ci",), ())


def test_of_two_pins_both_have_to_be_green() -> None:
    both = pinned("github-actions", "@build-bot")
    one, other = by(ACTIONS, Outcome.PASSED), by(Account("build-bot", 8), Outcome.PASSED, id_=2)
    assert judge(both, [one]) == Awaited(("ci",), ())
    assert judge(both, [one, other]) == AllGreen()


def test_the_forges_own_rules_pin_what_the_file_leaves_open() -> None:
    rules = BranchRules(pins=(Pin("ci", "15368"), Pin("lint", "3")))
    required = demanded(REQUIRED, rules)
    assert required.pins == (Pin("ci", "15368"),)
    assert judge(required, [by(EVE, Outcome.PASSED)]) == Awaited(("ci",), ())
    assert awaited_from(required, "ci") == "the App `15368`"


def test_nobody_vouches_for_a_change_of_their_own() -> None:
    green = by(EVE, Outcome.PASSED)
    author = [Actor(7, "eve")]
    assert judge(REQUIRED, [green], authors=author) == Awaited(("ci",), ())
    assert unheard(REQUIRED, [green], authors=author) == (green,)
    assert judge(REQUIRED, [green], authors=[Actor(8, "bob")]) == AllGreen()
    assert judge(pinned("@eve"), [green], authors=author) == AllGreen()


def test_an_app_vouches_for_no_change_of_its_own_unless_it_is_the_forges_ci() -> None:
    agent, forge = Actor(9, "agent[bot]"), Actor(41898282, "github-actions[bot]")
    green = by(App("agent", 3), Outcome.PASSED)
    assert judge(REQUIRED, [green], authors=[agent]) == Awaited(("ci",), ())
    assert judge(REQUIRED, [by(ACTIONS, Outcome.PASSED)], authors=[forge]) == AllGreen()


def test_a_gate_with_other_pins_is_another_gate() -> None:
    plain = GateSpec((), 60.0, external=REQUIRED)
    assert replace(plain, external=pinned("github-actions")).digest != plain.digest
