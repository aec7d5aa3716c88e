import json
from pathlib import Path
from typing import Any

import pytest

from mergebot.domain.receipts import Receipt
from tests.security.trunk import Trunk, new_notary
from tests.support.gitrepo import Repo
from tests.support.product import run

pytestmark = pytest.mark.slow


@pytest.fixture
def trunk(tmp_path: Path) -> Trunk:
    return Trunk.adopted(tmp_path / "repo")


def test_a_trunk_of_landings_is_proved_from_a_clone_and_the_public_key(trunk: Trunk) -> None:
    trunk.land("one")
    trunk.land("two", commits=3)
    found = trunk.verify()
    assert found["whole"]
    assert found["commits"] == 4
    assert len(found["landings"]) == 2


def test_a_direct_push_is_named(trunk: Trunk) -> None:
    trunk.land("one")
    trunk.push("sneaked")
    trunk.land("two")
    trunk.push("late")
    assert trunk.flaws() == [("unlanded", "sneaked"), ("unlanded", "late")]


@pytest.mark.parametrize(
    ("key", "value"),
    [("pr", 99), ("enqueued_by", {"id": 1, "login": "eve"}), ("tree", "0" * 40), ("task", "X-1")],
)
def test_a_receipt_that_was_changed_is_named(trunk: Trunk, key: str, value: Any) -> None:
    spoiled = trunk.land("one")
    trunk.land("two")
    trunk.change(spoiled, lambda fields: fields.update({key: value}))
    assert ("tampered", "one0") in trunk.flaws()


def test_a_payload_that_was_changed_is_named(trunk: Trunk) -> None:
    spoiled, other = trunk.land("one"), trunk.land("two")
    payload = trunk.receipts[other].fields["dsse"]["payload"]  # type: ignore[index]  # JSON
    trunk.change(spoiled, lambda fields: fields["dsse"].update(payload=payload))
    assert ("unsigned", "one0") in trunk.flaws()


def test_a_receipt_by_a_stranger_is_named(trunk: Trunk) -> None:
    trunk.land("one")
    own, trunk.notary = trunk.notary, new_notary()
    trunk.land("forged")
    assert trunk.flaws(own) == [("unsigned", "forged0")]


def test_a_receipt_without_a_signature_is_named(trunk: Trunk) -> None:
    trunk.land("one")
    trunk.change(trunk.land("bare"), lambda fields: fields.pop("dsse"))
    assert trunk.flaws() == [("unsigned", "bare0")]


def test_a_receipt_copied_to_another_commit_is_named(trunk: Trunk) -> None:
    genuine = trunk.land("one")
    trunk.receipts[trunk.push("sneaked")] = trunk.receipts[genuine]
    assert trunk.flaws() == [("misplaced", "sneaked")]


def test_a_receipt_for_a_base_where_the_trunk_did_not_stand_is_named(trunk: Trunk) -> None:
    start = trunk.repo.sha("main")
    trunk.land("one")
    merged = trunk.push("two")
    trunk.note(merged, trunk.receipt(start, merged))
    assert trunk.flaws() == [("misplaced", "two")]


def test_a_receipt_that_was_taken_away_leaves_a_gap(trunk: Trunk) -> None:
    trunk.land("one")
    gone = trunk.land("two")
    trunk.land("three")
    del trunk.receipts[gone]
    assert trunk.flaws() == [("unlanded", "two0"), ("gap", "three0")]


def test_the_first_receipt_cannot_be_taken_away_unnoticed(trunk: Trunk) -> None:
    gone = trunk.land("one")
    trunk.land("two")
    del trunk.receipts[gone]
    assert trunk.flaws() == [("gap", "two0")]


def test_a_key_is_rotated_by_giving_both(trunk: Trunk) -> None:
    old = trunk.notary
    trunk.land("one")
    trunk.notary = new_notary()
    trunk.land("two")
    assert trunk.verify(old, trunk.notary)["whole"]
    assert trunk.flaws(trunk.notary) == [("unsigned", "one0")]


def test_a_replaced_commit_does_not_hide_a_push(trunk: Trunk) -> None:
    landed, pushed = trunk.land("one"), trunk.push("sneaked")
    clone = trunk.clone()
    Repo(clone).git("replace", pushed, landed)
    done = run("receipt", "verify", "--json", *trunk.keys(), cwd=clone)
    assert done.code == 1
    assert [each["commit"] for each in json.loads(done.out)["findings"]] == [pushed]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"dsse":[]}',
        '{"dsse":{"payloadType":1}}',
        '{"merged":7,"base":{}}',
        "\x00",
        "{",
    ],
)
def test_a_note_that_is_no_receipt_breaks_nothing_and_proves_nothing(
    trunk: Trunk, text: str
) -> None:
    trunk.land("one")
    trunk.receipts[trunk.push("odd")] = Receipt(text)
    assert [name for _, name in trunk.flaws()] == ["odd"]


def test_without_the_notes_it_says_how_to_fetch_them(trunk: Trunk) -> None:
    trunk.push("one")
    code, _, said = trunk.ask("list")
    assert code == 1
    assert "git fetch origin refs/notes/mergebot:refs/notes/mergebot" in said


def test_a_shallow_clone_proves_nothing(trunk: Trunk) -> None:
    trunk.land("one")
    clone = trunk.clone()
    (clone / ".git" / "shallow").write_text(f"{trunk.repo.sha('main')}\n")
    done = run("receipt", "verify", *trunk.keys(), cwd=clone)
    assert done.code == 1
    assert "shallow" in done.err


def test_receipts_are_listed_and_shown_from_a_clone(trunk: Trunk) -> None:
    trunk.land("one")
    trunk.land("two")
    listed = json.loads(trunk.ask("list", "--json")[1])
    assert [each["pr"] for each in listed] == [2, 1]
    shown = json.loads(trunk.ask("show", "1", "--json")[1])
    assert shown["digest"] == listed[1]["digest"] == listed[0]["previous"]
