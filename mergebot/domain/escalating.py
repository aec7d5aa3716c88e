"""When a person is asked: work that failed too often, and two tasks that need the same files.

Each question has a topic of its own and is asked once. What happened before a question about some
work was asked counts towards no further one.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Claim, Ejected, ended_at
from mergebot.domain.ledger import Collision, Ledger, LedgerClaim, Note
from mergebot.domain.reasons import Reason, consequence
from mergebot.domain.tickets import task_key, ticket_of
from mergebot.domain.wording import count

ASKED = "asked"
"""What a line of the ledger's story is called that records a question."""

COLLISIONS_ASKED = 3
"""Refusals of one task by another's claim before it is a person's matter: the first may just wait."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask whom: a comment on `number`, and which task goes back to its backlog meanwhile.

    `task` is the key of a task, "" where none goes back; `ticket` is its issue, 0 for none.
    """

    number: int
    topic: str
    text: str
    task: str = ""
    ticket: int = 0


def work_of(candidate: Candidate, repo: str) -> str:
    """Return what an attempt is counted under: its task, or the pull request where it has none."""
    claim = candidate.claim
    return task_key(claim.task, repo) if isinstance(claim, Claim) else f"pull {candidate.pr}"


def overspent(
    ended: Sequence[Candidate], notes: Iterable[Note], repo: str, *, most: int
) -> tuple[Question, ...]:
    """Return a question for every work that failed `most` times since it was last asked about."""
    asked = asked_at(notes)
    failed: dict[str, list[Candidate]] = {}
    for each in ended:
        work = work_of(each, repo)
        if _failure(each) and ended_at(each.state) > asked.get(work, 0.0):
            failed.setdefault(work, []).append(each)
    return tuple(_about(work, tries, repo) for work, tries in failed.items() if len(tries) >= most)


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


def asked_at(notes: Iterable[Note]) -> Mapping[str, float]:
    """Return when a person was last asked about each work or topic."""
    found: dict[str, float] = {}
    for note in notes:
        if note.what == ASKED:
            found[note.text] = max(note.at, found.get(note.text, 0.0))
    return found


def _failure(candidate: Candidate) -> bool:
    state = candidate.state
    if not isinstance(state, Ejected):
        return False
    return consequence(state.reason).spends == "failure" or state.reason is Reason.BUDGET_SPENT


def _about(work: str, tries: Sequence[Candidate], repo: str) -> Question:
    ticket = ticket_of(work, repo) or 0
    newest = tries[0]
    reasons = Counter(each.state.reason for each in tries if isinstance(each.state, Ejected))
    why = ", ".join(f"{reason} {count(times, 'time')}" for reason, times in reasons.items())
    pulls = ", ".join(f"#{pr}" for pr in sorted({each.pr for each in tries}))
    text = (
        f"This needs a person: {pulls} failed {count(len(tries), 'time')} ({why}). Should it be "
        f"done in another way, be split, or be given up? It is not tried again by itself."
    )
    task = "" if work.startswith("pull ") else work
    topic = _topic(work, newest.pr, newest.attempt)
    return Question(ticket or newest.pr, topic, text, task or work, ticket)


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


def _topic(*words: object) -> str:
    """Return a topic that holds nothing of what people wrote: it stands hidden in the comment."""
    text = "\n".join(map(str, words))
    return f"asked-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"
