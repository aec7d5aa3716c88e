"""Claims and early warnings without any webhook: what the reconciler does for them each round."""

from collections.abc import Mapping

from mergebot.domain.ids import Lane
from mergebot.domain.pulls import PullRequest
from mergebot.services.auditing import closed, sweep
from mergebot.services.early_warning import want_look
from mergebot.services.parts import Parts

LOOKS_MAX = 20
"""Pull requests looked at in one round: a first round over thousands must not hold up the queue."""


def keep_up(parts: Parts, lane: Lane, pulls: Mapping[int, PullRequest]) -> None:
    """Look at open pull requests whose news was lost, and at claims that fell silent."""
    seen = {early.pr: early for early in parts.ledger.early(lane)}
    moved = [
        number
        for number, pull in sorted(pulls.items())
        if pull.base == lane.trunk and (number not in seen or seen[number].head != pull.head)
    ]
    claimed = {claim.pr for claim in parts.ledger.read(lane).claims.values() if claim.pr}
    gone = sorted(({*seen} | claimed) - {*pulls})
    want_look(parts, lane, *moved[:LOOKS_MAX])
    closed(parts, lane, *gone[:LOOKS_MAX])
    sweep(parts, lane)
