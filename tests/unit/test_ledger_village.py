from mergebot.domain.candidate import Claim, Ejected, Landed, Parked
from mergebot.domain.holding import Overseer, Release
from mergebot.domain.ledger import How, LedgerClaim, Suspect
from mergebot.domain.ledger import Parked as ParkedClaim
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.domain.status import read_hidden_line
from mergebot.services.auditing import audit
from mergebot.services.claiming import Owned, Wanted, claim, do
from tests.support.village import ALICE, BOB, EVE, GATE, LANE, Village


def claim_of(village: Village, pr: int) -> LedgerClaim:
    found = village.ledger.of_pull(pr)
    assert found is not None
    return found


def test_a_block_claims_as_soon_as_its_pull_request_opens() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    claim = claim_of(village, pr)
    assert (claim.task, claim.patterns, claim.branch) == ("A-1", ("src/**",), "branch-1")


def test_an_edited_block_changes_the_claim_and_its_generation() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    before = claim_of(village, pr)
    village.hosting.change(BOB, pr, "edited", body=village.claiming("A-1", "src/a"))
    village.settle()
    assert claim_of(village, pr).patterns == ("src/a",)
    assert claim_of(village, pr).generation > before.generation


def test_who_may_not_write_reserves_nothing() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, by=EVE, body=village.claiming("A-1", "src/**"))
    assert village.ledger.of_pull(pr) is None


def test_a_landing_pins_the_claim_and_ends_it_with_its_receipt() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    generation = claim_of(village, pr).generation
    landed = village.label(pr)
    assert isinstance(landed.state, Landed)
    assert isinstance(landed.claim, Claim)
    assert landed.claim.generation == generation
    (ended,) = village.ledgers.ended(LANE, limit=5)
    assert ended.state.how is How.LANDED  # type: ignore[union-attr]  # ended claims are Ended
    assert landed.state.receipt in ended.state.evidence  # type: ignore[union-attr]  # as above


def test_a_claim_that_overlaps_is_ejected_and_names_the_holder() -> None:
    village = Village()
    village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    second = village.propose({"src/b": "1"}, body=village.claiming("B-2", "src/b"))
    state = village.label(second).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.CLAIM_OVERLAP
    text = state.evidence.text  # type: ignore[union-attr]  # plain evidence
    assert "bob has src/** for A-1" in text
    assert "in #1" in text


def test_a_second_pull_request_for_a_claimed_task_is_sent_to_the_first() -> None:
    village = Village()
    village.propose({"src/a": "1"}, body=village.claiming("#5", "src/**"))
    second = village.propose({"docs/b": "1"}, body=village.claiming(" #5", "docs/**"))
    assert village.ledger.of_pull(second) is None
    assert village.label(second).state.reason is Reason.CLAIM_OVERLAP  # type: ignore[union-attr]  # ejected


def test_a_change_outside_its_claim_is_warned_of_and_told_how_to_extend_it() -> None:
    village = Village()
    pr = village.propose({"src/a": "1", "docs/x": "1"}, body=village.claiming("A-1", "src/**"))
    (comment,) = village.comments(pr)
    assert "@mergebot claim docs/x" in comment
    document = read_hidden_line(comment)
    assert document is not None
    assert (document["state"], document["strayed"]) == ("open", ["docs/x"])


def test_extending_the_claim_by_a_comment_lets_it_land() -> None:
    village = Village()
    pr = village.propose({"src/a": "1", "docs/x": "1"}, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot claim docs/x")
    assert claim_of(village, pr).every == ("src/**", "docs/x")
    assert "Ready to be queued" in village.comments(pr)[0]
    assert isinstance(village.label(pr).state, Landed)


def test_a_claim_that_was_narrowed_while_its_gate_ran_does_not_land() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))

    def narrowing(tree: object) -> bool:
        village.hosting.change(BOB, pr, "edited", body=village.claiming("A-1", "docs/**"))
        return True

    village.works = narrowing
    state = village.label(pr).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.CLAIM_MISSING


def test_a_claim_that_was_reclaimed_while_its_gate_ran_does_not_land() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))

    def losing(tree: object) -> bool:
        name = claim_of(village, pr).id
        do(village.parts, LANE, name, Release("by an admin"), Overseer("alice"))
        wanted = Wanted("B-2", ("src/a",), (), "agent", "b", Permission.WRITE)
        assert isinstance(claim(village.parts, LANE, wanted), Owned)
        return True

    village.works = losing
    state = village.label(pr).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.CLAIM_OVERLAP


def test_a_session_finds_its_own_claim_again_in_the_pull_request_of_its_branch() -> None:
    village = Village()
    wanted = Wanted("A-1", ("src/**",), (), "agent-7", "branch-1", Permission.WRITE)
    owned = claim(village.parts, LANE, wanted)
    assert isinstance(owned, Owned)
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    assert claim_of(village, pr).id == owned.claim.id
    landed = village.label(pr)
    assert isinstance(landed.state, Landed)
    assert isinstance(landed.claim, Claim)
    assert landed.claim.id == owned.claim.id


