"""Handing out tasks: which one of the backlog comes next, and why there is none.

A task is handed out by the claim that it makes, decided on one reading of the ledger; so no two
callers ever get the same one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mergebot.domain.costs import NOTHING_SPENT, Spent
from mergebot.domain.health import red_tips
from mergebot.domain.ledger import Ask, Change, Granted, Ledger, Terms, acquire
from mergebot.domain.policy import FleetPolicy
from mergebot.domain.pulls import has_label
from mergebot.domain.wording import count, duration

UNRANKED = 1_000_000
"""The priority of a task without a label for it: after all that have one."""

DAY_MIN = 24 * 60
_PRIORITY = re.compile(r"(?:priority:\s*([0-9]{1,5})|p([0-4]))", re.IGNORECASE)


class Why(StrEnum):
    """Why no task is handed out."""

    NO_BACKLOG = "no_backlog"
    TRUNK_RED = "trunk_red"
    HALTED = "halted"
    RECOVERING = "recovering"
    OUTSIDE_WINDOW = "outside_window"
    TRUNK_UNSTEADY = "trunk_unsteady"
    QUEUE_LONG = "queue_long"
    BUDGET_SPENT = "budget_spent"
    FLEET_FULL = "fleet_full"
    SHARE_SPENT = "share_spent"
    NOTHING_READY = "nothing_ready"


@dataclass(frozen=True, slots=True)
class Task:
    """An issue of the backlog: what it may change, and which others are still to be done first.

    `fault` is why it cannot be handed out whatever else happens, "" for nothing.
    """

    number: int
    title: str
    labels: tuple[str, ...]
    created_at: float
    patterns: tuple[str, ...]
    assumes: tuple[str, ...]
    waits_for: tuple[int, ...]
    fault: str = ""

    @property
    def name(self) -> str:
        """Return the task as claims name it."""
        return f"#{self.number}"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A task that is not handed out now, and why."""

    task: int
    because: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """No task is handed out: the reason, a sentence, and what each task of the backlog waits for."""

    why: Why
    sentence: str
    waiting: tuple[Waiting, ...] = ()


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A task, and the claim that it is handed out by."""

    task: Task
    granted: Granted


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds right now, and of the last day what gates took, tasks cost, and red tips there were."""

    now: float
    red: bool
    halted: str
    recovering: bool
    queued: int
    runtime_s: float
    spent: Spent = NOTHING_SPENT
    reds: int = 0


@dataclass(frozen=True, slots=True)
class Worker:
    """Who asks: shown as `owner`, known by a token's `proof`; `branch` is "" for the task's own."""

    owner: str
    proof: str
    branch: str = ""
    patterns: tuple[str, ...] = ()


def priority_of(labels: Iterable[str]) -> int:
    """Return the number in a label `priority:N` or `p0` to `p4`, the lowest of several."""
    found = [match for label in labels if (match := _PRIORITY.fullmatch(label.strip()))]
    return min((int(match[1] or match[2]) for match in found), default=UNRANKED)


def shut(fleet: FleetPolicy, facts: Facts) -> Nothing | None:
    """Return why nothing is handed out to anybody, None where something may be."""
    if not fleet.backlog_label:
        text = "the rules name no backlog: set fleet.backlog_label in .mergebot.toml"
        return Nothing(Why.NO_BACKLOG, text)
    if facts.recovering:
        return Nothing(Why.RECOVERING, "the queue is being rebuilt: ask again in a moment")
    if facts.red:
        return Nothing(Why.TRUNK_RED, "the trunk is red: it has to be repaired first")
    if facts.halted:
        return Nothing(Why.HALTED, f"the queue is halted: {facts.halted}")
    if fleet.reds_max and facts.reds >= fleet.reds_max:
        text = f"{red_tips(facts.reds)}; {fleet.reds_max} are too many (fleet.reds_max)"
        return Nothing(Why.TRUNK_UNSTEADY, text)
    if not _inside(fleet, facts.now):
        hours = f"{_clock(fleet.opens_min)} to {_clock(fleet.closes_min)} UTC"
        return Nothing(Why.OUTSIDE_WINDOW, f"tasks are handed out from {hours} (fleet.window)")
    if fleet.queue_longest and facts.queued >= fleet.queue_longest:
        waits = f"{count(facts.queued, 'change')} in the queue"
        text = f"{waits}, and {fleet.queue_longest} are as many as may wait (fleet.queue_longest)"
        return Nothing(Why.QUEUE_LONG, text)
    if fleet.runtime_max_s and facts.runtime_s >= fleet.runtime_max_s:
        spent, most = duration(facts.runtime_s), duration(fleet.runtime_max_s)
        text = f"gates took {spent} of the {most} that a day may have (fleet.runtime_max)"
        return Nothing(Why.BUDGET_SPENT, text)
    if facts.spent.over:
        return Nothing(Why.BUDGET_SPENT, f"agents spent {facts.spent.text}")
    return None


