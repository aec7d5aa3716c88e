"""A repository on a forge: pull requests, labels, comments and people, over its git.

Whoever acts is named; the forge tells of every act as `News`. A pull request is merged once its
base branch contains its head, whoever pushed it there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from mergebot.adapters.memory.remote import Moved, Remote
from mergebot.domain.branch_rules import BranchRules
from mergebot.domain.external import CheckSeen
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.news import (
    CommentMade,
    LabelSet,
    News,
    PullFacts,
    PullMoved,
    ReviewGiven,
    TrunkPushed,
)
from mergebot.domain.pulls import Permission, PullRequest, Repository
from mergebot.ports.forge import CheckReport, Issue, LabelEvent

_BRANCHES = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody opens a pull request with; `head_repo` is "" for a branch of this one."""

    title: str
    branch: str
    base: str = "main"
    body: str = ""
    head_repo: str = ""


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """A label event, and the head at which it was set."""

    event: LabelEvent
    head: Sha


@dataclass(frozen=True, slots=True)
class Written:
    """A comment on a pull request, as it reads now."""

    id: int
    pr: int
    author: Actor
    body: str
    edited: bool = False


@dataclass(slots=True)
class Hosting:
    """One repository as its forge keeps it; `history` has every pull request as of each change.

    `issues` has tickets of which only the number is known, true once they are closed; `tickets`
    those with a title, labels and a description.
    """

    repository: Repository
    remote: Remote
    tell: Callable[[News], None]
    people: dict[int, Permission] = field(default_factory=dict)
    history: list[tuple[float, Mapping[int, PullRequest]]] = field(default_factory=list)
    labels: dict[int, list[LabelRecord]] = field(default_factory=dict)
    unlabels: dict[int, list[LabelEvent]] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)
    comments: dict[int, Written] = field(default_factory=dict)
    approvals: dict[int, set[int]] = field(default_factory=dict)
    pushed_at: dict[str, float] = field(default_factory=dict)
    checks: dict[Sha, CheckReport] = field(default_factory=dict)
    reported: dict[Sha, tuple[CheckSeen, ...]] = field(default_factory=dict)
    reactions: dict[int, set[str]] = field(default_factory=dict)
    tokens: dict[str, Actor] = field(default_factory=dict)
    issues: dict[int, bool] = field(default_factory=dict)
    tickets: dict[int, Issue] = field(default_factory=dict)
    rules: BranchRules = field(default_factory=BranchRules)
    ids: int = 0

    def __post_init__(self) -> None:
        self.remote.told.append(self._moved)

    @property
    def pulls(self) -> Mapping[int, PullRequest]:
        """Return every pull request as it is."""
        return self.history[-1][1] if self.history else {}

    def as_of(self, at: float) -> Mapping[int, PullRequest]:
        """Return every pull request as it was."""
        return next((pulls for then, pulls in reversed(self.history) if then <= at), {})

    def open(self, author: Actor, head: Sha, draft: Draft) -> int:
        """Open a pull request at `head` and return its number."""
        name = self.repository.full_name
        number = max(self.pulls, default=0) + 1
        pull = PullRequest(
            number=number,
            title=draft.title,
            body=draft.body,
            author=author,
            head=head,
            head_branch=draft.branch,
            head_repo=draft.head_repo or name,
            base=draft.base,
            labels=(),
            closed=False,
            merged=False,
            draft=False,
            created_at=self.remote.clock.now(),
            url=f"https://forge.test/{name}/pull/{number}",
        )
        self._put(pull)
        if pull.head_repo == name:
            self.remote.push(author, draft.branch, head)
        self._place(pull)
        self._say(pull, "opened", author)
        return number

    def push(self, by: Actor, number: int, head: Sha) -> None:
        """Push to a pull request's branch, by force where needed."""
        pull = self.pulls[number]
        if pull.head_repo == self.repository.full_name:
            self.remote.push(by, pull.head_branch, head)
        else:
            self._head_moved(pull, head, by)

    def change(self, by: Actor, number: int, action: str, **fields: object) -> None:
        """Change a pull request: close, reopen, retarget, turn into a draft, edit."""
        pull = self.pulls[number]
        if pull.merged:
            return
        pull = replace(pull, **fields)  # type: ignore[arg-type]  # replace checks names itself
        self._put(pull)
        self._say(pull, action, by)

    def add_label(self, by: Actor, number: int, label: str) -> None:
        """Set a label; one that is there already tells nobody."""
        if number in self.tickets:
            ticket = self.tickets[number]
            labels = tuple(dict.fromkeys((*ticket.labels, label)))
            self.tickets[number] = replace(ticket, labels=labels)
            return
        pull = self.pulls[number]
        label = self.spellings.setdefault(label.casefold(), label)
        if label in pull.labels:
            return
        pull = replace(pull, labels=(*pull.labels, label))
        self._put(pull)
        # Forges keep these times in whole seconds.
        event = LabelEvent(self.new_id(), label, by, float(int(self.remote.clock.now())))
        self.labels.setdefault(number, []).append(LabelRecord(event, pull.head))
        facts = PullFacts(
            number=number,
            head=pull.head,
            head_branch=pull.head_branch,
            head_repo_id=self.repository.id,
            base=pull.base,
            author=pull.author,
            draft=pull.draft,
            closed=pull.closed,
        )
        self.tell(LabelSet(self.repository.full_name, self.repository.id, facts, label, by))

    def remove_label(self, by: Actor, number: int, label: str) -> None:
        """Take a label off; one that is not there tells nobody."""
        pull = self.pulls[number]
        label = self.spellings.get(label.casefold(), label)
        if label not in pull.labels:
            return
        pull = replace(pull, labels=tuple(each for each in pull.labels if each != label))
        self._put(pull)
        event = LabelEvent(self.new_id(), label, by, float(int(self.remote.clock.now())))
        self.unlabels.setdefault(number, []).append(event)
        self._say(pull, "unlabeled", by)

    def comment(self, by: Actor, number: int, body: str) -> int:
        """Write a comment and return its id."""
        written = Written(self.new_id(), number, by, body)
        self.comments[written.id] = written
        name, repo_id = self.repository.full_name, self.repository.id
        at = float(int(self.remote.clock.now()))
        self.tell(CommentMade(name, repo_id, number, written.id, body, by, at))
        return written.id

    def approve(self, by: Actor, number: int) -> None:
        """Approve a pull request's present head."""
        self.approvals.setdefault(number, set()).add(by.id)
        name, repo_id = self.repository.full_name, self.repository.id
        self.tell(ReviewGiven(name, repo_id, number, "submitted", by))

    def new_id(self) -> int:
        """Return the next id; ids rise with time."""
        self.ids += 1
        return self.ids

    def _put(self, pull: PullRequest) -> None:
        self.history.append((self.remote.clock.now(), {**self.pulls, pull.number: pull}))

    def _place(self, pull: PullRequest) -> None:
        branch = f"{pull.head_repo}:{pull.head_branch}"
        self.pushed_at[branch] = float(int(self.remote.clock.now()))
        self.remote.move(pull.author, {f"refs/pull/{pull.number:d}/head": pull.head}, {})

    def _say(self, pull: PullRequest, action: str, by: Actor) -> None:
        name, repo_id = self.repository.full_name, self.repository.id
        self.tell(PullMoved(name, repo_id, pull.number, pull.head, action, by))

    def _moved(self, event: Moved) -> None:
        branches = {
            each.ref.removeprefix(_BRANCHES): each.new
            for each in event.refs
            if each.ref.startswith(_BRANCHES)
        }
        name = self.repository.full_name
        for pull in list(self.pulls.values()):
            head = branches.get(pull.head_branch)
            if not pull.closed and pull.head_repo == name and head not in (None, pull.head):
                self._head_moved(pull, Sha(str(head)), event.by)
        for branch, tip in branches.items():
            if tip is not None:
                self._merged_by(branch, tip, event.by)
                self.tell(TrunkPushed(name, self.repository.id, branch, tip, event.by))

    def _head_moved(self, pull: PullRequest, head: Sha, by: Actor) -> None:
        moved = replace(pull, head=head)
        self._put(moved)
        self.approvals.pop(pull.number, None)
        self._place(moved)
        self._say(moved, "synchronize", by)

    def _merged_by(self, branch: str, tip: Sha, by: Actor) -> None:
        contained = self.remote.objects.ancestors(tip)
        for pull in list(self.pulls.values()):
            if pull.base == branch and not pull.closed and pull.head in contained:
                self._put(replace(pull, closed=True, merged=True))
                self._say(pull, "closed", by)