def test_the_same_name_from_another_branch_confers_nothing() -> None:
    village = Village()
    wanted = Wanted("A-1", ("src/**",), (), "bob", "elsewhere", Permission.WRITE)
    claim(village.parts, LANE, wanted)
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    assert village.ledger.of_pull(pr) is None
    assert village.label(pr).state.reason is Reason.CLAIM_OVERLAP  # type: ignore[union-attr]  # ejected


def test_a_quiet_pull_request_without_a_block_gets_no_comment() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"})
    assert village.comments(pr) == []


def test_overlap_with_open_pull_requests_and_queued_conflicts_is_said_early() -> None:
    village = Village(files={"shared": "0"})
    first = village.propose({"shared": "1"})
    second = village.propose({"shared": "2"})
    (comment,) = village.comments(second)
    assert f"#{first}: `shared`" in comment


def test_a_conflict_with_the_trunk_is_said_early() -> None:
    village = Village(files={"shared": "0"})
    before = village.tip
    village.label(village.propose({"shared": "1"}))
    late = village.propose({"shared": "2"}, base=before)
    assert "It does not merge with main" in village.comments(late)[0]


def test_a_push_after_an_ejection_is_looked_at_in_one_comment_of_its_own() -> None:
    village = Village(files={"src/x": "0"})
    pr = village.propose({"broken": "1"}, body=village.claiming("A-1", "broken"))
    assert isinstance(village.label(pr).state, Ejected)
    before = village.comments(pr)
    for text in ("1", "2"):
        village.clock.advance(village.clock.now() + 60)
        tree = {**village.remote.objects.commit(village.tip).tree, "src/x": text}
        village.hosting.push(BOB, pr, village.remote.commit(tree, "Stray", village.tip))
        village.settle()
    after = village.comments(pr)
    assert after[: len(before)] == before
    (early,) = after[len(before) :]
    assert "@mergebot claim src/x" in early


def test_parking_keeps_the_claim_and_unparking_works_on_it_again() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot park waits for the design")
    state = claim_of(village, pr).state
    assert isinstance(state, ParkedClaim)
    assert (state.owner, state.reason) == ("bob", "waits for the design")
    village.clock.advance(village.clock.now() + 30 * 86400)
    village.reconcile()
    assert isinstance(claim_of(village, pr).state, ParkedClaim)
    village.say(pr, "@mergebot unpark")
    assert not isinstance(claim_of(village, pr).state, ParkedClaim)


def test_a_stranger_does_not_release_somebody_elses_claim() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, by=ALICE, body=village.claiming("A-1", "src/**"))
    village.say(pr, "@mergebot release", by=BOB)
    assert village.ledger.of_pull(pr) is not None
    village.say(pr, "@mergebot release", by=ALICE)
    assert village.ledger.of_pull(pr) is None


def test_closing_unmerged_with_work_on_the_branch_makes_the_claim_suspect() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    village.close(pr)
    assert isinstance(claim_of(village, pr).state, Suspect)


def test_closing_ends_the_claim_once_the_branch_is_gone_too() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    village.close(pr)
    village.remote.move(BOB, {"refs/heads/branch-1": None}, {})
    village.reconcile()
    assert village.ledger.of_pull(pr) is None
    (ended,) = village.ledgers.ended(LANE, limit=5)
    assert ended.state.how is How.CLOSED  # type: ignore[union-attr]  # ended claims are Ended


def test_thirty_days_of_silence_free_nothing_and_raise_the_flag() -> None:
    village = Village()
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    village.clock.advance(village.clock.now() + 30 * 86400)
    village.reconcile()
    assert isinstance(claim_of(village, pr).state, Suspect)
    report = audit(village.parts, LANE)
    assert report.after.free == 0
    assert claim_of(village, pr).live


CONTRACT = """
[[gate.steps]]
name = "test"
run = "test"

[contracts.readiness]
paths = ["src/status"]
owners = ["@alice"]
"""


def agree_on_complete(tree: object) -> bool:
    """The held-publication test: what the consumer waits for is what the producer says."""
    assert isinstance(tree, dict)
    return not ("publish" in tree and tree["src/status"] == "complete means checked")


def contested() -> tuple[Village, int]:
    """Have a producer's new meaning of "complete" landed under a consumer of the old one."""
    files = {"src/status": "complete means written"}
    village = Village(rules=CONTRACT, files=files, works=agree_on_complete)
    old = village.tip
    producer = village.propose({"src/status": "complete means checked"}, by=ALICE)
    assert isinstance(village.label(producer).state, Landed)
    return village, village.propose({"publish": "when complete"}, base=old)


def test_a_consumer_of_a_contract_that_moved_is_parked_and_told_early() -> None:
    village, consumer = contested()
    assert "the contract readiness moved" in village.comments(consumer)[0]
    state = village.label(consumer).state
    assert isinstance(state, Parked)
    assert state.reason is Reason.STALE_CONTRACT
    assert "@alice" in state.text


