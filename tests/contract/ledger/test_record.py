from dataclasses import replace

import pytest
from redis import Redis

from mergebot.adapters.redis.ledger import RedisLedger
from mergebot.domain.audit import Choice, Decided, Worktree
from mergebot.domain.costs import Cost
from mergebot.domain.early import Early
from mergebot.domain.ledger import Change, Ended, How, Note, Parked, Suspect
from mergebot.ports.ledger import HostReport, Ledgers
from mergebot.ports.store import Stale
from tests.support.builders import LANE, NOW, sha
from tests.support.claims import claim, put

OTHER = replace(LANE, repo_id=8, repo="o/other")


def test_what_was_written_is_read_back(ledgers: Ledgers) -> None:
    parked = claim("b", "B-2", "docs/", state=Parked("mia", "waits", NOW))
    put(ledgers, claim("a", "A-1", "src/**"), parked)
    found = ledgers.read(LANE)
    assert dict(found.claims) == {"a": claim("a", "A-1", "src/**"), "b": parked}
    assert (found.revision, found.generation) == (1, 1)


def test_a_change_decided_on_an_older_reading_changes_nothing(ledgers: Ledgers) -> None:
    read = ledgers.read(LANE)
    put(ledgers, claim("a", "A-1", "src/**"))
    with pytest.raises(Stale):
        ledgers.commit(read, Change((claim("b", "B-2", "docs/"),), ()))
    assert list(ledgers.read(LANE).claims) == ["a"]


def test_each_repository_has_one_ledger_whatever_its_trunk_is_called(ledgers: Ledgers) -> None:
    put(ledgers, claim("a", "A-1", "src/**"))
    assert list(ledgers.read(replace(LANE, trunk="master")).claims) == ["a"]
    assert not ledgers.read(OTHER).claims


def test_an_ended_claim_leaves_the_live_ones_and_can_still_be_found(ledgers: Ledgers) -> None:
    put(ledgers, claim("a", "A-1", "src/**", pr=7))
    ended = claim("a", "A-1", "src/**", pr=7, state=Ended(How.LANDED, "#7 landed", NOW))
    found = put(ledgers, ended)
    assert not found.claims
    assert not ledgers.read(LANE).claims
    assert ledgers.find(LANE, "a") == ended
    assert ledgers.ended(LANE, limit=5) == [ended]
    assert ledgers.read(LANE).of_pull(7) is None


def test_a_reader_that_knows_an_older_revision_learns_only_what_changed(client: Redis) -> None:
    reader, writer = RedisLedger(client), RedisLedger(client)
    put(writer, claim("a", "A-1", "src/**"), claim("b", "B-2", "docs/"))
    assert set(reader.read(LANE).claims) == {"a", "b"}
    gone = claim("a", "A-1", "src/**", state=Ended(How.RELEASED, "done", NOW))
    put(writer, gone, claim("c", "C-3", "tools/"))
    found = reader.read(LANE)
    assert set(found.claims) == {"b", "c"}
    assert [each.id for each in found.rivals(["tools/x"], but="")] == ["c"]
    assert not found.rivals(["src/x"], but="")


def test_a_ledger_that_was_lost_is_not_mixed_with_what_a_reader_remembers(client: Redis) -> None:
    reader = RedisLedger(client)
    put(reader, claim("a", "A-1", "src/**"))
    put(reader, claim("b", "B-2", "docs/"))
    assert len(reader.read(LANE).claims) == 2
    client.flushall()
    for name in ("x", "y", "z"):
        put(RedisLedger(client), claim(name, name, f"{name}/"))
    assert set(reader.read(LANE).claims) == {"x", "y", "z"}


def test_the_story_is_kept_newest_first(ledgers: Ledgers) -> None:
    for place in range(3):
        note = Note(NOW, "a", place, "mia", "claimed", f"line {place}")
        ledgers.commit(ledgers.read(LANE), Change((claim("a", "A-1", "src/**"),), (note,)))
    assert [note.text for note in ledgers.notes(LANE, limit=2)] == ["line 2", "line 1"]


def test_a_host_replaces_what_it_said_before(ledgers: Ledgers) -> None:
    tree = Worktree("/w/1", "fix", sha("x"), dirty=True, ahead=2)
    ledgers.report(LANE, HostReport("hawk", NOW, (tree,)))
    ledgers.report(LANE, HostReport("hawk", NOW + 1, ()))
    ledgers.report(LANE, HostReport("crow", NOW, (tree,)))
    crow, hawk = ledgers.reports(LANE)
    assert (crow.host, crow.worktrees, hawk.at, hawk.worktrees) == ("crow", (tree,), NOW + 1, ())


def test_decisions_and_early_news_are_kept(ledgers: Ledgers) -> None:
    decided = Decided("a", Choice.ABANDON, sha("x"), "mia", "superseded", NOW)
    ledgers.decided(LANE, decided)
    early = Early(7, sha("h"), "fix", NOW, ("a.py",), ("a.py",))
    ledgers.keep_early(LANE, early)
    ledgers.keep_early(LANE, replace(early, pr=8))
    ledgers.drop_early(LANE, 8)
    assert ledgers.decisions(LANE) == [decided]
    assert ledgers.early(LANE) == [early]


def test_a_suspect_claim_is_as_live_as_any(ledgers: Ledgers) -> None:
    put(ledgers, claim("a", "A-1", "src/**", state=Suspect(NOW, "silent")))
    assert [each.id for each in ledgers.read(LANE).rivals(["src/a/b.py"], but="")] == ["a"]


def test_of_costs_reported_under_one_reference_the_first_stands(ledgers: Ledgers) -> None:
    first = Cost("1", NOW, "a", "A-1", "mia", 1.25, "USD", "run-1")
    other = replace(first, id="2", at=NOW + 1, reference="run-2", amount=2.0)
    assert ledgers.spend(LANE, first) == first
    assert ledgers.spend(LANE, replace(first, id="3", at=NOW + 9, amount=7.0)) == first
    assert ledgers.spend(LANE, other) == other
    assert ledgers.spend(LANE, replace(first, claim="b", at=NOW + 2)).claim == "b"
    assert [each.amount for each in ledgers.costs(LANE, limit=2)] == [1.25, 2.0]
    assert len(ledgers.costs(LANE, limit=9)) == 3
    assert not ledgers.costs(OTHER, limit=9)
