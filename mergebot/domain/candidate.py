"""A candidate: one attempt to land one pull request at one exact head.

State is a union: a `Verified` cannot exist without its verdict, a `Landing` not without the
receipt that was written before the push. `Landed`, `Ejected` and `Cancelled` are terminal.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from mergebot.domain.gate import Failed, Verdict
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Fault, Reason


class Kind(StrEnum):
    """Which lane a candidate is in: the repair lane may land while the trunk is red."""

    NORMAL = "normal"
    REPAIR = "repair"


@dataclass(frozen=True, slots=True)
class Claim:
    """The recorded right to change paths matching `patterns`, as it was when the PR was queued."""

    id: str
    task: str
    patterns: tuple[str, ...]
    assumes: tuple[str, ...] = ()
    generation: int = 0


@dataclass(frozen=True, slots=True)
class NoClaim:
    """The author claimed nothing: everything but protected paths is allowed, or nothing at all."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the author proposed, pinned when the candidate was made.

    `base` is the branch of another PR that it is stacked on, "" for the trunk; `since` the head
    that this other one landed with, "" until it did: what lies before is not replayed.
    """

    title: str
    body: str
    author: Actor
    head_branch: str
    same_repository: bool
    base: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """A head replayed on a base: the commit that is gated and that lands."""

    base: Sha
    merged: Sha
    tree: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alone:
    """Gated by itself, or with whoever is next to it where the rules allow groups."""


@dataclass(frozen=True, slots=True)
class Together:
    """Gated in one run with these PRs, in landing order; only the last one's commit is tested."""

    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Apart:
    """Under suspicion: `members` are gated beside the chain, on the trunk's tip.

    They and `others` are the halves of a group that was red.
    """

    members: tuple[int, ...]
    others: tuple[int, ...] = ()


Company = Alone | Together | Apart
ALONE = Alone()


@dataclass(frozen=True, slots=True)
class Queued:
    """Waits for its turn, or for that of the `company` that it was put in."""

    company: Company = ALONE


@dataclass(frozen=True, slots=True)
class Parked:
    """Keeps its place without blocking anyone; `text` says what it waits for.

    `until` is when it is looked at again by itself, 0.0 where only news ends the wait.
    """

    reason: Reason
    text: str
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Gating:
    """A gate runs on its merged commit, or on that of the last one of its company."""

    merge: Merge
    run: str
    since: float
    company: Company = ALONE


class Question(StrEnum):
    """What one more gate run can tell about a red one: is it red alone, again, and since when."""

    ALONE = "alone"
    AMONG = "among"
    AGAIN = "again"


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Whose doing a red run was has not been asked yet."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """To be settled by gating `commit`, which stands on `base`, if a slot is idle before `until`.

    `others` are the PRs that landed since the candidate's own merge base. Once the run `proof` was
    green alone, they are those among which it turns red, in order, and it is replayed on `base`;
    `likely` are those who were doubted first.
    """

    question: Question
    commit: Sha
    base: Sha
    others: tuple[int, ...]
    until: float
    proof: str = ""
    likely: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """The run that settles a doubt is on its way."""

    doubt: Doubt
    run: str


Judging = Unjudged | Doubt | Trial
UNJUDGED = Unjudged()


@dataclass(frozen=True, slots=True)
class Failing:
    """Its gate was red, on a base whose own verdict is not known yet, or it is being judged."""

    merge: Merge
    run: str
    result: Failed
    judging: Judging = UNJUDGED


@dataclass(frozen=True, slots=True)
class Verified:
    """Its gate was green; it lands when the trunk stands at its base."""

    merge: Merge
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Landing:
    """The push may be on the wire; only reading the trunk back ends this state."""

    merge: Merge
    verdict: Verdict
    receipt: str
    since: float


@dataclass(frozen=True, slots=True)
class Landed:
    """On the trunk. `receipt` is the digest of its receipt.

    `head_left` where the PR's branch could not be moved along: its head is what was proposed.
    """

    merge: Merge
    receipt: str
    at: float
    head_left: bool = False


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """The run that failed: the commits, the step, and what it printed.

    `proof` is the run that told whose fault it was, "" where none was needed; `others` are the
    PRs that it is red together with.
    """

    merge: Merge
    run: str
    result: Failed
    fault: Fault
    proof: str = ""
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeEvidence:
    """The paths that lie outside the claim, or that the rules forbid, each with a sentence."""

    merge: Merge
    strayed: tuple[str, ...]
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConflictEvidence:
    """The paths that did not merge onto `base`."""

    base: Sha
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlainEvidence:
    """One sentence says it all."""

    text: str


Evidence = GateEvidence | ScopeEvidence | ConflictEvidence | PlainEvidence


@dataclass(frozen=True, slots=True)
class Blocked:
    """It cannot be replayed on `base`, the merged commit of one ahead.

    It is ejected for `reason` once `base` is the trunk, and tried again on any other base.
    """

    base: Sha
    reason: Reason
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Ejected:
    """Removed for good, with a reason and what its author needs to go on."""

    reason: Reason
    evidence: Evidence
    at: float


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Withdrawn by what somebody did: unlabelled, pushed, closed, retargeted."""

    reason: Reason
    text: str
    at: float


