"""The host of repositories and pull requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from mergebot.domain.branch_rules import BranchRules, Signature
from mergebot.domain.external import CheckSeen
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.pulls import Permission as Permission
from mergebot.domain.pulls import PullRequest as PullRequest
from mergebot.domain.pulls import Repository as Repository
from mergebot.domain.remarks import Remark


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """Somebody set a label, or took it off; `id` rises with time within a repository."""

    id: int
    label: str
    actor: Actor
    at: float


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a PR; `edited` unless it is known to read as its author first wrote it."""

    id: int
    author: Actor
    body: str
    edited: bool


@dataclass(frozen=True, slots=True)
class Issue:
    """A ticket; a pull request is one too, with `pull` true."""

    number: int
    title: str
    closed: bool
    pull: bool
    labels: tuple[str, ...] = ()
    body: str = ""
    created_at: float = 0.0


class CheckState(IntEnum):
    """What the check `mergebot` shows on a commit."""

    PENDING = 0
    SUCCESS = 1
    FAILURE = 2
    NEUTRAL = 3


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The check `mergebot` on one commit; `title` is at most 140 characters, `summary` Markdown.

    `pr` and `attempt` are whose it is, 0 where it is nobody's; `remarks` belong to lines of the
    commit's files.
    """

    sha: Sha
    state: CheckState
    title: str
    summary: str
    url: str
    pr: int = 0
    attempt: int = 0
    remarks: tuple[Remark, ...] = ()


class Forge(Protocol):
    """The host of repositories and pull requests, seen as the bot's account.

    Every method raises Unavailable or Refused. Writes may be repeated with the same arguments; an
    adapter that cannot know whether a write happened reads back before it repeats it.
    """

    def me(self) -> Actor:
        """Return the bot's own account."""
        ...

    def repository(self, name: str) -> Repository:
        """Return the repository called `name` (owner/name); raises Missing."""
        ...

    def pull(self, repo: str, number: int) -> PullRequest:
        """Return one pull request, fresh; raises Missing."""
        ...

    def open_pulls(self, repo: str) -> Sequence[PullRequest]:
        """Return every open pull request."""
        ...

    def issue(self, repo: str, number: int) -> Issue:
        """Return one issue, or a pull request as an issue; raises Missing."""
        ...

    def open_issues(self, repo: str, label: str) -> Sequence[Issue]:
        """Return every open issue with a label, oldest first, pull requests left out."""
        ...

    def permission(self, repo: str, actor: Actor) -> Permission:
        """Return what `actor` may do, checked by numeric id: a reused login gives NONE."""
        ...

    def label_events(self, repo: str, number: int) -> Sequence[LabelEvent]:
        """Return who set which label when, oldest first."""
        ...

    def label_removals(self, repo: str, number: int) -> Sequence[LabelEvent]:
        """Return who took which label off when, oldest first."""
        ...

    def branch_rules(self, repo: str, branch: str) -> BranchRules:
        """Return the forge's own rules that bind the bot on a branch."""
        ...

    def signatures(self, repo: str, number: int) -> Sequence[Signature]:
        """Return what the forge says of the signatures of a PR's commits, oldest first."""
        ...

    def head_pushed_at(self, repo: str, pull: PullRequest) -> float | None:
        """Return when the PR's head branch last moved, or None where the forge cannot say."""
        ...

    def approvals(self, repo: str, number: int) -> int:
        """Return how many people approve the PR's present head and were not dismissed since."""
        ...

    def comments(self, repo: str, number: int) -> Sequence[Comment]:
        """Return the PR's comments, oldest first."""
        ...

    def own_comments(self, repo: str, number: int) -> Sequence[Comment]:
        """Return the bot's own comments on a PR, oldest first, as they were a moment ago.

        It spares requests: whoever must not write twice looks at `comments` afterwards.
        """
        ...

    def add_comment(self, repo: str, number: int, body: str) -> int:
        """Write a comment on a PR or an issue and return its id."""
        ...

    def edit_comment(self, repo: str, comment_id: int, body: str) -> None:
        """Replace a comment's text; raises Missing when it was deleted."""
        ...

    def react(self, repo: str, comment_id: int, content: str) -> None:
        """Answer a comment with a reaction, such as "+1"."""
        ...

    def retarget(self, repo: str, number: int, base: str) -> None:
        """Let a PR propose to another branch."""
        ...

    def close(self, repo: str, number: int) -> None:
        """Close a PR; one that is closed or merged stays as it is."""
        ...

    def add_label(self, repo: str, number: int, label: str) -> None:
        """Put a label on a PR or an issue."""
        ...

    def remove_label(self, repo: str, number: int, label: str) -> None:
        """Take a label off a PR; one that is not there is no error."""
        ...

    def report(self, repo: str, check: CheckReport) -> None:
        """Show the check `mergebot` on a commit: as a check run for an App, else as a status."""
        ...

    def checks(self, repo: str, sha: Sha) -> Sequence[CheckSeen]:
        """Return the checks that others than the bot reported on a commit."""
        ...

    def reachable(self) -> Sequence[str]:
        """Return every repository that the bot's App is installed on; nothing for a token."""
        ...

    def caller(self, token: str) -> Actor:
        """Return whose forge token this is; raises Refused for an invalid one."""
        ...
