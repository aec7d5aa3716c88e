from dataclasses import replace

import pytest

from mergebot.domain.external import AllGreen, Awaited, CheckSeen, OneRed, Outcome, judge
from mergebot.domain.gate import ExternalChecks, GateSpec

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
