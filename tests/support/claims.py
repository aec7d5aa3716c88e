"""Claims with only the facts that a test is about."""

from mergebot.domain.ledger import (
    Active,
    Ask,
    Change,
    Granted,
    Ledger,
    LedgerClaim,
    Standing,
    Taken,
    Terms,
    acquire,
    proof_of,
)
from mergebot.ports.ledger import Ledgers
from mergebot.ports.store import Stale
from tests.support.builders import LANE, NOW


def ask(task: str, *patterns: str, pr: int = 0, branch: str = "", token: str = "") -> Ask:
    """Return a wish to claim; `token` makes it that of a session."""
    return Ask(task, patterns, (), f"owner of {task}", branch, pr, proof_of(token))


def claim(
    name: str, task: str, *patterns: str, state: Standing | None = None, pr: int = 0
) -> LedgerClaim:
    """Return a claim as it stands in a ledger, owned by the session with the token `token-<name>`."""
    return LedgerClaim(
        id=name,
        task=task,
        owner=f"owner of {task}",
        proof=proof_of(f"token-{name}"),
        patterns=patterns,
        assumes=(),
        branch="",
        pr=pr,
        generation=1,
        claimed_at=NOW,
        heard_at=NOW,
        state=state or Active(),
    )


def ledger(*claims: LedgerClaim, generation: int = 1) -> Ledger:
    """Return a ledger of these live claims."""
    return Ledger(LANE, "e", 1, generation).with_claims(claims)


def put(ledgers: Ledgers, *claims: LedgerClaim) -> Ledger:
    """Write claims as they are."""
    return ledgers.commit(ledgers.read(LANE), Change(claims, ()))


def try_claim(ledgers: Ledgers, wanted: Ask, name: str, now: float = NOW) -> Granted | Taken:
    """Claim as a service does: read, decide, commit, and again if too late."""
    while True:
        found = acquire(read := ledgers.read(LANE), wanted, Terms(name, now))
        if isinstance(found, Taken):
            return found
        try:
            ledgers.commit(read, found.change)
        except Stale:
            continue
        return found
