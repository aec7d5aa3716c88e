import pytest

from tests.support.waiting import eventually


def test_the_first_true_result_is_handed_back() -> None:
    answers = iter(["", "", "third"])
    assert eventually(lambda: next(answers), within_s=5, what="an answer") == "third"


def test_a_condition_that_stays_false_is_named_with_its_last_result() -> None:
    with pytest.raises(AssertionError, match=r"the queue is empty \(last seen: 0\)"):
        eventually(lambda: 0, within_s=0, what="the queue is empty")
