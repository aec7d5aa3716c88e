"""Asking where a pull request stands that is not in the queue."""

from tests.support.village import EVE, Village


def said_last(village: Village, pr: int, text: str) -> str:
    village.say(pr, text, by=EVE)
    return village.comments(pr)[-1].replace("\u2060", "").replace("\\", "")


def test_who_asks_about_what_was_never_queued_is_told_how_to_queue_it() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"})
    assert "was never queued: set the label merge-queue" in said_last(
        village, pr, "@mergebot status"
    )
    before = len(village.comments(pr))
    assert "was never queued" in said_last(village, pr, "/mergebot explain")
    assert len(village.comments(pr)) == before + 1


def test_who_asks_about_what_was_sent_back_is_told_why_and_what_to_do() -> None:
    village = Village()
    pr = village.propose({"broken": "1"})
    village.label(pr)
    told = said_last(village, pr, "@mergebot explain")
    assert "attempt 1 ended as ejected (gate_failed); next: push a fix, then label again." in told
    assert set().union(*village.hosting.reactions.values()) == {"+1"}


def test_who_asks_about_what_landed_is_told_so() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"})
    village.label(pr)
    assert "ended as landed; next: nothing" in said_last(village, pr, "@mergebot status")
