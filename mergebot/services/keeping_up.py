"""Claims and early warnings without any webhook: what the reconciler does for them each round."""

from collections.abc import Mapping

from mergebot.domain.claims import NoBlock, parse_claim_block
from mergebot.domain.early import Early
from mergebot.domain.ids import Lane
from mergebot.domain.pulls import PullRequest
from mergebot.services.auditing import closed, sweep
from mergebot.services.early_warning import want_look
from mergebot.services.escalating import escalate
from mergebot.services.parts import Parts

LOOKS_MAX = 20
"""Pull requests looked at in one round: a first round over thousands must not hold up the queue."""


FRESH_S = 3600.0
"""How old an unknown pull request without a claim may be to be looked at: a repository that has
just got the bot wants no comments on everything that lies there."""


def keep_up(parts: Parts, lane: Lane, pulls: Mapping[int, PullRequest]) -> None:
    """Look at open pull requests whose news was lost, at claims that fell silent, and for whom to ask."""
    seen = {early.pr: early for early in parts.ledger.early(lane)}
    fresh_at = parts.clock.now() - FRESH_S
    moved = [
        number
        for number, pull in sorted(pulls.items())
        if pull.base == lane.trunk and _news(pull, seen.get(number), fresh_at)
    ]
    claimed = {claim.pr for claim in parts.ledger.read(lane).claims.values() if claim.pr}
    gone = sorted(({*seen} | claimed) - {*pulls})
    want_look(parts, lane, *moved[:LOOKS_MAX])
    closed(parts, lane, *gone[:LOOKS_MAX])
    sweep(parts, lane)
    escalate(parts, lane, pulls)


def _news(pull: PullRequest, early: Early | None, fresh_at: float) -> bool:
    """Tell whether something about a pull request was not looked at yet."""
    if early is not None:
        return early.head != pull.head
    claims = not isinstance(parse_claim_block(pull.body), NoBlock)
    return claims or pull.created_at >= fresh_at
