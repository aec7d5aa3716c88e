"""The demo, as a newcomer runs it."""

import json

import pytest

from tests.support.product import run

pytestmark = pytest.mark.slow


def test_the_demo_ends_as_it_promises_and_leaves_nothing_behind() -> None:
    shown = run("demo", "--json")

    assert shown.code == 0, shown.out + shown.err
    assert "Every pull request ended as it should." in shown.out
    outcomes = json.loads(shown.out[shown.out.index("[\n") : shown.out.rindex("]") + 1])
    assert [each["state"] for each in outcomes].count("landed") == 7
    assert "Traceback" not in shown.err
