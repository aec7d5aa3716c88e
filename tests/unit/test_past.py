import json
from dataclasses import replace

from mergebot.domain.candidate import Landed, Queued
from mergebot.domain.decision import Decision
from mergebot.domain.ids import Sha
from mergebot.domain.limits import GENERATION_LEAP
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.domain.recovery import Past, PastLanding, finish, past_of, read_landing, rebuild
from mergebot.domain.wording import iso
from tests.support.builders import LANE, NOW, TIP, candidate, merge, sha, snapshot, verdict


def receipt(pr: int, base: Sha, previous: str = "", generation: int = 1) -> Receipt:
    record = LandingRecord(iso(NOW + pr), generation, previous)
    made = merge(base, f"m{pr}")
    return write_receipt(LANE, candidate(pr), merge=made, verdict=verdict(pr, base), record=record)


def landing(found: Receipt) -> PastLanding:
    read = read_landing(LANE, Sha(str(found.fields["merged"])), found)
    assert read is not None
    return read


def three() -> Past:
    """Landings 1, 2 and 3 of one chain, read in another order than they landed in."""
    first = receipt(1, TIP)
    second = receipt(2, sha("m1"), first.digest, 4)
    third = receipt(3, sha("m2"), second.digest, 4)
    trunk = [sha("m1"), sha("m2"), sha("m3")]
    return past_of([landing(each) for each in (third, first, second)], trunk)


def test_receipts_come_in_the_order_of_the_trunk_and_end_in_the_last_of_their_chain() -> None:
    past = three()
    assert [each.candidate.pr for each in past.landings] == [1, 2, 3]
    assert past.last_receipt == past.landings[-1].receipt.digest
    assert past.generation == 4 + GENERATION_LEAP


def test_a_note_that_is_no_receipt_of_this_lane_on_this_commit_is_left_out() -> None:
    good = receipt(1, TIP)
    assert read_landing(LANE, sha("another"), good) is None
    for changed in ({"trunk": "release"}, {"merged": "x"}, {"pr": "7"}, {"verdict": "fail"}):
        odd = Receipt(json.dumps({**good.fields, **changed}))
        assert read_landing(LANE, sha("m1"), odd) is None
    assert read_landing(LANE, sha("m1"), Receipt("{}")) is None


def test_a_rebuild_ends_what_landed_and_keeps_the_others_open() -> None:
    past = three()
    before = snapshot(candidate(3, Queued()), candidate(9, Queued()), recovering=True)
    decision = rebuild(Decision(before), past, past.landings)
    state = decision.snapshot.state
    assert [each.pr for each in decision.snapshot.candidates] == [9]
    assert all(isinstance(each.state, Landed) for each in decision.candidates)
    assert (state.epoch, state.last_receipt) == (2, past.last_receipt)
    assert state.greens[-3:] == (sha("m1"), sha("m2"), sha("m3"))
    assert state.recovering


def test_a_rebuild_that_was_cut_off_changes_nothing_more_when_it_is_made_again() -> None:
    past = three()
    empty = snapshot(known_tip=None, greens=(), recovering=True)
    once = rebuild(Decision(empty), past, past.landings).snapshot
    assert rebuild(Decision(once), past, ()).snapshot.state == once.state


def test_the_end_of_a_recovery_tells_what_came_back_and_writes_the_last_notices_again() -> None:
    past = three()
    empty = snapshot(candidate(9, Queued()), candidate(10, Queued()), recovering=True)
    decision = finish(Decision(empty), past, landed=3, kept=1)
    assert not decision.snapshot.state.recovering
    assert decision.entries[-1].text == (
        "the queue was rebuilt: 3 landings read from receipts, 1 pull request kept,"
        " 1 pull request queued again by label"
    )
    assert {each.key for each in decision.effects} >= {"notice:1", "notice:2", "notice:3"}


def test_of_a_group_only_the_last_ones_commit_is_known_to_be_green() -> None:
    whole = replace(verdict(2, TIP), group=(1, 2))
    record = LandingRecord(iso(NOW), 1, "")
    made = [
        write_receipt(LANE, candidate(pr), merge=merge(TIP, f"m{pr}"), verdict=whole, record=record)
        for pr in (1, 2)
    ]
    past = past_of([landing(each) for each in made], [sha("m1"), sha("m2")])
    empty = snapshot(known_tip=None, greens=(), recovering=True)
    assert rebuild(Decision(empty), past, past.landings).snapshot.state.greens == (sha("m2"),)
