"""What to tell people about a candidate: which letter its state wants, and the facts in it.

A PR has one comment that is edited when the state changes; position and time to go change without
that, so they are no part of a notice's digest. An ejection wants a new comment, once per attempt,
because nobody is notified of an edit.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mergebot.domain.candidate import (
    Blocked,
    Cancelled,
    Candidate,
    Ejected,
    Failing,
    GateEvidence,
    Gating,
    Landed,
    Landing,
    Parked,
    PlainEvidence,
    Queued,
    ScopeEvidence,
    State,
    Verified,
)
from mergebot.domain.gate import StepResult
from mergebot.domain.judging import names
from mergebot.domain.ledger import LedgerClaim
from mergebot.domain.markdown import Markdown, escape, one_line
from mergebot.domain.policy import BudgetPolicy, Policy
from mergebot.domain.reasons import Fault, Reason, consequence
from mergebot.domain.status import (
    NOWHERE,
    Document,
    Place,
    Setting,
    explanation,
    hidden_line,
    next_action,
    reason_of,
    status_document,
)
from mergebot.domain.wording import count, duration

TITLE_CHARS_MAX = 140
"""Of a check's title: commit statuses show no more."""

Light = Literal["pending", "success", "failure", "neutral"]

PASSING = ("position", "eta_s", "log_url", "step", "base", "merged", "repro")
"""What changes while a candidate stays in one open state; the page shows it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What a notice shows beside the status: the diff, and a landing's receipt, where known."""

    patch: str = ""
    receipt: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """A letter to be rendered, and what the check says.

    `title` is plain text of at most 140 characters, `summary` short Markdown. `fresh` asks for a
    new comment, once for that key, "" for an edit; `marker` stands hidden in the letter and tells
    one attempt's letter from another's. Two notices with one `digest` say the same.
    """

    template: str
    facts: Mapping[str, object]
    title: str
    summary: str
    light: Light
    fresh: str
    marker: str
    digest: str


NOTHING = Beside()


def notice_of(
    candidate: Candidate, setting: Setting, *, place: Place = NOWHERE, beside: Beside = NOTHING
) -> Notice:
    """Return what to tell about a candidate now."""
    document = status_document(candidate, setting, place)
    headline = headline_of(candidate.state, setting.lane.trunk)
    template = template_of(candidate.state)
    fresh = fresh_key(candidate)
    marker = f"<!-- attempt {candidate.attempt} of {candidate.head}: {document['state']} -->"
    return Notice(
        template=template,
        facts={
            "doc": document,
            "hidden": Markdown(hidden_line({**document, "eta_s": None})),
            "marker": Markdown(marker),
            "headline": headline,
            "fault": _fault_text(candidate.state, document) if fresh else None,
            "spends": _spends(candidate.state),
            "failures": setting.budget.failures,
            "left": f"{document['failures_left']} of {count(setting.budget.failures, 'attempt')}",
            "steps": _steps(candidate.state, beside.receipt),
            "tail": _tail(candidate.state),
            "details": _details(candidate.state),
            "patch": beside.patch,
        },
        title=one_line(headline, TITLE_CHARS_MAX - 40)[:TITLE_CHARS_MAX],
        summary=f"{escape(headline)}.\n\n**Next:** {escape(str(document['next_action']))}.",
        light=light_of(candidate.state),
        fresh=fresh,
        marker=marker,
        digest=_digest(template, document, candidate),
    )


def _fault_text(state: State, document: Document) -> str | None:
    match state:
        case Ejected(evidence=GateEvidence(fault=Fault.COMBINATION, others=others)) if others:
            return (
                f"It is green alone and red together with {names(others)}, which landed before it."
            )
        case _:
            return FAULTS.get(document["fault"])


def fresh_key(candidate: Candidate) -> str:
    """Return what a new comment is for, "" while the one that is there is edited instead."""
    match candidate.state:
        case Ejected(Reason.ALREADY_LANDED):
            return ""
        case Ejected(reason):
            return f"{candidate.attempt}:{reason}"
        case _:
            return ""


