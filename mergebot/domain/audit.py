"""The audit of the pool of claims: what may be freed, decided item by item on evidence.

A claim is freed only where its ticket, its branch, the work that hosts report and the queue all
agree that it is over. Age raises a flag and decides nothing; work that only one machine has is a
question to a person; what is parked is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mergebot.domain.ids import short
from mergebot.domain.ledger import Active, Ledger, LedgerClaim, Parked, Suspect
from mergebot.domain.wording import duration, iso


class Ticket(StrEnum):
    """What the task's issue or pull request says."""

    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"


class Branch(StrEnum):
    """Where the claim's branch is, compared with the trunk."""

    NONE = "none"
    MERGED = "merged"
    EQUIVALENT = "equivalent"
    AHEAD = "ahead"
    LOCAL = "local-only"
    UNKNOWN = "unknown"


GONE = (Branch.NONE, Branch.MERGED, Branch.EQUIVALENT)
"""Where nothing on the branch is missing from the trunk."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A checkout on an agent's machine: `ahead` commits of it are on no remote."""

    path: str
    branch: str
    head: str
    dirty: bool
    ahead: int


@dataclass(frozen=True, slots=True)
class Local:
    """Work on a claim's branch that only `host` has."""

    host: str
    path: str
    head: str
    dirty: bool
    ahead: int


class Choice(StrEnum):
    """What a person decides about work that only one machine has."""

    PUSH = "push"
    ABANDON = "abandon"


@dataclass(frozen=True, slots=True)
class Decided:
    """A recorded decision about the work of a claim, as it was at `head`."""

    claim: str
    choice: Choice
    head: str
    by: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found out about one claim; `about` says each of it in words.

    `last_commit_at` is 0.0 where no commit of its own is known.
    """

    ticket: Ticket
    branch: Branch
    local: tuple[Local, ...]
    queued: bool
    last_commit_at: float
    about: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """All sources agree that it is over; `evidence` names them."""

    evidence: str


@dataclass(frozen=True, slots=True)
class Keep:
    """It stays as it is."""

    why: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A person has to decide: push the work or abandon it."""

    question: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """It stays, and is shown as suspect."""

    why: str


Verdict = Free | Keep | Flag | Doubt


@dataclass(frozen=True, slots=True)
class Item:
    """One claim, what was found out about it, and what follows."""

    claim: LedgerClaim
    facts: Facts
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Pool:
    """The places of the pool; the four kinds always add up to `size`."""

    size: int
    active: int
    parked: int
    suspect: int
    free: int


@dataclass(frozen=True, slots=True)
class Report:
    """An audit of the whole pool: every item, and the usable capacity before and after."""

    at: float
    before: Pool
    after: Pool
    items: tuple[Item, ...]


def judge(
    claim: LedgerClaim,
    facts: Facts,
    decided: Sequence[Decided],
    *,
    now: float,
    suspect_after_s: float,
) -> Verdict:
    """Decide one claim."""
    if isinstance(claim.state, Parked):
        state = claim.state
        return Keep(f"parked by {state.owner}: {state.reason}; review {iso(state.review_at)[:10]}")
    if facts.queued:
        return Keep("its pull request is in the queue")
    open_work = [each for each in facts.local if not _abandoned(claim, each, decided)]
    if facts.ticket is Ticket.CLOSED and open_work:
        return Flag(_question(claim, open_work, decided))
    if facts.ticket is Ticket.CLOSED and facts.branch in GONE:
        return Free("; ".join(facts.about))
    if facts.ticket is Ticket.CLOSED and facts.branch is Branch.LOCAL:
        return Free("; ".join((*facts.about, "a person decided to abandon the local work")))
    aged = _aged(claim, facts, now=now, suspect_after_s=suspect_after_s)
    if facts.ticket is Ticket.CLOSED and facts.branch is Branch.AHEAD:
        return Doubt("its ticket is closed, but its branch has commits that the trunk has not")
    return Doubt(aged) if aged else Keep("; ".join(facts.about))


def _abandoned(claim: LedgerClaim, local: Local, decided: Sequence[Decided]) -> bool:
    return any(
        each.claim == claim.id and each.choice is Choice.ABANDON and each.head == local.head
        for each in decided
    )


def _question(claim: LedgerClaim, work: Sequence[Local], decided: Sequence[Decided]) -> str:
    first = work[0]
    what = " and ".join(
        ([f"{first.ahead} unpushed commits up to {short(first.head)}"] if first.ahead else [])
        + (["uncommitted work"] if first.dirty else [])
    )
    text = f"{what or 'a branch'} on {first.host} only: push it or abandon it"
    pushed = any(each.claim == claim.id and each.choice is Choice.PUSH for each in decided)
    return f"{text} (decided: push, and it is not on the forge yet)" if pushed else text


def _aged(claim: LedgerClaim, facts: Facts, *, now: float, suspect_after_s: float) -> str:
    """Return why its age raises the flag; the later of claim and commit starts the clock."""
    if isinstance(claim.state, Suspect):
        return claim.state.why
    silent = now - last_sign(claim, facts.last_commit_at)
    if silent <= suspect_after_s:
        return ""
    return f"nothing was heard of it for {duration(silent)}"


def last_sign(claim: LedgerClaim, last_commit_at: float) -> float:
    """Return when a claim last gave a sign of life."""
    return max(claim.claimed_at, claim.heard_at, last_commit_at)


def pool_of(ledger: Ledger, size: int) -> Pool:
    """Return the pool; one without a fixed size has no free place."""
    states = [claim.state for claim in ledger.claims.values()]
    active = sum(isinstance(state, Active) for state in states)
    parked = sum(isinstance(state, Parked) for state in states)
    suspect = sum(isinstance(state, Suspect) for state in states)
    size = max(size, len(states))
    return Pool(size, active, parked, suspect, size - len(states))
