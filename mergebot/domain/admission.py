"""Admission: whether a labelled pull request becomes a candidate, and in which state.

Every request ends in a candidate with a reason its author can read; nothing is dropped silently.
"""

from dataclasses import dataclass, replace

from mergebot.domain.candidate import (
    Budget,
    Cancelled,
    Candidate,
    Claim,
    Ejected,
    Kind,
    NoClaim,
    Parked,
    PlainEvidence,
    Proposal,
    Queued,
    State,
)
from mergebot.domain.ids import Actor, Sha, short
from mergebot.domain.lane import Snapshot
from mergebot.domain.policy import EXAMPLE, NoPolicy, Policy, PolicyFaults
from mergebot.domain.pulls import TO_RENEW, Permission, PullRequest
from mergebot.domain.reasons import AGAIN, Reason, consequence
from mergebot.domain.wording import count, duration

NO_HEAD = Sha("0" * 40)
"""The head of a request that nobody can name any more; it fits no pull request."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """The label that asks is on the PR already."""


@dataclass(frozen=True, slots=True)
class Retried:
    """Somebody asked for the same head again, and said why.

    `authority` is what they may do where the forge cannot tell: the bot's admin acts as the bot.
    """

    why: str
    authority: Permission = Permission.NONE


@dataclass(frozen=True, slots=True)
class Overlap:
    """Its claim shares files with a live one of another task; `text` says whose."""

    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """A wish to land `pull` at `head`, by `actor`, who may do `permission` here.

    `blocked` is which others have to land first, `stacked_on` the branch of one of them.
    `asked` is why its task waits for a person, and `unlandable` why the forge's own rules would
    refuse whatever the gate says; "" for nothing. `red_check` is a check of others that is red on it.
    """

    pull: PullRequest
    head: Sha
    kind: Kind
    actor: Actor
    permission: Permission
    approvals: int
    claim: Claim | NoClaim | Overlap | tuple[str, ...]
    way: Labelled | Retried
    unlandable: str = ""
    asked: str = ""
    blocked: str = ""
    stacked_on: str = ""
    red_check: str = ""


def admit(snapshot: Snapshot, request: Request, latest: Candidate | None) -> Candidate:
    """Return the candidate that `request` makes; `latest` is the PR's newest one before it."""
    pull = request.pull
    claim = request.claim
    candidate = Candidate(
        pr=pull.number,
        head=pull.head if request.head == NO_HEAD else request.head,
        attempt=latest.attempt + 1 if latest else 1,
        seq=snapshot.state.next_seq,
        kind=request.kind,
        proposal=Proposal(
            title=pull.title,
            body=pull.body,
            author=pull.author,
            head_branch=pull.head_branch,
            same_repository=pull.head_repo == snapshot.lane.repo,
            base=request.stacked_on,
        ),
        claim=claim if isinstance(claim, Claim) else NoClaim(),
        enqueued_by=request.actor,
        enqueued_at=snapshot.now,
        budget=_budget(snapshot, request, latest),
        state=Queued(),
        authority=request.permission,
        red_check=request.red_check,
    )
    return replace(candidate, state=_first_state(snapshot, request, candidate, latest))


def _budget(snapshot: Snapshot, request: Request, latest: Candidate | None) -> Budget:
    """Return what the PR has spent; whoever may maintain gives a new budget where that is all."""
    spent = latest.budget if latest else Budget()
    return Budget() if _renews(request) and _spending(snapshot.policy, spent) else spent


def _renews(request: Request) -> bool:
    """Tell whether it is a retry by somebody who answers for the queue, not just for a change."""
    way = request.way
    return isinstance(way, Retried) and max(request.permission, way.authority) >= TO_RENEW


def _first_state(
    snapshot: Snapshot, request: Request, candidate: Candidate, latest: Candidate | None
) -> State:
    now = snapshot.now
    cancelled = _withdrawn(snapshot, request)
    if cancelled is not None:
        return Cancelled(cancelled[0], cancelled[1], now)
    refused = (
        _not_allowed(snapshot, request)
        or _no_rules(snapshot)
        or _no_landing(request)
        or _bad_claim(request)
        or _spent(snapshot, candidate)
        or _asked(request)
    )
    if refused is not None:
        return Ejected(refused[0], PlainEvidence(refused[1]), now)
    again = _same_again(request, latest)
    if again is not None:
        return Ejected(again.reason, again.evidence, now)
    return _waits(snapshot, request) or Queued()


def _withdrawn(snapshot: Snapshot, request: Request) -> tuple[Reason, str] | None:
    pull = request.pull
    if pull.closed:
        return Reason.CLOSED, "the pull request is closed"
    if request.head == NO_HEAD:
        return (
            Reason.HEAD_CHANGED,
            "nobody watched when the label was set, so its head is unknown: set the label again",
        )
    if pull.head != request.head:
        return (
            Reason.HEAD_CHANGED,
            (
                f"a push moved the head from {short(request.head)} to {short(pull.head)} "
                "after the label was set"
            ),
        )
    if pull.base not in {snapshot.lane.trunk, request.stacked_on}:
        return (
            Reason.BASE_CHANGED,
            f"it targets {pull.base}, and this queue lands on {snapshot.lane.trunk}",
        )
    if pull.draft:
        return Reason.DRAFT, "it is a draft"
    return None


