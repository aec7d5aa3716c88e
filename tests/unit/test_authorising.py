"""What the forge has to show right before a landing, whatever the record says."""

from mergebot.domain.candidate import Cancelled, Landed
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from tests.support.village import ALICE, Village


def test_a_head_that_was_pushed_after_its_label_does_not_land_whatever_the_record_says() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"})

    def pushing(_tree: object) -> bool:
        (branch,) = [each for each in village.hosting.pushed_at if each.endswith(f":branch-{pr}")]
        village.hosting.pushed_at[branch] = village.clock.now() + 1
        return True

    village.works = pushing
    state = village.label(pr).state
    assert isinstance(state, Cancelled)
    assert state.reason is Reason.HEAD_CHANGED
    assert "was pushed after the label" in state.text


def test_who_lost_the_right_to_queue_while_the_gate_ran_lands_nothing() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"})

    def demoting(_tree: object) -> bool:
        village.hosting.people[ALICE.id] = Permission.READ
        return True

    village.works = demoting
    state = village.label(pr).state
    assert isinstance(state, Cancelled)
    assert state.reason is Reason.NOT_PERMITTED


def test_what_the_forge_shows_as_asked_for_lands() -> None:
    village = Village()
    assert isinstance(village.label(village.propose({"src/a": "1"})).state, Landed)