def template_of(state: State) -> str:
    """Return the name of the letter that a state wants."""
    match state:
        case Queued() | Blocked():
            return "notices/queued.md.j2"
        case Parked():
            return "notices/parked.md.j2"
        case Gating() | Failing():
            return "notices/gating.md.j2"
        case Verified() | Landing():
            return "notices/verified.md.j2"
        case Landed():
            return "notices/landed.md.j2"
        case Cancelled():
            return "notices/cancelled.md.j2"
        case Ejected(evidence=GateEvidence()):
            return "notices/failed.md.j2"
        case Ejected(evidence=ScopeEvidence()):
            return "notices/strayed.md.j2"
        case Ejected(evidence=PlainEvidence()):
            return "notices/refused.md.j2"
        case Ejected():
            return "notices/conflict.md.j2"


def told(text: str) -> tuple[str, Mapping[str, object]]:
    """Return the letter that answers a request which made no candidate, and its facts."""
    return "notices/told.md.j2", {"text": text}


def turned_away(candidate: Candidate, policy: Policy | None, trunk: str) -> str:
    """Return the sentence for whoever asked for a PR that was not queued."""
    budget = policy.budget if policy else BudgetPolicy()
    left = max(budget.failures - candidate.budget.failures, 0)
    text = explanation(candidate.state).split("\n", 1)[0].rstrip(" .:")
    why = text or headline_of(candidate.state, trunk)
    reason = reason_of(candidate.state)
    spent = reason is not None and consequence(reason).spends == "failure" and left > 0
    again = ", or `retry` it with a reason" if spent else ""
    return f"#{candidate.pr} is not queued ({reason}): {why}; next: {next_action(candidate, left)}{again}"


def holders_text(sentence: str, holders: Sequence[LedgerClaim], now: float) -> str:
    """Tell whoever is refused a claim who holds what, since when, and how to ask."""
    lines = [
        f"{each.owner} has {', '.join(each.every[:5])}{' and more' if len(each.every) > 5 else ''} "  # noqa: PLR2004 - as many as fit a line
        f"for {each.task}, claimed {duration(now - each.claimed_at)} ago"
        f"{f', in #{each.pr}' if each.pr else ''} (claim {each.id})"
        for each in holders[:5]
    ]
    ask = ""
    if holders:
        where = f"comment on #{holders[0].pr}" if holders[0].pr else "ask its owner"
        ask = f"; to get it, {where} to release or narrow the claim, or let an admin decide"
    return f"{sentence}: {'; '.join(lines)}{ask}" if lines else sentence


def halted(view: Document, trunk: str, page: str) -> tuple[str, Mapping[str, object]]:
    """Return the letter that says why nothing lands, and its facts."""
    return "notices/halted.md.j2", {"halted": view, "trunk": trunk, "page": page}


def light_of(state: State) -> Light:
    """Return the colour of the check."""
    match state:
        case Landed():
            return "success"
        case Ejected(Reason.ALREADY_LANDED) | Cancelled():
            return "neutral"
        case Ejected():
            return "failure"
        case _:
            return "pending"


def headline_of(state: State, trunk: str) -> str:
    """Return the one sentence, without its full stop, that says where a candidate stands."""
    match state:
        case Queued() | Blocked():
            return f"In the queue for {trunk}"
        case Gating() | Failing():
            return "Being tested"
        case Verified():
            return f"Tests passed, next it lands on {trunk}"
        case Landing():
            return f"Landing on {trunk}"
        case Landed():
            return f"Landed on {trunk}"
        case Parked(reason) | Cancelled(reason):
            return HEADLINES[reason].format(trunk=trunk)
        case Ejected(reason, GateEvidence(result=result)):
            return HEADLINES[reason].format(trunk=trunk, step=result.step.name)
        case Ejected(reason):
            return HEADLINES[reason].format(trunk=trunk, step="gate")


