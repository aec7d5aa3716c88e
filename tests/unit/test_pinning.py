"""What of a claim counts: exactly what was granted, when a change is queued and when it lands."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.signing import KeyNotary
from mergebot.domain.candidate import Candidate, Claim, Ejected, Landed, NoClaim
from mergebot.domain.holding import Done, Extend, Session
from mergebot.domain.ledger import Change, proof_of
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.services.claiming import Owned, Wanted, claim, do
from tests.support.village import ALICE, BOB, GATE, LANE, Village

REQUIRED = GATE + "[claims]\nrequired = true\n"
FILES = {"src/a": "1", "docs/x": "1", "ops/y": "1"}


def lost(village: Village) -> None:
    """Lose all that Redis had, an hour later, and let the record be rebuilt."""
    village.clock.advance(village.clock.now() + 3600)
    village.store = MemoryStore(village.clock, village.runs)
    village.ledgers = MemoryLedger()
    village.parts = replace(village.parts, store=village.store, ledger=village.ledgers)
    village.reconcile()


def session(village: Village, branch: str, *patterns: str, task: str = "A-1") -> Owned:
    wanted = Wanted(task, patterns, (), "agent-7", branch, Permission.WRITE)
    owned = claim(village.parts, LANE, wanted)
    assert isinstance(owned, Owned)
    return owned


def extend(village: Village, owned: Owned, *patterns: str) -> None:
    live = village.ledger.claims[owned.claim.id]
    right = Session(proof_of(owned.token), live.generation)
    assert isinstance(do(village.parts, LANE, live.id, Extend(patterns), right), Done)


def pinned(candidate: Candidate) -> tuple[str, ...]:
    assert isinstance(candidate.claim, Claim)
    return candidate.claim.patterns


def strays(candidate: Candidate) -> object:
    assert isinstance(candidate.state, Ejected)
    assert candidate.state.reason is Reason.OUT_OF_SCOPE
    return getattr(candidate.state.evidence, "strayed", None)


def half_extended(village: Village) -> int:
    """Open a change of which docs/x was added to its claim, and ops/y refused to a stranger."""
    pr = village.propose(FILES, body=village.claiming("A-1", "src/**"), by=ALICE)
    village.say(pr, "@mergebot claim docs/x", by=ALICE)
    village.say(pr, "@mergebot claim ops/y", by=BOB)
    return pr


def test_a_wish_that_was_refused_gives_no_right() -> None:
    village = Village()
    asked = village.label(half_extended(village))
    assert pinned(asked) == ("src/**", "docs/x")
    assert strays(asked) == ("ops/y",)


def test_a_protected_path_that_was_refused_does_not_land_by_an_admins_label() -> None:
    village = Village()
    body = village.claiming("A-1", "src/**")
    pr = village.propose({"src/a": "1", ".github/w.yml": "1"}, body=body)
    village.say(pr, "@mergebot claim .github/w.yml")
    village.say(pr, "@mergebot claim docs/x")
    state = village.label(pr, by=ALICE).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.PROTECTED_PATH


def test_an_emptied_ledger_gets_back_what_was_granted_and_nothing_that_was_refused() -> None:
    village = Village()
    pr = half_extended(village)
    lost(village)
    assert pinned(village.label(pr)) == ("src/**", "docs/x")
    held = village.ledger.of_pull(pr)
    assert held is not None
    assert held.every == ("src/**", "docs/x")


def test_an_emptied_ledger_believes_no_comment_that_was_edited_into_a_command() -> None:
    village = Village()
    pr = village.propose(FILES, body=village.claiming("A-1", "src/**"))
    village.say(pr, "I wonder about docs")
    (said,) = [each for each in village.hosting.comments.values() if each.author == BOB]
    village.parts.forge.edit_comment("o/r", said.id, "@mergebot claim docs/x")
    lost(village)
    assert pinned(village.label(pr)) == ("src/**",)


def test_an_emptied_ledger_believes_nobody_who_lost_the_right_to_write() -> None:
    village = Village()
    pr = village.propose(FILES, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot claim docs/x")
    village.hosting.people[BOB.id] = Permission.READ
    lost(village)
    assert pinned(village.label(pr)) == ("src/**",)


def test_what_was_granted_before_a_release_does_not_come_back_with_an_emptied_ledger() -> None:
    village = Village()
    pr = village.propose(FILES, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot claim docs/x")
    village.say(pr, "@mergebot release")
    lost(village)
    assert pinned(village.label(pr)) == ("src/**",)


def test_a_session_claims_for_its_branch_and_the_pull_request_needs_no_block() -> None:
    village = Village(rules=REQUIRED)
    owned = session(village, "branch-1", "src/**")
    pr = village.propose({"src/a": "1"})
    landed = village.label(pr)
    assert isinstance(landed.state, Landed)
    assert isinstance(landed.claim, Claim)
    assert landed.claim.id == owned.claim.id
    assert not village.ledger.claims


def test_a_session_claim_bounds_its_branch_without_a_block_too() -> None:
    village = Village()
    session(village, "branch-1", "src/**")
    assert strays(village.label(village.propose({"src/a": "1", "docs/x": "1"}))) == ("docs/x",)


def test_a_task_that_was_claimed_without_files_limits_nothing_and_ends_with_its_change() -> None:
    village = Village()
    session(village, "branch-1")
    landed = village.label(village.propose({"src/a": "1"}))
    assert isinstance(landed.state, Landed)
    assert isinstance(landed.claim, NoClaim)
    assert not village.ledger.claims


def test_the_session_claim_of_another_branch_is_no_claim_of_this_change() -> None:
    village = Village(rules=REQUIRED)
    session(village, "elsewhere", "src/**")
    state = village.label(village.propose({"src/a": "1"})).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.CLAIM_MISSING


def test_a_branch_with_two_claims_is_asked_which_one_it_is() -> None:
    village = Village(rules=REQUIRED)
    session(village, "branch-1", "src/**")
    session(village, "branch-1", "docs/**", task="B-2")
    state = village.label(village.propose({"src/a": "1"})).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.CLAIM_MISSING
    assert "A-1" in str(state.evidence)
    assert "B-2" in str(state.evidence)


@pytest.mark.parametrize("way", ["with a block", "without one"])
def test_what_a_session_added_to_its_claim_counts(way: str) -> None:
    village = Village()
    owned = session(village, "branch-1", "src/**")
    extend(village, owned, "docs/x")
    body = village.claiming("A-1", "src/**") if way == "with a block" else ""
    pr = village.propose({"src/a": "1", "docs/x": "1"}, body=body)
    assert isinstance(village.label(pr).state, Landed)


def test_what_a_session_added_after_its_pull_request_opened_counts() -> None:
    village = Village()
    owned = session(village, "branch-1", "src/**")
    body = village.claiming("A-1", "src/**")
    pr = village.propose({"src/a": "1", "docs/x": "1"}, body=body)
    extend(village, owned, "docs/x")
    assert isinstance(village.label(pr).state, Landed)


def test_a_claim_that_was_extended_is_looked_at_again_at_the_same_head() -> None:
    village = Village()
    body = village.claiming("A-1", "src/**")
    pr = village.propose({"src/a": "1", "docs/x": "1"}, body=body)
    assert strays(village.label(pr)) == ("docs/x",)
    village.say(pr, "@mergebot claim docs/x")
    assert isinstance(village.label(pr).state, Landed)


def test_the_same_head_under_the_same_claim_is_answered_with_the_same_evidence() -> None:
    village = Village()
    pr = village.propose(FILES, body=village.claiming("A-1", "src/**"))
    first = village.label(pr)
    again = village.label(pr)
    assert strays(again) == strays(first)
    assert again.budget == first.budget


def test_a_claim_that_was_widened_in_the_record_by_hand_gives_no_right() -> None:
    village = Village()
    village.parts = replace(village.parts, notary=KeyNotary(Ed25519PrivateKey.generate()))
    pr = village.propose(FILES, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot claim docs/x")
    held = village.ledger.of_pull(pr)
    assert held is not None
    wide = replace(held, extra=("docs/x", "ops/y"))
    village.ledgers.commit(village.ledger, Change((wide,), ()))
    village.say(pr, "@mergebot claim web/z")
    assert pinned(village.label(pr)) == ("src/**",)


def test_an_addition_that_is_taken_back_while_its_gate_runs_does_not_land() -> None:
    village = Village()
    pr = village.propose({"src/a": "1", "docs/x": "1"}, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot claim docs/x")

    def narrowing(_tree: object) -> bool:
        held = village.ledger.of_pull(pr)
        assert held is not None
        village.ledgers.commit(village.ledger, Change((replace(held, extra=()),), ()))
        return True

    village.works = narrowing
    state = village.label(pr).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.CLAIM_MISSING
