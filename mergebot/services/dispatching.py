"""Handing out tasks of the backlog: read issues, queue and ledger, decide, claim for a session."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from mergebot.domain.claims import ClaimBlock, ClaimFaults, parse_task_block
from mergebot.domain.dependencies import depends_on
from mergebot.domain.dispatching import (
    Facts,
    HandedOut,
    Nothing,
    Task,
    Worker,
    hand_out,
    not_done,
    shut,
)
from mergebot.domain.health import reds_within_a_day
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Red, Snapshot
from mergebot.domain.ledger import Change, Ended, How, Ledger, Terms, proof_of
from mergebot.domain.policy import FleetPolicy
from mergebot.domain.pulls import Permission
from mergebot.domain.tickets import task_key, ticket_of
from mergebot.domain.views import ended_at
from mergebot.ports.errors import Missing
from mergebot.ports.forge import Issue
from mergebot.services.claiming import Owned, change, protected_fault
from mergebot.services.costing import spent_in
from mergebot.services.parts import Parts

DAY_S = 24 * 3600.0

ENDED_READ = 2000
"""Ended claims and candidates looked at: more than a fleet ends in a day."""


@dataclass(frozen=True, slots=True)
class Applicant:
    """Who wants a task, and what they may do; `branch` and `patterns` may be left empty.

    Whoever brings a `session`, a secret of their own, gets the same task when they ask again: an
    answer that was lost leaves no task with nobody.
    """

    owner: str
    permission: Permission
    branch: str = ""
    patterns: tuple[str, ...] = ()
    session: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """A task, and the claim on it with the token that only its session learns."""

    task: Task
    owned: Owned


def next_task(parts: Parts, lane: Lane, applicant: Applicant) -> Given | Nothing:
    """Hand out the next ready task of the backlog, to one caller only; raises Unavailable."""
    again = _given_before(parts, lane, applicant)
    if again is not None:
        return again
    snapshot = parts.store.read(lane)
    fleet = snapshot.policy.fleet if snapshot.policy else FleetPolicy()
    closed = shut(fleet, _facts(parts, snapshot))
    if closed is not None:
        return closed
    tasks = backlog(parts, lane, fleet, applicant.permission)
    token = applicant.session or parts.tokens.new()
    worker = Worker(applicant.owner, proof_of(token), applicant.branch, applicant.patterns)
    pool = snapshot.policy.claims.pool if snapshot.policy else 0
    terms = Terms(f"c-{parts.tokens.new()[-12:]}", parts.clock.now(), pool)

    def decide(ledger: Ledger) -> tuple[HandedOut | Nothing, Change]:
        # Read after the ledger: what landed before it was read is no longer live in it.
        landed = landed_tasks(parts, lane)
        left = not_done(tasks, landed)
        found = hand_out(ledger, left, worker, fleet=fleet, terms=terms)
        return found, found.granted.change if isinstance(found, HandedOut) else Change((), ())

    given = change(parts, lane, decide)
    if isinstance(given, Nothing):
        return given
    return Given(given.task, Owned(given.granted.claim, token))


def _given_before(parts: Parts, lane: Lane, applicant: Applicant) -> Given | None:
    """Return the task that a session was given already, None where it has none."""
    own = parts.ledger.read(lane).of_session(proof_of(applicant.session))
    number = ticket_of(own.task, lane.repo) if own else None
    if own is None or number is None:
        return None
    task = _task(parts.forge.issue(lane.repo, number), (), lambda _: "")
    return Given(task, Owned(own, applicant.session))


def backlog(
    parts: Parts, lane: Lane, fleet: FleetPolicy, permission: Permission
) -> tuple[Task, ...]:
    """Return every open task, each with what is still to be done before it; raises Unavailable."""
    issues = parts.forge.open_issues(lane.repo, fleet.backlog_label)
    done = {issue.number: False for issue in issues}

    def waits_for(number: int) -> bool:
        if number not in done:
            done[number] = _done(parts, lane, number)
        return not done[number]

    return tuple(
        _task(
            issue,
            tuple(filter(waits_for, _needs(issue))),
            partial(_guarded, parts, lane, permission),
        )
        for issue in issues
    )


def landed_tasks(parts: Parts, lane: Lane) -> frozenset[str]:
    """Return the tasks whose claims ended by a landing, each by its key."""
    ended = parts.ledger.ended(lane, limit=ENDED_READ)
    return frozenset(
        task_key(claim.task, lane.repo)
        for claim in ended
        if isinstance(claim.state, Ended) and claim.state.how is How.LANDED
    )


def _task(
    issue: Issue, waits_for: tuple[int, ...], guarded: Callable[[tuple[str, ...]], str]
) -> Task:
    block = parse_task_block(issue.body, f"#{issue.number}")
    asks = block if isinstance(block, ClaimBlock) else ClaimBlock("", ())
    fault = (
        "its block cannot be used: " + " ".join(block.faults)
        if isinstance(block, ClaimFaults)
        else ""
    )
    return Task(
        number=issue.number,
        title=issue.title,
        labels=issue.labels,
        created_at=issue.created_at,
        patterns=asks.patterns,
        assumes=asks.assumes,
        waits_for=waits_for,
        fault=fault or guarded(asks.patterns),
    )


def _guarded(parts: Parts, lane: Lane, permission: Permission, patterns: tuple[str, ...]) -> str:
    return protected_fault(parts, lane, patterns, permission)


def _needs(issue: Issue) -> list[int]:
    return [number for number in depends_on(issue.body) if number != issue.number]


def _done(parts: Parts, lane: Lane, number: int) -> bool:
    """Tell whether an issue is closed, or a pull request merged; one that is not there is not."""
    try:
        issue = parts.forge.issue(lane.repo, number)
        return parts.forge.pull(lane.repo, number).merged if issue.pull else issue.closed
    except Missing:
        return False


def _facts(parts: Parts, snapshot: Snapshot) -> Facts:
    state = snapshot.state
    return Facts(
        now=snapshot.now,
        red=isinstance(state.health, Red),
        halted=state.halt.reason if state.halt else "",
        recovering=state.recovering,
        queued=len(snapshot.candidates),
        runtime_s=_runtime_s(parts, snapshot),
        spent=spent_in(parts.ledger, snapshot),
        reds=reds_within_a_day(snapshot),
    )


def _runtime_s(parts: Parts, snapshot: Snapshot) -> float:
    """Return what the gates took of pull requests that are open or ended within a day."""
    since = snapshot.now - DAY_S
    ended = parts.store.ended(snapshot.lane, limit=ENDED_READ)
    recent = [each for each in ended if (ended_at(each) or 0.0) >= since]
    spent: dict[int, float] = {}
    for each in (*recent, *snapshot.candidates):
        spent[each.pr] = max(spent.get(each.pr, 0.0), each.budget.runtime_s)
    return sum(spent.values())