HEADLINES = {
    Reason.CONFLICT: "Does not merge with {trunk}",
    Reason.GATE_FAILED: "The step {step} failed",
    Reason.GATE_TIMEOUT: "The step {step} ran out of time",
    Reason.OUT_OF_SCOPE: "Changes files outside its claim",
    Reason.MERGE_COMMITS: "Its merge commits hold changes that a replay would lose",
    Reason.FORBIDDEN_CONTENT: "Holds content that may not land here",
    Reason.TOO_LARGE: "Too large to land",
    Reason.EMPTY: "There is nothing to land",
    Reason.CLAIM_MISSING: "A valid claim is needed here",
    Reason.CLAIM_OVERLAP: "Somebody else has claimed these files",
    Reason.PROTECTED_PATH: "Changes protected files",
    Reason.NOT_PERMITTED: "Not permitted to land",
    Reason.BRANCH_RULES: "The branch rules do not let it land",
    Reason.INVALID_CONFIG: "The rules in .mergebot.toml cannot be used",
    Reason.HEAD_CHANGED: "Left the queue: the branch has new commits",
    Reason.BASE_CHANGED: "Left the queue: it now aims at another branch",
    Reason.CLOSED: "Left the queue: it was closed",
    Reason.DRAFT: "Left the queue: it is a draft",
    Reason.LABEL_REMOVED: "Left the queue, as asked",
    Reason.HELD: "On hold",
    Reason.NOT_READY: "Waiting until it is ready",
    Reason.STALE_CONTRACT: "Waiting for a contract's owners",
    Reason.TRUNK_RED: "Waiting for {trunk} to be green again",
    Reason.INFRA: "Waiting: the machinery failed, not this change",
    Reason.FORGE_UNAVAILABLE: "Waiting for the forge to answer",
    Reason.ALREADY_LANDED: "Already on {trunk}",
    Reason.BUDGET_SPENT: "Out of attempts: a person decides now",
}

FAULTS: Mapping[object, str] = {
    Fault.CANDIDATE: "The base is green without this change, so the change brings the failure.",
    Fault.COMBINATION: "It is green alone and red together with changes ahead of it.",
    Fault.TRUNK: "The trunk is red without it too, so this is not the change's doing.",
    Fault.FLAKY: "The same step passed and failed on the same commit: it is flaky.",
    Fault.INFRASTRUCTURE: "The machinery failed; the change is not to blame.",
}


def _steps(state: State, receipt: Mapping[str, object]) -> Sequence[Document]:
    match state:
        case Ejected(evidence=GateEvidence(result=result)):
            return [_step(each) for each in result.steps]
        case Verified(verdict=verdict) | Landing(verdict=verdict):
            return [_step(each) for each in verdict.steps]
        case Landed():
            gate = receipt.get("gate")
            steps = gate.get("steps") if isinstance(gate, dict) else None
            return (
                [{"flaky": False, "kept": "", **each} for each in steps]
                if isinstance(steps, list)
                else []
            )
        case _:
            return []


def _spends(state: State) -> bool:
    return isinstance(state, Ejected) and consequence(state.reason).spends == "failure"


def _step(step: StepResult) -> Document:
    return {
        "name": step.name,
        "exit_code": step.exit_code,
        "seconds": step.seconds,
        "flaky": step.flaky,
        "kept": step.kept,
    }


def _tail(state: State) -> str:
    match state:
        case Ejected(evidence=GateEvidence(result=result)):
            return result.tail
        case _:
            return ""


def _details(state: State) -> list[str]:
    match state:
        case Ejected(evidence=ScopeEvidence(details=details)):
            return list(details)
        case _:
            return []


def _digest(template: str, document: Document, candidate: Candidate) -> str:
    dropped = PASSING if candidate.open else ("eta_s",)
    kept = {key: value for key, value in document.items() if key not in dropped}
    text = json.dumps([template, kept], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
