"""Verifying a trunk from a clone and public keys alone: no Redis, no forge, no network."""

from dataclasses import dataclass

from mergebot.domain.ids import Sha
from mergebot.domain.proving import Proof, prove
from mergebot.domain.receipts import Receipt
from mergebot.ports.errors import Refused
from mergebot.ports.history import History
from mergebot.ports.signing import Keys

FETCH = "git fetch origin refs/notes/mergebot:refs/notes/mergebot"


@dataclass(frozen=True, slots=True)
class Question:
    """Which trunk to judge, and since when; `since` is empty for the first receipt's base."""

    trunk: str
    since: str = ""


def verify(history: History, keys: Keys, question: Question) -> Proof:
    """Judge the trunk; raises Refused where the clone does not hold what is needed."""
    tip = history.commit(question.trunk)
    since = history.commit(question.since) if question.since else None
    line = history.line(tip)
    if since is not None and since not in {link.commit for link in line}:
        raise Refused(f"{question.since!r} is not on the first-parent line of {question.trunk!r}.")
    receipts = history.receipts()
    if since is None and not any(link.commit in receipts for link in line):
        raise Refused(f"No commit of {question.trunk!r} has a receipt in this clone: {FETCH}")
    return prove(line, receipts, keys.signed, since=since)


def landed(history: History, question: Question) -> list[tuple[Sha, Receipt]]:
    """Return the receipts on the trunk, newest first; raises Refused."""
    line = history.line(history.commit(question.trunk))
    receipts = history.receipts()
    commits = [link.commit for link in reversed(line) if link.commit in receipts]
    return [(commit, receipts[commit]) for commit in commits]