def _not_allowed(snapshot: Snapshot, request: Request) -> tuple[Reason, str] | None:
    policy = snapshot.policy
    actors = policy.queue.actors if policy else ()
    needed = Permission.MAINTAIN if request.kind is Kind.REPAIR else Permission.WRITE
    listed = request.kind is Kind.NORMAL and request.actor.id in actors
    if request.permission < needed and not listed:
        have = request.permission.name.lower()
        return (
            Reason.NOT_PERMITTED,
            (
                f"{request.actor.login} has {have} permission here; "
                f"queueing needs {needed.name.lower()} or more"
            ),
        )
    forks = policy.queue.fork_pull_requests if policy else False
    if request.pull.head_repo != snapshot.lane.repo and not forks:
        return (
            Reason.NOT_PERMITTED,
            "it comes from a fork, and the rules here take none (fork_pull_requests = false)",
        )
    if policy and policy.external.checks and request.pull.head_repo != snapshot.lane.repo:
        return (
            Reason.NOT_PERMITTED,
            "it comes from a fork, and the checks of [gate.external] would run its code as ours",
        )
    return None


def _no_rules(snapshot: Snapshot) -> tuple[Reason, str] | None:
    match snapshot.state.rules.policy:
        case NoPolicy():
            text = "the trunk has no .mergebot.toml, so there is no gate; the smallest valid file:"
            return Reason.INVALID_CONFIG, f"{text}\n\n{EXAMPLE}"
        case Policy(gate=gate, external=external) if not gate.steps and not external.checks:
            text = ".mergebot.toml has no gate; the smallest valid file:"
            return Reason.INVALID_CONFIG, f"{text}\n\n{EXAMPLE}"
        case Policy() | PolicyFaults():
            return None


def _no_landing(request: Request) -> tuple[Reason, str] | None:
    return (Reason.BRANCH_RULES, request.unlandable) if request.unlandable else None


def _bad_claim(request: Request) -> tuple[Reason, str] | None:
    if isinstance(request.claim, Overlap):
        return Reason.CLAIM_OVERLAP, request.claim.text
    if isinstance(request.claim, tuple):
        return Reason.CLAIM_MISSING, "its claim cannot be used: " + " ".join(request.claim)
    return None


def _spent(snapshot: Snapshot, candidate: Candidate) -> tuple[Reason, str] | None:
    spending = _spending(snapshot.policy, candidate.budget)
    return (Reason.BUDGET_SPENT, f"{spending}; {AGAIN}") if spending else None


def _spending(policy: Policy | None, spent: Budget) -> str:
    """Return which budget of a PR is spent, in words, "" while none is."""
    if policy is None:
        return ""
    allowed = policy.budget
    if spent.failures >= allowed.failures:
        return f"it failed {count(spent.failures, 'time')}, which is what the rules allow"
    if spent.infra >= allowed.infra:
        times = count(spent.infra, "time")
        return f"its gates gave no verdict {times}, which is what the rules allow"
    if spent.runtime_s > allowed.runtime_s:
        most = duration(allowed.runtime_s)
        return f"its gates ran in vain for more than the {most} that the rules allow"
    return ""


def _asked(request: Request) -> tuple[Reason, str] | None:
    """Refuse a task about which a person was asked, unless one who may says why to try again."""
    if not request.asked or _renews(request):
        return None
    return Reason.BUDGET_SPENT, request.asked


def _same_again(request: Request, latest: Candidate | None) -> Ejected | None:
    """Return how this very head ended before: asking again is answered with the same evidence."""
    failed = judged(latest, request.head)
    if latest is None or failed is None or isinstance(request.way, Retried):
        return None
    # Outside which claim it was: another one may hold the same change.
    strayed = failed.reason is Reason.OUT_OF_SCOPE
    return None if strayed and _paths(request.claim) != _paths(latest.claim) else failed


def judged(latest: Candidate | None, head: Sha) -> Ejected | None:
    """Return how a PR whose newest candidate is `latest` failed at this very head, if it did."""
    if latest is None or latest.head != head or not isinstance(latest.state, Ejected):
        return None
    spends = consequence(latest.state.reason).spends
    return latest.state if spends == "failure" else None


def _paths(claim: Claim | NoClaim | Overlap | tuple[str, ...]) -> tuple[str, ...]:
    return claim.patterns if isinstance(claim, Claim) else ()


def repeats(candidate: Candidate, latest: Candidate | None) -> bool:
    """Tell whether a new candidate only ends as the one before it did: nothing is new then."""
    if latest is None or candidate.head != latest.head:
        return False
    ended, before = candidate.state, latest.state
    if not isinstance(ended, Ejected | Cancelled) or not isinstance(before, Ejected | Cancelled):
        return False
    return replace(ended, at=0.0) == replace(before, at=0.0)


def _waits(snapshot: Snapshot, request: Request) -> Parked | None:
    policy = snapshot.policy
    if policy is None:
        return None
    if request.pull.has(policy.queue.hold_label):
        return Parked(Reason.HELD, f"held by the label {policy.queue.hold_label}")
    if request.blocked:
        return Parked(Reason.NOT_READY, request.blocked)
    needed = policy.queue.require_approvals
    if request.approvals < needed:
        return Parked(Reason.NOT_READY, f"{request.approvals} of {needed} approvals")
    return None
