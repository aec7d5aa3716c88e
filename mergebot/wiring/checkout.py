"""The early scope check, put together for a directory on this machine."""

from dataclasses import dataclass
from pathlib import Path

from mergebot.adapters.git.checkout import open_checkout
from mergebot.adapters.git.worktrees import branch_of, stray_ledgers, worktrees
from mergebot.adapters.policy_toml import TomlRules
from mergebot.domain.audit import Worktree
from mergebot.domain.scope import Enqueuer, Inside, Outside
from mergebot.services.early_scope import Change, early_scope


def here(directory: Path) -> list[Worktree]:
    """Return what the clone around a directory has that no remote may have; raises Refused."""
    return worktrees(directory)


def strays_of(trees: list[Worktree]) -> list[str]:
    """Return the claims files that lie in worktrees."""
    return stray_ledgers(trees)


def branch_here(directory: Path) -> str:
    """Return the branch that is checked out around a directory, "" where none is."""
    return branch_of(directory)


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
