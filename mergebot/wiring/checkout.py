"""The early scope check, put together for a directory on this machine."""

from dataclasses import dataclass
from pathlib import Path

from mergebot.adapters.git.checkout import open_checkout
from mergebot.adapters.policy_toml import TomlRules
from mergebot.domain.scope import Enqueuer, Inside, Outside
from mergebot.services.early_scope import Change, early_scope


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks: commits by any name, the description, and who will set the label."""

    base: str
    head: str
    body: str
    enqueuer: Enqueuer


def check_checkout(directory: Path, question: Question) -> Inside | Outside:
    """Return whether HEAD stays inside its claim; raises Refused, Unavailable."""
    checkout = open_checkout(directory)
    base, head = checkout.commit(question.base), checkout.commit(question.head)
    fork_point = checkout.fork_point(base, head)
    change = Change(base, fork_point, head, question.body, question.enqueuer)
    return early_scope(checkout.git, TomlRules(), change)
