"""Claims and early warnings without any webhook: what the reconciler does for them each round."""

from collections.abc import Mapping

import structlog

from mergebot.domain.ids import Lane
from mergebot.domain.pulls import PullRequest
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.auditing import closed, sweep
from mergebot.services.early_warning import look_early
from mergebot.services.parts import Parts

log = structlog.get_logger()

LOOKS_MAX = 20
"""Pull requests looked at in one round: a first round over thousands must not hold up the queue."""


def keep_up(parts: Parts, lane: Lane, pulls: Mapping[int, PullRequest]) -> None:
    """Look at open pull requests whose news was lost, and at claims that fell silent.

    One odd pull request keeps nobody else's claim from being looked at.
    """
    seen = {early.pr: early for early in parts.ledger.early(lane)}
    moved = [
        number
        for number, pull in sorted(pulls.items())
        if pull.base == lane.trunk and (number not in seen or seen[number].head != pull.head)
    ]
    claimed = {claim.pr for claim in parts.ledger.read(lane).claims.values() if claim.pr}
    gone = sorted(({*seen} | claimed) - {*pulls})
    for number in moved[:LOOKS_MAX]:
        try:
            look_early(parts, lane, number)
        except (Unavailable, Refused) as error:
            log.warning("pull_not_looked_at", lane=lane.repo, pr=number, why=str(error))
    closed(parts, lane, *gone[:LOOKS_MAX])
    sweep(parts, lane)
