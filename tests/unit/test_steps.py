from mergebot.domain.gate import Step
from mergebot.domain.steps import Tally, agenda, fail_first


def step(name: str, *needs: str) -> Step:
    return Step(name, f"run {name}", 60.0, needs=needs)


def names(steps: object) -> list[str]:
    return [each.name for each in steps]  # type: ignore[attr-defined]  # a list or tuple of steps


def test_without_needs_each_step_waits_for_the_one_before() -> None:
    plan = agenda([step("build"), step("test"), step("lint")])
    assert names(plan.startable((), ())) == ["build"]
    assert names(plan.startable(("build",), ())) == ["test"]
    assert plan.before("lint") == {"build", "test"}
    assert not plan.parallel


def test_with_needs_a_step_starts_when_those_are_done() -> None:
    plan = agenda([step("build"), step("lint"), step("test", "build")])
    assert names(plan.startable((), ())) == ["build", "lint"]
    assert names(plan.startable(("build",), ("lint",))) == ["test"]
    assert plan.before("test") == {"build"}
    assert plan.parallel


def test_a_gate_of_one_step_is_not_parallel() -> None:
    assert not agenda([step("test")]).parallel


def test_what_fails_often_and_is_cheap_goes_first() -> None:
    steps = [step("slow"), step("quick"), step("shaky")]
    tallies = {"slow": Tally(9, 1), "quick": Tally(9, 1), "shaky": Tally(1, 9)}
    usual = {"slow": 100.0, "quick": 1.0, "shaky": 2.0}
    assert names(fail_first(steps, tallies, usual)) == ["shaky", "quick", "slow"]


def test_no_step_goes_before_one_that_it_needs() -> None:
    steps = [step("build"), step("lint"), step("test", "build")]
    tallies = {"test": Tally(0, 50), "build": Tally(50, 0), "lint": Tally(5, 5)}
    assert names(fail_first(steps, tallies, {})) == ["lint", "build", "test"]
