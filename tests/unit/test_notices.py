import os
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from mergebot.adapters.jinja import MarkdownLetters
from mergebot.domain.candidate import (
    Cancelled,
    ConflictEvidence,
    Ejected,
    GateEvidence,
    Gating,
    Landed,
    Landing,
    Parked,
    PlainEvidence,
    Queued,
    ScopeEvidence,
    State,
    Verified,
)
from mergebot.domain.gate import Failed, StepResult
from mergebot.domain.limits import PR_CHARS_MAX
from mergebot.domain.notices import Beside, Notice, halted, notice_of, told
from mergebot.domain.policy import EXAMPLE, PolicyFaults
from mergebot.domain.reasons import Fault, Reason
from mergebot.domain.status import Place, read_hidden_line
from tests.support.sample import (
    BASE,
    FAILED,
    GATE_EVIDENCE,
    MERGE,
    SETTING,
    VERDICT,
    candidate,
)

GOLDEN = Path(__file__).parent.parent / "golden" / "notices"
PATCH = (
    "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n"
    "@@ -1 +1,2 @@\n-old\n+new\n+newer\n"
)
STRAYED = ScopeEvidence(
    MERGE,
    ("docs/a.md", "x`y.py"),
    ("docs/a.md lies outside src/**.", "x`y.py lies outside src/**."),
)
STATES: dict[str, State] = {
    "queued": Queued(),
    "gating": Gating(MERGE, "r1", 5.0),
    "verified": Verified(MERGE, VERDICT),
    "landing": Landing(MERGE, VERDICT, "digest", 5.0),
    "landed": Landed(MERGE, "digest", 5.0),
    "failed": Ejected(Reason.GATE_FAILED, GATE_EVIDENCE, 5.0),
    "conflict": Ejected(Reason.CONFLICT, ConflictEvidence(BASE, ("src/a.py", "b\x1b[2J")), 5.0),
    "strayed": Ejected(Reason.OUT_OF_SCOPE, STRAYED, 5.0),
    "refused": Ejected(Reason.NOT_PERMITTED, PlainEvidence("eve may only read here."), 5.0),
    "parked": Parked(Reason.TRUNK_RED, "main is red at bbbbbbb; see #12."),
    "cancelled": Cancelled(Reason.HEAD_CHANGED, "The branch moved to eeeeeee.", 5.0),
}
RECEIPT = {
    "gate": {
        "steps": [
            {"name": "build", "exit_code": 0, "seconds": 12.0, "log": "e"},
            {"name": "test", "exit_code": 0, "seconds": 75.4, "log": "e"},
        ]
    }
}


def notice(state: State, **changes: object) -> Notice:
    beside = Beside(patch=PATCH, receipt=RECEIPT)
    place = Place(position=3, eta_s=60.0)
    return notice_of(candidate(state, **changes), SETTING, place=place, beside=beside)


def letter(found: Notice) -> str:
    return MarkdownLetters().render(found.template, found.facts)


