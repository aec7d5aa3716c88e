"""When a person is asked, and about what.

Spent budgets, files that two tasks need, a queue that halted itself, an order that nobody may decide.
Each question has a topic of its own and is asked once. What happened before a question about some
work was asked counts towards no further one.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Claim, Ejected, PlainEvidence, ended_at
from mergebot.domain.halting import OWN_HALT
from mergebot.domain.health import red_tips, reds_within_a_day
from mergebot.domain.lane import Halt, Snapshot
from mergebot.domain.ledger import ASKED, Collision, Ledger, LedgerClaim, Note
from mergebot.domain.policy import BudgetPolicy, FleetPolicy
from mergebot.domain.reasons import Reason, consequence
from mergebot.domain.tickets import task_key, ticket_of
from mergebot.domain.wording import DAY_S, count, listed

COLLISIONS_ASKED = 3
"""Refusals of one task by another's claim before it is a person's matter: the first may just wait."""

UNSTEADY = "unsteady "


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask whom: a comment on `number`, and what is given back until somebody answers.

    `tasks` are the keys of tasks that go back to their backlog, and the pull requests `cancels`
    leave the queue; `ticket` is the issue that is marked as waiting, 0 for none.
    """

    number: int
    topic: str
    text: str
    tasks: tuple[str, ...] = ()
    ticket: int = 0
    cancels: tuple[int, ...] = ()


def work_of(candidate: Candidate, repo: str) -> str:
    """Return what an attempt is counted under: its task, or the pull request where it has none."""
    claim = candidate.claim
    return task_key(claim.task, repo) if isinstance(claim, Claim) else f"pull {candidate.pr}"


def overspent(
    ended: Sequence[Candidate], notes: Iterable[Note], repo: str, *, budget: BudgetPolicy
) -> tuple[Question, ...]:
    """Return a question for every work that spent its budget since it was last asked about.

    That is `budget.failures` failures over all its pull requests, or one of them that the gates
    could not judge, or kept red, for longer than the rules allow.
    """
    asked = asked_at(notes)
    tried: dict[str, list[Candidate]] = {}
    for each in ended:
        work = work_of(each, repo)
        if ended_at(each.state) > asked.get(work, 0.0):
            tried.setdefault(work, []).append(each)
    questions = []
    for work, tries in tried.items():
        failed = [each for each in tries if _failure(each)]
        spent = next((each for each in tries if _exhausted(each, budget)), None)
        if len(failed) >= budget.failures:
            questions.append(_about_failures(work, failed, repo))
        elif spent is not None and _spent_topic(work, spent) not in asked:
            questions.append(_about_budget(work, spent, repo))
    return tuple(questions)


def contested(
    ledger: Ledger, collisions: Iterable[Collision], notes: Iterable[Note]
) -> tuple[Question, ...]:
    """Return a question for every two tasks of which one met the other's claim again and again."""
    asked, repo = asked_at(notes), ledger.lane.repo
    met = Counter((task_key(each.task, repo), each.holder) for each in collisions)
    questions = []
    for (task, holder), times in met.items():
        claim = ledger.claims.get(holder)
        if claim is None or times < COLLISIONS_ASKED:
            continue
        question = _between(task, claim, times, repo)
        if question is not None and question.topic not in asked:
            questions.append(question)
    return tuple({each.topic: each for each in questions}.values())


def halted(
    snapshot: Snapshot, ended: Sequence[Candidate], notes: Iterable[Note]
) -> tuple[Question, ...]:
    """Return the question about a queue that halted itself: a broken gate, a rewritten trunk.

    It stands on the pull request at the front, else on the one that ended last.
    """
    halt = snapshot.state.halt
    concerned = next(iter((*snapshot.candidates, *ended)), None)
    if halt is None or halt.by != OWN_HALT or concerned is None:
        return ()
    question = Question(concerned.pr, _halt_topic(halt), _halt_text(halt))
    return () if question.topic in asked_at(notes) else (question,)


def unsteady(
    snapshot: Snapshot, ended: Sequence[Candidate], notes: Iterable[Note], *, fleet: FleetPolicy
) -> tuple[Question, ...]:
    """Return the question about a trunk that cannot be kept green, at most one a day."""
    reds = reds_within_a_day(snapshot)
    concerned = next(iter((*snapshot.candidates, *ended)), None)
    if not fleet.backlog_label or not 0 < fleet.reds_max <= reds or concerned is None:
        return ()
    asked = asked_at(notes)
    if any(at > snapshot.now - DAY_S for topic, at in asked.items() if topic.startswith(UNSTEADY)):
        return ()
    text = (
        f"This needs a person: {red_tips(reds)}, and `fleet.reds_max` allows fewer than "
        f"{fleet.reds_max}. No task is handed out until a day holds fewer. What breaks it again "
        "and again: a gate that sees too little, or changes that go past the queue?"
    )
    return (Question(concerned.pr, f"{UNSTEADY}{round(snapshot.now)}", text),)