State = (
    Queued | Parked | Blocked | Gating | Failing | Verified | Landing | Landed | Ejected | Cancelled
)
Terminal = Landed | Ejected | Cancelled


@dataclass(frozen=True, slots=True)
class Hedge:
    """One more run of a candidate in the chain, on the base that it needs if `without` is red.

    `why` says in words what makes that likely.
    """

    merge: Merge
    run: str
    since: float
    without: int
    why: str


@dataclass(frozen=True, slots=True)
class Budget:
    """What a PR has spent, over all its attempts."""

    failures: int = 0
    infra: int = 0
    runtime_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One attempt to land `pr` at `head`; `seq` is its place in the order of admission.

    `authority` is what `enqueued_by` was allowed to do then. `rank` is its place in the landing
    order where that is not its own, because others were tested while it was under suspicion.
    `regret` is who cancelled it while its push might have been on the wire. `hedges` are runs that
    count for it if somebody ahead turns red. `red_check` is a check of others that was red on its
    head when it was queued, "" where none was or nobody looked.
    """

    pr: int
    head: Sha
    attempt: int
    seq: int
    kind: Kind
    proposal: Proposal
    claim: Claim | NoClaim
    enqueued_by: Actor
    enqueued_at: float
    budget: Budget
    state: State
    authority: Permission = Permission.WRITE
    rank: tuple[int, ...] = ()
    regret: str = ""
    hedges: tuple[Hedge, ...] = ()
    red_check: str = ""

    @property
    def open(self) -> bool:
        """Tell whether anything can still happen to it."""
        return not isinstance(self.state, Landed | Ejected | Cancelled)

    @property
    def place(self) -> tuple[tuple[int, ...], int]:
        """Return what the landing order of its lane is made by, repairs aside."""
        return self.rank or (self.seq,), self.seq

    def at_rank(self, rank: tuple[int, ...]) -> "Candidate":
        """Return the same candidate at another place of the landing order."""
        return replace(self, rank=rank)

    def moved(self, state: State) -> "Candidate":
        """Return the same candidate in `state`; one that ends has no use for hedges."""
        over = isinstance(state, Landed | Ejected | Cancelled)
        return replace(self, state=state, hedges=() if over else self.hedges)


def merge_of(state: State) -> Merge | None:
    """Return the merged commit that `state` speaks of, where there is one."""
    match state:
        case Gating(merge) | Failing(merge) | Verified(merge) | Landing(merge) | Landed(merge):
            return merge
        case Ejected(evidence=GateEvidence(merge) | ScopeEvidence(merge)):
            return merge
        case _:
            return None


def ended_at(state: State) -> float:
    """Return when `state` was reached, 0.0 for one that is no end."""
    return state.at if isinstance(state, Landed | Ejected | Cancelled) else 0.0


def run_of(state: State) -> str | None:
    """Return the gate run that `state` waits for or rests on, where there is one."""
    match state:
        case Gating(run=run) | Failing(run=run) | Verified(verdict=Verdict(run=run)):
            return run
        case Landing(verdict=Verdict(run=run)) | Ejected(evidence=GateEvidence(run=run)):
            return run
        case _:
            return None


def runs_of(candidate: Candidate) -> frozenset[str]:
    """Return every gate run that a candidate's state or one of its hedges speaks of."""
    state = candidate.state
    found = {run_of(state), *(each.run for each in candidate.hedges)}
    if isinstance(state, Failing) and isinstance(state.judging, Trial):
        found.add(state.judging.run)
    return frozenset(run for run in found if run)
