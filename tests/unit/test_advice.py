"""What the board advises, told from the numbers that lead to it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from mergebot.domain.advice import Advice, Telemetry, advise
from mergebot.domain.pulls import Permission
from mergebot.services.boarding import Board
from mergebot.services.claiming import Wanted, claim
from tests.support.village import LANE, Village

CALM = Telemetry(
    hours=24.0,
    arrived=40,
    landed=40,
    queued=2,
    claimed=40,
    collisions=1,
    p95_s=(300.0, 310.0, 305.0),
    hottest=(),
    free=0,
)


def told(**numbers: object) -> Sequence[Advice]:
    return advise(replace(CALM, **numbers))  # type: ignore[arg-type]  # fields by name


def test_a_day_on_which_as_much_lands_as_arrives_suggests_nothing() -> None:
    (advice,) = told()
    assert advice.text == "Nothing here suggests another number of workers."
    assert advice.evidence == "40 arrived and 40 landed in 24 h, 2 wait now"


def test_from_a_few_changes_nothing_follows() -> None:
    few = {"arrived": 4, "landed": 4, "queued": 0, "claimed": 3, "collisions": 1, "free": 8}
    assert told(**few, p95_s=()) == []
    assert told(**few | {"arrived": 1, "landed": 0}, p95_s=()) == []


def test_a_queue_that_gets_older_three_windows_in_a_row_wants_fewer_workers() -> None:
    (advice,) = told(p95_s=(240.0, 300.0, 420.0, 900.0), arrived=60, landed=40, queued=20)
    assert advice.text == "Fewer workers, or a faster gate: more arrives than can land."
    assert advice.evidence == (
        "60 arrived and 40 landed in 24 h, 20 wait now; "
        "95 % of changes landed within 5 min, 7 min, 15 min in three windows in a row"
    )


def test_more_that_arrives_than_lands_wants_fewer_workers_only_once_a_backlog_stands() -> None:
    (advice,) = told(arrived=60, landed=40, queued=20)
    assert advice.text.startswith("Fewer workers, or a faster gate")
    assert "in a row" not in advice.evidence
    assert not told(arrived=60, landed=40, queued=4)[0].text.startswith("Fewer")


def test_a_queue_that_got_older_once_is_no_trend() -> None:
    assert told(p95_s=(300.0, 290.0, 900.0))[0].text.startswith("Nothing here")
    assert told(p95_s=(300.0, 900.0))[0].text.startswith("Nothing here")


def test_collisions_of_every_fifth_attempt_name_what_to_split() -> None:
    (advice,) = told(claimed=40, collisions=10, hottest=("src/app.py", "docs/**"))
    assert advice.text == (
        "Fewer workers on the same files, or one who implements while others explore. "
        "Split src/app.py, docs/** first."
    )
    assert advice.evidence == "10 of 50 attempts to claim met somebody else's claim in 24 h"


def test_one_collision_of_four_attempts_is_too_few_to_tell() -> None:
    assert told(claimed=3, collisions=1)[0].text.startswith("Nothing here")


def test_a_path_that_three_open_pull_requests_change_is_worth_splitting() -> None:
    (advice,) = told(crowded=("src/app.py", 3))
    assert advice.text == "Split src/app.py, or let one of them go first."
    assert advice.evidence == "3 open pull requests change it, and they land one after the other"
    assert told(crowded=("src/app.py", 2))[0].text.startswith("Nothing here")


def test_free_places_and_an_empty_queue_have_room_for_more_workers() -> None:
    (advice,) = told(queued=0, free=6)
    assert advice.text == "There is room for more workers."
    assert (
        advice.evidence == "40 arrived and 40 landed in 24 h, 0 wait now; 6 places of the pool free"
    )


@pytest.mark.parametrize("numbers", [{"free": 0}, {"queued": 6, "free": 6}])
def test_without_a_free_place_or_with_a_queue_nobody_is_sent_for(numbers: dict[str, int]) -> None:
    assert told(**{"queued": 0, **numbers})[0].text.startswith("Nothing here")


def test_what_grows_and_collides_is_said_of_both_and_never_with_room_for_more() -> None:
    texts = [
        each.text
        for each in told(arrived=90, landed=40, queued=30, collisions=40, free=9, hottest=("a",))
    ]
    assert len(texts) == 2
    assert not any("room for more" in text for text in texts)


def test_the_board_advises_from_what_its_own_ledger_saw() -> None:
    village = Village()
    board = Board(village.store, village.ledgers, village.clock)
    for number in range(4):
        pattern = "src/**" if number == 0 else f"lib/{number}"
        claim(village.parts, LANE, wanted(f"T-{number}", pattern))
    assert board.of(LANE)["advice"] == []
    for number in range(4, 8):
        claim(village.parts, LANE, wanted(f"T-{number}", "src/app.py"))
    (advice,) = cast("list[dict[str, str]]", board.of(LANE)["advice"])
    assert "Split src/app.py first." in advice["text"]
    assert advice["evidence"] == "4 of 8 attempts to claim met somebody else's claim in 24 h"


def wanted(task: str, pattern: str) -> Wanted:
    return Wanted(task, (pattern,), (), "agent", "", Permission.WRITE)
