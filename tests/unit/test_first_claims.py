"""Claims that a description makes, in the first moments of its pull request."""

from mergebot.adapters.memory.hosting import Draft
from mergebot.domain.ledger import LedgerClaim
from mergebot.domain.limits import WRITES_PER_MINUTE
from tests.support.village import BOB, BOT, Village


def claim_of(village: Village, pr: int) -> LedgerClaim:
    found = village.ledger.of_pull(pr)
    assert found is not None
    return found


def test_a_block_claims_at_once_while_comments_wait_for_the_forge_to_take_them() -> None:
    village = Village()
    first = village.propose({"docs/a": "1"})
    for _ in range(WRITES_PER_MINUTE):
        village.store.pace(str(BOT.id), 1)
    village.say(first, "@mergebot dance")
    village.clock.advance(village.clock.now() + 1)
    pr = village.propose({"src/a": "1"}, body=village.claiming("A-1", "src/**"))
    assert not any(
        "dance" in each.body for each in village.hosting.comments.values() if "told" in each.body
    )
    assert claim_of(village, pr).patterns == ("src/**",)


def test_a_command_right_after_the_opening_finds_the_claim_of_the_description_though_its_webhook_was_lost() -> (
    None
):
    village = Village()
    head = village.remote.commit({**village.files, "src/a": "1"}, "Change", village.tip)
    body = village.claiming("A-1", "src/**")
    tell, village.hosting.tell = village.hosting.tell, lambda _: None
    village.hosting.open(BOB, head, Draft("Change", "branch-1", body=body))
    village.hosting.tell = tell
    village.say(1, "@mergebot claim docs/x")
    assert claim_of(village, 1).every == ("src/**", "docs/x")
