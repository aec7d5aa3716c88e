"""The checker of landings by others' checks: the newest run counts, however late an older one ends."""

from random import Random

from mergebot.domain.external import CheckSeen, Outcome
from mergebot.domain.gate import ExternalChecks
from tests.simulation.ci import Ci, Report
from tests.simulation.moods import Mood
from tests.simulation.stage import Stage
from tests.support.builders import sha
from tests.support.world import World

BOTH = ExternalChecks(checks=("all", "docs"))
MERGED = sha("m1")


def ever_green(*said: tuple[str, int, Outcome]) -> bool:
    """Tell whether a commit with these reports, oldest first, was ever green."""
    log = [
        Report(float(at), MERGED, CheckSeen("ci", name, run, outcome))
        for at, (name, run, outcome) in enumerate(said)
    ]
    return Ci(Stage(0), Mood(Random(0)), World().hosting, log).ever_green(MERGED, BOTH)


def test_an_older_run_that_is_cancelled_last_does_not_undo_a_newer_one() -> None:
    assert ever_green(
        ("all", 1, Outcome.WAITING),
        ("all", 3, Outcome.PASSED),
        ("all", 1, Outcome.CANCELLED),
        ("docs", 4, Outcome.PASSED),
    )


def test_an_older_run_that_passes_last_does_not_hide_a_newer_red_one() -> None:
    assert not ever_green(
        ("all", 1, Outcome.WAITING),
        ("all", 3, Outcome.FAILED),
        ("all", 1, Outcome.PASSED),
        ("docs", 4, Outcome.PASSED),
    )


def test_a_rerun_that_turns_red_before_the_rest_is_green_is_not_green() -> None:
    assert not ever_green(
        ("all", 1, Outcome.PASSED),
        ("all", 3, Outcome.FAILED),
        ("docs", 4, Outcome.PASSED),
    )
