"""A forge as the bot's account sees it, over a repository kept in memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mergebot.adapters.memory.hosting import Hosting, LabelRecord
from mergebot.domain.branch_rules import BranchRules, Signature
from mergebot.domain.external import CheckSeen
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.pulls import Permission, PullRequest, Repository
from mergebot.ports.errors import Missing, Refused
from mergebot.ports.forge import CheckReport, Comment, Forge, Issue, LabelEvent

_FREE = BranchRules()


@dataclass(slots=True)
class MemoryForge(Forge):
    """The bot's view of one repository; reads of pull requests come from `lag_s` seconds ago."""

    hosting: Hosting
    bot: Actor
    lag_s: float = 0.0

    @contextmanager
    def lagging(self, lag_s: float) -> Iterator[None]:
        """Let what is read of pull requests meanwhile come from `lag_s` seconds ago."""
        self.lag_s = lag_s
        try:
            yield
        finally:
            self.lag_s = 0.0

    def _pulls(self, repo: str) -> Mapping[int, PullRequest]:
        self.repository(repo)
        if not self.lag_s:
            return self.hosting.pulls
        return self.hosting.as_of(self.hosting.remote.clock.now() - self.lag_s)

    def me(self) -> Actor:
        """Return the bot's own account."""
        return self.bot

    def repository(self, name: str) -> Repository:
        """Return the repository called `name`; raises Missing."""
        if name != self.hosting.repository.full_name:
            raise Missing(f"There is no repository {name}")
        return self.hosting.repository

    def pull(self, repo: str, number: int) -> PullRequest:
        """Return one pull request; raises Missing."""
        pulls = self._pulls(repo)
        if number not in pulls:
            raise Missing(f"{repo} has no pull request #{number}")
        return pulls[number]

    def open_pulls(self, repo: str) -> Sequence[PullRequest]:
        """Return every open pull request."""
        return [pull for pull in self._pulls(repo).values() if not pull.closed]

    def issue(self, repo: str, number: int) -> Issue:
        """Return one issue, or a pull request as an issue; raises Missing."""
        pull = self._pulls(repo).get(number)
        if number in self.hosting.tickets:
            return self.hosting.tickets[number]
        if pull is not None:
            return Issue(number, pull.title, closed=pull.closed, pull=True)
        if number not in self.hosting.issues:
            raise Missing(f"{repo} has no issue {number}")
        return Issue(number, f"Issue {number}", closed=self.hosting.issues[number], pull=False)

    def open_issues(self, repo: str, label: str) -> Sequence[Issue]:
        """Return every open issue with a label, oldest first."""
        self.repository(repo)
        tickets = self.hosting.tickets.items()
        return [each for _, each in sorted(tickets) if label in each.labels and not each.closed]

    def permission(self, repo: str, actor: Actor) -> Permission:
        """Return what `actor` may do, by numeric id."""
        self.repository(repo)
        return self.hosting.people.get(actor.id, Permission.NONE)

    def label_events(self, repo: str, number: int) -> Sequence[LabelEvent]:
        """Return who set which label when, oldest first."""
        self.pull(repo, number)
        records: list[LabelRecord] = self.hosting.labels.get(number, [])
        until = self.hosting.remote.clock.now() - self.lag_s
        return [record.event for record in records if record.event.at <= until]

    def label_removals(self, repo: str, number: int) -> Sequence[LabelEvent]:
        """Return who took which label off when, oldest first."""
        self.pull(repo, number)
        until = self.hosting.remote.clock.now() - self.lag_s
        return [each for each in self.hosting.unlabels.get(number, []) if each.at <= until]

    def branch_rules(self, repo: str, branch: str) -> BranchRules:
        """Return the rules that bind the bot on a branch."""
        self.repository(repo)
        return self.hosting.rules if branch == self.hosting.repository.default_branch else _FREE

    def signatures(self, repo: str, number: int) -> Sequence[Signature]:
        """Return nothing: commits here carry no signatures, and no rule asks for them."""
        self.pull(repo, number)
        return ()

    def head_pushed_at(self, repo: str, pull: PullRequest) -> float | None:
        """Return when the PR's head branch last moved."""
        self.repository(repo)
        return self.hosting.pushed_at.get(f"{pull.head_repo}:{pull.head_branch}")

    def approvals(self, repo: str, number: int) -> int:
        """Return how many people who may write approve the PR's present head."""
        self.pull(repo, number)
        who = self.hosting.approvals.get(number, set())
        people = self.hosting.people
        return sum(people.get(each, Permission.NONE) >= Permission.WRITE for each in who)

    def comments(self, repo: str, number: int) -> Sequence[Comment]:
        """Return the PR's comments, oldest first."""
        self.issue(repo, number)
        written = self.hosting.comments.values()
        return [
            Comment(each.id, each.author, each.body, each.edited)
            for each in written
            if each.pr == number
        ]

    def own_comments(self, repo: str, number: int) -> Sequence[Comment]:
        """Return the bot's own comments on a PR, oldest first."""
        return [each for each in self.comments(repo, number) if each.author.id == self.bot.id]

    def add_comment(self, repo: str, number: int, body: str) -> int:
        """Write a comment and return its id."""
        self.issue(repo, number)
        return self.hosting.comment(self.bot, number, body)

    def edit_comment(self, repo: str, comment_id: int, body: str) -> None:
        """Replace a comment's text; raises Missing."""
        written = self.hosting.comments.get(comment_id)
        if written is None:
            raise Missing(f"{repo} has no comment {comment_id}")
        self.hosting.comments[comment_id] = replace(written, body=body, edited=True)

    def react(self, repo: str, comment_id: int, content: str) -> None:
        """Answer a comment with a reaction."""
        if comment_id not in self.hosting.comments:
            raise Missing(f"{repo} has no comment {comment_id}")
        self.hosting.reactions.setdefault(comment_id, set()).add(content)

    def retarget(self, repo: str, number: int, base: str) -> None:
        """Let a PR propose to another branch."""
        self.pull(repo, number)
        self.hosting.change(self.bot, number, "edited", base=base)

    def close(self, repo: str, number: int) -> None:
        """Close a PR; one that is closed or merged stays as it is."""
        if not self.pull(repo, number).closed:
            self.hosting.change(self.bot, number, "closed", closed=True)

    def add_label(self, repo: str, number: int, label: str) -> None:
        """Put a label on a PR or an issue."""
        self.issue(repo, number)
        self.hosting.add_label(self.bot, number, label)

    def remove_label(self, repo: str, number: int, label: str) -> None:
        """Take a label off a PR; one that is not there is no error."""
        self.pull(repo, number)
        self.hosting.remove_label(self.bot, number, label)

    def report(self, repo: str, check: CheckReport) -> None:
        """Show the check `mergebot` on a commit."""
        self.repository(repo)
        self.hosting.checks[check.sha] = check

    def checks(self, repo: str, sha: Sha) -> Sequence[CheckSeen]:
        """Return the checks that others reported on a commit."""
        self.repository(repo)
        return self.hosting.reported.get(sha, ())

    def reachable(self) -> Sequence[str]:
        """Return nothing: the account is no App's."""
        return ()

    def caller(self, token: str) -> Actor:
        """Return whose forge token this is; raises Refused for one that is nobody's."""
        if token not in self.hosting.tokens:
            raise Refused("This forge token is nobody's")
        return self.hosting.tokens[token]