def undecided(
    circles: Iterable[Sequence[int]], snapshot: Snapshot, ledger: Ledger, notes: Iterable[Note]
) -> tuple[Question, ...]:
    """Return a question for every circle of pull requests of which one is in the queue."""
    asked, questions = asked_at(notes), []
    for circle in circles:
        queued = tuple(number for number in circle if snapshot.candidate(number) is not None)
        topic = _topic("order", *circle)
        if not queued or topic in asked:
            continue
        claims = [claim for claim in map(ledger.of_pull, queued) if claim is not None]
        tasks = tuple(task_key(each.task, ledger.lane.repo) for each in claims)
        text = (
            f"This needs a person: {_numbers(circle)} wait for one another, so none of them can "
            "land first. Which of them goes first, or are they one change? They left the queue."
        )
        questions.append(Question(circle[0], topic, text, tasks, cancels=queued))
    return tuple(questions)


def unordered(circles: Iterable[Sequence[int]], notes: Iterable[Note]) -> tuple[Question, ...]:
    """Return a question for every circle of tasks in the backlog: none of them can be begun."""
    asked, questions = asked_at(notes), []
    for circle in circles:
        text = (
            f"This needs a person: the tasks {_numbers(circle)} depend on one another, so none of "
            "them can be begun. Which of them goes first?"
        )
        questions.append(Question(circle[0], _topic("tasks", *circle), text, ticket=circle[0]))
    return tuple(each for each in questions if each.topic not in asked)


def asked_at(notes: Iterable[Note]) -> Mapping[str, float]:
    """Return when a person was last asked about each work or topic."""
    found: dict[str, float] = {}
    for note in notes:
        if note.what == ASKED:
            found[note.text] = max(note.at, found.get(note.text, 0.0))
    return found


def _failure(candidate: Candidate) -> bool:
    # Not who was refused because the budget is spent: asking again must not ask a person again.
    state = candidate.state
    return isinstance(state, Ejected) and consequence(state.reason).spends == "failure"


def _exhausted(candidate: Candidate, budget: BudgetPolicy) -> bool:
    state, spent = candidate.state, candidate.budget
    over = spent.infra >= budget.infra or spent.runtime_s > budget.runtime_s
    return isinstance(state, Ejected) and state.reason is Reason.BUDGET_SPENT and over


def _about_failures(work: str, tries: Sequence[Candidate], repo: str) -> Question:
    newest = tries[0]
    reasons = Counter(each.state.reason for each in tries if isinstance(each.state, Ejected))
    why = ", ".join(f"{reason} {count(times, 'time')}" for reason, times in reasons.items())
    pulls = ", ".join(f"#{pr}" for pr in sorted({each.pr for each in tries}))
    text = (
        f"This needs a person: {pulls} failed {count(len(tries), 'time')} ({why}). Should it be "
        f"done in another way, be split, or be given up? It is not tried again by itself."
    )
    return _about(work, newest, _topic(work, newest.pr, newest.attempt), text, repo=repo)


def _about_budget(work: str, spent: Candidate, repo: str) -> Question:
    state = spent.state
    plain = isinstance(state, Ejected) and isinstance(state.evidence, PlainEvidence)
    why = state.evidence.text if plain else "its budget is spent"  # type: ignore[union-attr]  # plain
    text = (
        f"This needs a person: #{spent.pr} got no further, because {why}. Is the gate to blame, or "
        "should this be done in another way? It is not tried again by itself."
    )
    return _about(work, spent, _spent_topic(work, spent), text, repo=repo)


def _about(work: str, newest: Candidate, topic: str, text: str, *, repo: str) -> Question:
    ticket = ticket_of(work, repo) or 0
    return Question(ticket or newest.pr, topic, text, (work,), ticket)


def _between(task: str, holder: LedgerClaim, times: int, repo: str) -> Question | None:
    other = task_key(holder.task, repo)
    place = ticket_of(task, repo) or ticket_of(holder.task, repo) or holder.pr
    if not place or other == task:
        return None
    files = ", ".join(holder.every[:5])
    text = (
        f"This needs a person: {task} and {other} need the same files ({files}); the first was "
        f"refused {count(times, 'time')}, {holder.owner} holds them. Which of them goes first, or "
        f"how are they split?"
    )
    return Question(place, _topic("files", *sorted((task, other))), text)


def _halt_text(halt: Halt) -> str:
    return (
        f"This needs a person: the queue halted itself, because {halt.reason}. Nothing lands until "
        f"{halt.ends_when}. What is in the queue keeps its place."
    )


def _halt_topic(halt: Halt) -> str:
    return _topic("halt", round(halt.since, 3), halt.reason)


def _spent_topic(work: str, spent: Candidate) -> str:
    # What was spent grows only by gating: an attempt that was refused at once asks nothing new.
    return _topic("spent", work, spent.pr, spent.budget.infra, round(spent.budget.runtime_s))


def _numbers(circle: Sequence[int]) -> str:
    return listed(tuple(f"#{number}" for number in circle))


def _topic(*words: object) -> str:
    """Return a topic that holds nothing of what people wrote: it stands hidden in the comment."""
    text = "\n".join(map(str, words))
    return f"asked-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
