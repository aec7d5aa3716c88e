"""What of a claim in the ledger counts: only what this installation granted, as its seal shows.

Redis keeps the ledger, and whoever can write there could widen a claim. So each claim is sealed
when it is written, and one whose seal is wrong is never sealed again: it excludes others, but gives
no right to a path beyond what stands on the forge.
"""

import json
from dataclasses import replace

from mergebot.domain.ids import Lane
from mergebot.domain.ledger import Change, Ledger, LedgerClaim
from mergebot.ports.signing import CLAIMS, Seals


def sealed(seals: Seals, ledger: Ledger, change: Change) -> Change:
    """Return the change with each claim sealed that is new, or changes one that was granted here."""
    claims = []
    for claim in change.claims:
        before = ledger.claims.get(claim.id)
        good = before is None or granted(seals, ledger.lane, before)
        seal = seals.seal(CLAIMS, _text(ledger.lane, claim)) if good else claim.seal
        claims.append(replace(claim, seal=seal))
    return Change(tuple(claims), change.notes)


def granted(seals: Seals, lane: Lane, claim: LedgerClaim) -> bool:
    """Tell whether this installation granted the claim exactly these paths."""
    return seals.sealed(CLAIMS, _text(lane, claim), claim.seal)


def _text(lane: Lane, claim: LedgerClaim) -> str:
    return json.dumps(
        [
            lane.repo_id,
            claim.id,
            claim.generation,
            claim.task,
            claim.proof,
            claim.branch,
            claim.pr,
            claim.patterns,
            claim.extra,
            claim.assumes,
        ]
    )