def hand_out(
    ledger: Ledger, tasks: Sequence[Task], worker: Worker, *, fleet: FleetPolicy, terms: Terms
) -> HandedOut | Nothing:
    """Decide on one reading of the ledger which task `worker` gets; `tasks` are those not done.

    Whoever has one already by this session gets it again.
    """
    own = ledger.of_session(worker.proof)
    held = next((each for each in tasks if own and ledger.of_task(each.name) == own), None)
    if own is not None and held is not None:
        return HandedOut(held, Granted(own, Change((), ())))
    full = _full(ledger, fleet, worker.owner)
    if full is not None:
        return full
    waiting = []
    for task in in_order(tasks):
        because = _held_back(ledger, task, fleet)
        if not because:
            found = acquire(ledger, _ask(task, worker), terms)
            if isinstance(found, Granted):
                return HandedOut(task, found)
            because = found.sentence
        waiting.append(Waiting(task.number, because))
    if not waiting:
        text = f"no open issue with the label {fleet.backlog_label} is left to do"
        return Nothing(Why.NOTHING_READY, text)
    first = f"#{waiting[0].task}: {waiting[0].because}"
    text = f"none of {count(len(waiting), 'open task')} is ready; {first}"
    return Nothing(Why.NOTHING_READY, text, tuple(waiting))


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks by priority, then by age."""
    return sorted(tasks, key=lambda each: (priority_of(each.labels), each.created_at, each.number))


def not_done(tasks: Sequence[Task], landed: frozenset[str]) -> list[Task]:
    """Return the tasks that have not landed, each without those it no longer waits for."""
    return [
        replace(task, waits_for=tuple(n for n in task.waits_for if f"#{n}" not in landed))
        for task in tasks
        if task.name not in landed
    ]


def _full(ledger: Ledger, fleet: FleetPolicy, owner: str) -> Nothing | None:
    live = len(ledger.claims)
    if fleet.live_claims_max and live >= fleet.live_claims_max:
        text = f"{count(live, 'claim')} of {fleet.live_claims_max} live (fleet.live_claims_max)"
        return Nothing(Why.FLEET_FULL, text)
    own = sum(claim.owner == owner for claim in ledger.claims.values())
    if fleet.share_per_owner and own >= fleet.share_per_owner:
        text = f"{owner} has {count(own, 'live claim')} of {fleet.share_per_owner}"
        return Nothing(Why.SHARE_SPENT, f"{text} (fleet.share_per_owner): finish one first")
    return None


def _held_back(ledger: Ledger, task: Task, fleet: FleetPolicy) -> str:
    """Return why a task may not be begun, "" where it may."""
    if task.fault:
        return task.fault
    if has_label(task.labels, fleet.question_label):
        return f"it waits for a person (the label {fleet.question_label})"
    allowed = fleet.unattended_labels
    if allowed and not any(has_label(task.labels, each) for each in allowed):
        return f"it has none of the labels that run unattended: {', '.join(allowed)}"
    if task.waits_for:
        return f"it depends on #{task.waits_for[0]}, which is not done"
    holder = ledger.of_task(task.name)
    return f"{holder.owner} is at it" if holder else ""


def _ask(task: Task, worker: Worker) -> Ask:
    return Ask(
        task=task.name,
        patterns=tuple(dict.fromkeys((*task.patterns, *worker.patterns))),
        assumes=task.assumes,
        owner=worker.owner,
        branch=worker.branch or f"task-{task.number}",
        proof=worker.proof,
    )


def _inside(fleet: FleetPolicy, now: float) -> bool:
    opens, closes = fleet.opens_min, fleet.closes_min
    minute = int(now // 60) % DAY_MIN
    if opens == closes:
        return True
    if opens < closes:
        return opens <= minute < closes
    return minute >= opens or minute < closes


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