def check_golden(name: str, text: str) -> None:
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("MERGEBOT_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text + "\n"


@pytest.mark.parametrize("name", STATES)
def test_a_letter_reads_as_it_should(name: str) -> None:
    check_golden(name, letter(notice(STATES[name], failures=1)))


def test_the_last_failure_says_that_a_person_decides() -> None:
    text = letter(notice(STATES["failed"], failures=3))
    assert "**Next:** a person decides. All 3 attempts are used up" in text


def test_the_smallest_valid_file_is_shown_as_a_file() -> None:
    said = PlainEvidence(f"there is no gate; the smallest valid file:\n\n{EXAMPLE}")
    text = letter(notice(Ejected(Reason.INVALID_CONFIG, said, 5.0)))
    assert f"smallest valid file:\n\n```toml\n{EXAMPLE}```\n" in text


def test_one_that_waits_for_broken_rules_is_told_what_is_wrong_with_them() -> None:
    broken = replace(SETTING, policy=PolicyFaults(("queue.lable is no known key.",)))
    found = notice_of(candidate(Queued()), broken, place=Place(position=1, eta_s=None))
    text = letter(found)
    assert "It waits: .mergebot.toml on the trunk is broken. queue.lable is no known key." in text


def test_an_answer_to_a_request_is_disarmed_too() -> None:
    name, facts = told("No #3 for @eve: ![x](http://a.example)")
    assert MarkdownLetters().render(name, facts) == snapshot(
        "No \\#\u20603 for @\u2060eve: \\!\\[x\\]\\(http:\u2060//a.example\\)"
    )


def test_a_halt_says_why_and_when_it_ends() -> None:
    view: dict[str, object] = {
        "reason": "main is red: the step test fails on its tip",
        "commit": BASE,
        "found": True,
        "by": "mergebot",
        "ends_when": "by itself, once a tip of the trunk is green",
    }
    name, facts = halted(view, "main", "http://127.0.0.1:8420/o/r")
    check_golden("halted", MarkdownLetters().render(name, facts))


def test_titles_fit_a_commit_status() -> None:
    titles = {name: notice(state).title for name, state in STATES.items()}
    assert titles == snapshot(
        {
            "queued": "In the queue for main",
            "gating": "Being tested",
            "verified": "Tests passed, next it lands on main",
            "landing": "Landing on main",
            "landed": "Landed on main",
            "failed": "The step test failed",
            "conflict": "Does not merge with main",
            "strayed": "Changes files outside its claim",
            "refused": "Not permitted to land",
            "parked": "Waiting for main to be green again",
            "cancelled": "Left the queue: the branch has new commits",
        }
    )
    assert all(len(title) <= 140 for title in titles.values())


def test_the_check_shows_a_light_for_every_state() -> None:
    assert {name: notice(state).light for name, state in STATES.items()} == snapshot(
        {
            "queued": "pending",
            "gating": "pending",
            "verified": "pending",
            "landing": "pending",
            "landed": "success",
            "failed": "failure",
            "conflict": "failure",
            "strayed": "failure",
            "refused": "failure",
            "parked": "pending",
            "cancelled": "neutral",
        }
    )


def test_only_an_ejection_wants_a_new_comment_and_one_for_each_attempt() -> None:
    assert {name for name, state in STATES.items() if notice(state).fresh} == {
        "failed",
        "conflict",
        "strayed",
        "refused",
    }
    first, second = (notice(STATES["failed"], attempt=number).fresh for number in (1, 2))
    assert first != second


def test_a_new_position_is_no_reason_to_write() -> None:
    third, second = (
        notice_of(candidate(Queued()), SETTING, place=Place(position=number, eta_s=9.0 * number))
        for number in (3, 2)
    )
    assert third.digest == second.digest
    assert third.digest != notice(STATES["gating"]).digest


def test_every_letter_starts_with_the_document_that_the_api_gives() -> None:
    for state in STATES.values():
        found = notice(state)
        document = found.facts["doc"]
        assert isinstance(document, dict)
        assert read_hidden_line(letter(found)) == {**document, "eta_s": None}


def test_a_forged_marker_in_output_stays_inside_its_fence() -> None:
    forged = '```\n<!-- mergebot:v1 {"v":1,"state":"landed"} -->\n</details>\n````\n@eve'
    result = Failed(Reason.GATE_FAILED, (StepResult("t", "make", 1, 1.0, "e"),), forged, forged * 3)
    state = Ejected(Reason.GATE_FAILED, GateEvidence(MERGE, "r1", result, Fault.CANDIDATE), 5.0)
    text = letter(notice(state))
    assert "`````text\n```\n<!-- mergebot:v1" in text
    document = read_hidden_line(text)
    assert document is not None
    assert document["state"] == "ejected"


def test_a_letter_that_is_too_long_loses_its_middle_and_nothing_that_matters() -> None:
    steps = FAILED.steps
    result = Failed(Reason.GATE_FAILED, steps, "`*_" * 30_000, "first\n" + "x" * 200_000 + "\nlast")
    state = Ejected(Reason.GATE_FAILED, GateEvidence(MERGE, "r1", result, Fault.CANDIDATE), 5.0)
    text = letter(notice(state))
    assert len(text) <= PR_CHARS_MAX
    assert read_hidden_line(text) is not None
    for kept in ("push a fix, then label again", "first\n", "\nlast", "characters left out"):
        assert kept in text


def test_twenty_thousand_paths_still_make_a_letter() -> None:
    paths = tuple(f"{'`d' * 200}/{number}" for number in range(20_000))
    state = Ejected(Reason.OUT_OF_SCOPE, ScopeEvidence(MERGE, paths, paths), 5.0)
    text = letter(notice(state))
    assert len(text) <= PR_CHARS_MAX
    assert "extend the claim or take the strays out" in text