def test_silence_is_no_agreement() -> None:
    village, consumer = contested()
    village.label(consumer)
    village.clock.advance(village.clock.now() + 30 * 86400)
    village.reconcile()
    assert village.candidate(consumer).state.reason is Reason.STALE_CONTRACT  # type: ignore[union-attr]  # parked


def test_only_owners_answer() -> None:
    village, consumer = contested()
    village.label(consumer)
    village.say(consumer, "@mergebot revalidate readiness", by=BOB)
    assert isinstance(village.candidate(consumer).state, Parked)
    assert "may answer for the contract readiness" in village.comments(consumer)[-1]


def test_what_an_owner_calls_compatible_is_gated_and_the_gate_has_the_last_word() -> None:
    village, consumer = contested()
    village.label(consumer)
    village.say(consumer, "@mergebot revalidate readiness", by=ALICE)
    state = village.candidate(consumer).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.GATE_FAILED
    (said,) = village.ledgers.sayings(LANE, consumer)
    assert (said.by, said.stance) == (ALICE, "revalidate")


def test_what_fits_the_new_revision_lands_once_an_owner_agrees() -> None:
    village, consumer = contested()
    village.works = lambda tree: True
    village.label(consumer)
    village.say(consumer, "@mergebot agree readiness", by=ALICE)
    assert isinstance(village.candidate(consumer).state, Landed)


def test_a_reopened_contract_keeps_the_change_waiting_for_its_owners() -> None:
    village, consumer = contested()
    village.label(consumer)
    village.say(consumer, "@mergebot reopen readiness", by=ALICE)
    state = village.candidate(consumer).state
    assert isinstance(state, Parked)
    assert "alice said reopen" in state.text


def test_a_contract_is_changed_only_with_its_owners_agreement() -> None:
    village = Village(rules=CONTRACT, files={"src/status": "1"})
    change = village.propose({"src/status": "2"}, by=BOB)
    assert reason_of_state(village.label(change).state) is Reason.STALE_CONTRACT
    village.say(change, "@mergebot agree readiness", by=ALICE)
    assert isinstance(village.candidate(change).state, Landed)


def reason_of_state(state: object) -> object:
    return getattr(state, "reason", None)


def test_a_rule_may_say_that_a_move_is_irrelevant() -> None:
    rules = CONTRACT + 'used_by = ["web/**"]\n'
    village = Village(rules=rules, files={"src/status": "1"})
    old = village.tip
    village.label(village.propose({"src/status": "2"}, by=ALICE))
    assert isinstance(village.label(village.propose({"docs/x": "1"}, base=old)).state, Landed)
    waits = village.label(village.propose({"web/x": "1"}, base=old)).state
    assert reason_of_state(waits) is Reason.STALE_CONTRACT


def pushed_to_the_trunk(village: Village, files: dict[str, str]) -> None:
    """Have somebody push to the trunk directly, an hour later."""
    village.clock.advance(village.clock.now() + 3600)
    tree = {**village.remote.objects.commit(village.tip).tree, **files}
    village.remote.push(ALICE, "main", village.remote.commit(tree, "Direct", village.tip))
    village.settle()
    village.reconcile()


def test_a_trunk_that_is_back_at_the_assumed_revision_lets_the_consumer_go_on() -> None:
    village, consumer = contested()
    assert reason_of_state(village.label(consumer).state) is Reason.STALE_CONTRACT
    pushed_to_the_trunk(village, {"src/status": "complete means written"})
    assert isinstance(village.candidate(consumer).state, Landed)


def test_a_change_that_lands_and_takes_the_contract_back_lets_the_consumer_go_on() -> None:
    village, consumer = contested()
    village.label(consumer)
    revert = village.propose({"src/status": "complete means written"}, by=ALICE)
    assert isinstance(village.label(revert).state, Landed)
    assert isinstance(village.candidate(consumer).state, Landed)


def test_a_contract_that_leaves_the_rules_holds_nobody_back() -> None:
    village, consumer = contested()
    village.works = lambda tree: True
    village.label(consumer)
    pushed_to_the_trunk(village, {".mergebot.toml": GATE})
    assert isinstance(village.candidate(consumer).state, Landed)


def test_a_contract_that_moves_once_more_asks_about_its_newest_revision() -> None:
    village, consumer = contested()
    before = village.label(consumer).state
    pushed_to_the_trunk(village, {"src/status": "complete means archived"})
    after = village.candidate(consumer).state
    assert reason_of_state(after) is Reason.STALE_CONTRACT
    assert after != before


def test_a_trunk_that_moves_elsewhere_leaves_the_consumer_waiting() -> None:
    village, consumer = contested()
    before = village.label(consumer).state
    pushed_to_the_trunk(village, {"docs/x": "1"})
    assert village.candidate(consumer).state == before


def test_what_waits_for_a_contract_and_no_longer_merges_is_sent_back() -> None:
    village, consumer = contested()
    village.label(consumer)
    pushed_to_the_trunk(village, {"publish": "otherwise"})
    assert reason_of_state(village.candidate(consumer).state) is Reason.CONFLICT
