"""Asking a person, once for each matter: a comment, a label on the ticket, the work given back.

The comment is found again by its topic, so a crash between asking and recording asks nobody twice.
"""

from collections.abc import Mapping
from functools import partial

from mergebot.domain.candidate import Cancelled, Candidate, Claim, Landing, NoClaim
from mergebot.domain.decision import Decision
from mergebot.domain.dependencies import circles, depends_on
from mergebot.domain.effects import Tell
from mergebot.domain.escalating import (
    Question,
    contested,
    halted,
    overspent,
    undecided,
    unordered,
    unsteady,
)
from mergebot.domain.holding import end
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import ASKED, Change, How, Ledger, Note, Parked
from mergebot.domain.policy import BudgetPolicy, FleetPolicy
from mergebot.domain.pulls import PullRequest, has_label
from mergebot.domain.reasons import Reason
from mergebot.domain.tickets import ticket_of
from mergebot.ports.errors import Missing
from mergebot.services.claiming import change
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts

LOOKED_AT = 1000
"""Ended candidates and refusals that a round looks at."""


def escalate(parts: Parts, lane: Lane, pulls: Mapping[int, PullRequest]) -> None:
    """Ask about everything that has become a person's matter; raises Unavailable."""
    snapshot, ledger = parts.store.read(lane), parts.ledger.read(lane)
    budget = snapshot.policy.budget if snapshot.policy else BudgetPolicy()
    fleet = snapshot.policy.fleet if snapshot.policy else FleetPolicy()
    notes = parts.ledger.asked(lane)
    ended = parts.store.ended(lane, limit=LOOKED_AT)
    collisions = parts.ledger.collisions(lane, limit=LOOKED_AT)
    for question in (
        *overspent(ended, notes, lane.repo, budget=budget),
        *contested(ledger, collisions, notes),
        *halted(snapshot, ended, notes),
        *unsteady(snapshot, ended, notes, fleet=fleet),
        *undecided(circles(_waiting(pulls)), snapshot, ledger, notes),
        *unordered(circles(_backlog(parts, lane, fleet)), notes),
    ):
        _ask(parts, lane, question, fleet.question_label)
        change(parts, lane, partial(_given_back, parts, question))


def waits_for_person(parts: Parts, lane: Lane, claim: Claim | NoClaim) -> str:
    """Return why a claim's task is not to be tried now, "" where nobody was asked about it.

    The label on the ticket tells, which outlives whatever the ledger remembers.
    """
    ticket = ticket_of(claim.task, lane.repo) if isinstance(claim, Claim) else None
    if not ticket:
        return ""
    policy = parts.store.read(lane).policy
    label = policy.fleet.question_label if policy else FleetPolicy().question_label
    try:
        asked = has_label(parts.forge.issue(lane.repo, ticket).labels, label)
    except Missing:
        return ""
    where = f"its task #{ticket} waits for an answer, and a person was asked there"
    return f"{where}: whoever answers takes the label {label} off" if asked else ""


def _waiting(pulls: Mapping[int, PullRequest]) -> Mapping[int, tuple[int, ...]]:
    """Return which open pull requests each of them waits for: named ones, and a stack's parent."""
    heads = {pull.head_branch: number for number, pull in pulls.items()}
    return {
        number: tuple(
            each
            for each in (*depends_on(pull.body), heads.get(pull.base, number))
            if each in pulls and each != number
        )
        for number, pull in pulls.items()
    }


def _backlog(parts: Parts, lane: Lane, fleet: FleetPolicy) -> Mapping[int, tuple[int, ...]]:
    """Return which open tasks of the backlog each of them depends on."""
    if not fleet.backlog_label:
        return {}
    issues = parts.forge.open_issues(lane.repo, fleet.backlog_label)
    numbers = {issue.number for issue in issues}
    return {
        issue.number: tuple(
            each for each in depends_on(issue.body) if each in numbers and each != issue.number
        )
        for issue in issues
    }


def _ask(parts: Parts, lane: Lane, question: Question, label: str) -> None:
    def rule(decision: Decision) -> Decision:
        told = decision.want(Tell(question.number, question.topic, question.text))
        for pr in question.cancels:
            candidate = told.snapshot.candidate(pr)
            if candidate is not None:
                told = _cancelled(told, candidate)
        return told.tell("asked a person", question.text, pr=question.number)

    if question.ticket:
        # At once, for the task is given back next: whoever asks for one must find it marked.
        parts.forge.add_label(lane.repo, question.ticket, label)
    decide(parts, lane, rule)


def _cancelled(decision: Decision, candidate: Candidate) -> Decision:
    if isinstance(candidate.state, Landing):
        return decision
    text = "it waits for what waits for it: a person was asked which of them goes first"
    state = Cancelled(Reason.LABEL_REMOVED, text, decision.snapshot.now)
    return decision.move(candidate, state, text)


def _given_back(parts: Parts, question: Question, ledger: Ledger) -> tuple[None, Change]:
    """Record the question; end the claims of tasks that go back, unless a person parked them."""
    now = parts.clock.now()
    notes = [
        Note(now, "", 0, "mergebot", ASKED, text) for text in (*question.tasks, question.topic)
    ]
    given = Change((), ())
    for task in question.tasks:
        claim = ledger.of_task(task)
        if claim is None or isinstance(claim.state, Parked):
            continue
        evidence = f"given back: {task} waits for a person"
        ended = end(ledger, claim, How.RELEASED, evidence, now=now).change
        given = Change((*given.claims, *ended.claims), (*given.notes, *ended.notes))
    return None, Change(given.claims, (*given.notes, *notes))
