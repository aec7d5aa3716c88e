"""Asking a person, once for each matter: a comment, a label on the ticket, the task given back.

The comment is found again by its topic, so a crash between asking and recording asks nobody twice.
"""

from functools import partial

from mergebot.domain.candidate import Claim, NoClaim
from mergebot.domain.decision import Decision
from mergebot.domain.effects import Tell
from mergebot.domain.escalating import (
    ASKED,
    Question,
    asked_at,
    contested,
    overspent,
)
from mergebot.domain.holding import end
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import Change, How, Ledger, Note, Parked
from mergebot.domain.policy import BudgetPolicy, FleetPolicy
from mergebot.domain.tickets import task_key, ticket_of
from mergebot.ports.errors import Missing
from mergebot.services.claiming import change
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts

LOOKED_AT = 1000
"""Ended candidates, refusals and lines of the story that a round looks at."""


def escalate(parts: Parts, lane: Lane) -> None:
    """Ask about everything that has become a person's matter; raises Unavailable."""
    snapshot, ledger = parts.store.read(lane), parts.ledger.read(lane)
    budget = snapshot.policy.budget if snapshot.policy else BudgetPolicy()
    fleet = snapshot.policy.fleet if snapshot.policy else FleetPolicy()
    notes = parts.ledger.notes(lane, limit=LOOKED_AT)
    ended = parts.store.ended(lane, limit=LOOKED_AT)
    collisions = parts.ledger.collisions(lane, limit=LOOKED_AT)
    for question in (
        *overspent(ended, notes, lane.repo, most=budget.failures),
        *contested(ledger, collisions, notes),
    ):
        _ask(parts, lane, question, fleet.question_label)
        change(parts, lane, partial(_given_back, parts, question))


def waits_for_person(parts: Parts, lane: Lane, claim: Claim | NoClaim) -> str:
    """Return why a claim's task is not to be tried now, "" where nobody was asked about it."""
    ticket = ticket_of(claim.task, lane.repo) if isinstance(claim, Claim) else None
    if not ticket:
        return ""
    if f"#{ticket}" not in asked_at(parts.ledger.notes(lane, limit=LOOKED_AT)):
        return ""
    policy = parts.store.read(lane).policy
    label = policy.fleet.question_label if policy else FleetPolicy().question_label
    try:
        asked = label in parts.forge.issue(lane.repo, ticket).labels
    except Missing:
        return ""
    where = f"its task #{ticket} failed too often, and a person was asked there"
    return f"{where}: whoever answers takes the label {label} off" if asked else ""


def _ask(parts: Parts, lane: Lane, question: Question, label: str) -> None:
    def rule(decision: Decision) -> Decision:
        told = decision.want(Tell(question.number, question.topic, question.text))
        return told.tell("asked a person", question.text, pr=question.number)

    if question.ticket:
        # At once, for the task is given back next: whoever asks for one must find it marked.
        parts.forge.add_label(lane.repo, question.ticket, label)
    decide(parts, lane, rule)


def _given_back(parts: Parts, question: Question, ledger: Ledger) -> tuple[None, Change]:
    """Record the question; end the claim of a task that goes back, unless a person parked it."""
    now = parts.clock.now()
    note = Note(now, "", 0, "mergebot", ASKED, question.task or question.topic)
    claim = ledger.of_task(question.task) if question.task else None
    if claim is None or isinstance(claim.state, Parked):
        return None, Change((), (note,))
    evidence = f"given back: {task_key(claim.task, ledger.lane.repo)} waits for a person"
    ended = end(ledger, claim, How.RELEASED, evidence, now=now).change
    return None, Change(ended.claims, (*ended.notes, note))
