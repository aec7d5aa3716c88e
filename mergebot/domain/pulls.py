"""Pull requests, repositories and permissions, as the forge describes them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from mergebot.domain.ids import Actor, Sha


class Permission(IntEnum):
    """What somebody may do in a repository, in rising order."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5


TO_HALT = Permission.MAINTAIN
"""What stopping everybody needs, and letting them go on: in a comment, on the page, by the API."""

TO_RENEW = Permission.MAINTAIN
"""What giving a new budget needs, where one is spent: agents that write code can write, too."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the forge describes it; `clone_url` carries no credential."""

    id: int
    full_name: str
    default_branch: str
    clone_url: str
    private: bool
    archived: bool


def same_label(one: str, other: str) -> bool:
    """Tell whether two names are one label: no forge has two that differ in case alone."""
    return one.casefold() == other.casefold()


def has_label(labels: Iterable[str], label: str) -> bool:
    """Tell whether one of the labels is this one."""
    return any(same_label(label, each) for each in labels)


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the forge describes it now.

    `head_repo` is "" when the fork is gone; `merged` and `closed` are both true once merged.
    `lent` says that who may push to this repository may push to the fork's branch too; listings do
    not tell.
    """

    number: int
    title: str
    body: str
    author: Actor
    head: Sha
    head_branch: str
    head_repo: str
    base: str
    labels: tuple[str, ...]
    closed: bool
    merged: bool
    draft: bool
    created_at: float
    url: str
    lent: bool = False

    def has(self, label: str) -> bool:
        """Tell whether the label is set."""
        return has_label(self.labels, label)
