"""The port `Forge`, kept by GitHub and by everything that speaks its REST API.

What limits the bot is GitHub's quota, so each method asks for the least: list items are read as
they come, nothing is looked up before a write, and the bot's own account is learnt once. Labels
are only ever touched on a pull request, never in the repository.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from mergebot.adapters.github import values
from mergebot.adapters.github.auth import TokenCredentials
from mergebot.adapters.github.checks import CheckRuns, Sparing, Statuses
from mergebot.adapters.github.client import Client, Credentials, Server
from mergebot.adapters.github.errors import Ask, BadToken, Unclear
from mergebot.adapters.github.paths import at
from mergebot.adapters.github.reports import read_reports
from mergebot.adapters.github.rules import read_branch_rules
from mergebot.adapters.github.shelf import Silences
from mergebot.domain.branch_rules import BranchRules, Signature
from mergebot.domain.external import CheckSeen
from mergebot.domain.ids import Actor, Sha
from mergebot.ports.errors import Missing, Refused
from mergebot.ports.forge import (
    CheckReport,
    Comment,
    Issue,
    LabelEvent,
    Permission,
    PullRequest,
    Repository,
)

_TOKEN = re.compile(r"[!-~]{1,4096}")
_VERDICTS = {"APPROVED", "CHANGES_REQUESTED", "DISMISSED"}


class BotCredentials(Credentials, Protocol):
    """Credentials that also say which account they stand for."""

    @property
    def is_app(self) -> bool:
        """Whether they are an App's, which alone may write check runs."""
        ...

    @property
    def app(self) -> Client | None:
        """What asks as the App itself, None for a token."""
        ...

    def account_path(self) -> str:
        """Return where the API describes the bot's own account."""
        ...

    def reachable(self) -> Sequence[str]:
        """Return every repository that an App is installed on."""
        ...


class GithubForge:
    """A forge seen as one account; safe to share between threads."""

    def __init__(self, server: Server, credentials: BotCredentials) -> None:
        self._server = server
        self._credentials = credentials
        self._client = Client(server, credentials)
        reporter = (CheckRuns if credentials.is_app else Statuses)(self._client)
        self._reporter = Sparing(reporter, server.shelf)
        self._silences = Silences(server.shelf)
        self._me: Actor | None = None
        self._doubtful: set[str] = set()

    @property
    def requests(self) -> Mapping[str, int]:
        """How many requests were sent so far, by method."""
        return self._client.requests

    def checks(self, repo: str, sha: Sha) -> Sequence[CheckSeen]:
        """Return the checks and statuses that others reported on a commit."""
        return read_reports(self._client, repo, sha)

    def reachable(self) -> Sequence[str]:
        """Return every repository that the bot's App is installed on; nothing for a token."""
        return self._credentials.reachable()

    def git_token(self, repo: str) -> str:
        """Return what git offers as the password of `x-access-token` for `repo`."""
        return self._credentials.token(repo)

    def me(self) -> Actor:
        """Return the bot's own account; it is asked for once."""
        if self._me is None:
            ask = Ask("GET", self._credentials.account_path(), "learn who the bot is")
            with values.reading(ask):
                self._me = values.actor(self._client.send(ask))
        return self._me

    def caller(self, token: str) -> Actor:
        """Return whose token this is; raises Refused for an invalid one."""
        if not _TOKEN.fullmatch(token):
            raise Refused("that is no token of the forge: it must be one word of plain ASCII.")
        ask = Ask("GET", "/user", "find out whose token this is")
        try:
            with values.reading(ask):
                return values.actor(Client(self._server, TokenCredentials(token)).send(ask))
        except BadToken as error:
            raise Refused(str(error)) from error

    def repository(self, name: str) -> Repository:
        """Return the repository called `name`, under its present name; raises Missing."""
        ask = Ask("GET", at(name), f"read the repository {name}", name)
        with values.reading(ask):
            return values.repository(self._client.send(ask))

    def pull(self, repo: str, number: int) -> PullRequest:
        """Return one pull request, fresh; raises Missing."""
        ask = Ask("GET", at(repo, "pulls", number), f"read {repo}#{number}", repo)
        with values.reading(ask):
            try:
                shown = self._client.send(ask)
            except Missing:
                # The repository itself may be hidden or gone; to whoever asks that is the same.
                raise Missing(f"{repo} has no pull request #{number}") from None
            self._silences.told(repo, number, shown["comments"])
            return values.pull(shown)

    def open_pulls(self, repo: str) -> Sequence[PullRequest]:
        """Return every open pull request by number, a hundred for each request."""
        query = {"state": "open", "sort": "created", "direction": "asc"}
        ask = Ask("GET", at(repo, "pulls"), f"list the pull requests of {repo}", repo, query)
        with values.reading(ask):
            found = {pull.number: pull for pull in map(values.pull, self._client.pages(ask))}
        return [pull for _, pull in sorted(found.items()) if not pull.closed]

    def issue(self, repo: str, number: int) -> Issue:
        """Return one issue, or a pull request as an issue; raises Missing."""
        ask = Ask("GET", at(repo, "issues", number), f"read the issue {repo}#{number}", repo)
        with values.reading(ask):
            return values.issue(self._client.send(ask))

    def open_issues(self, repo: str, label: str) -> Sequence[Issue]:
        """Return every open issue with a label, oldest first, a hundred for each request."""
        query = {"state": "open", "labels": label, "sort": "created", "direction": "asc"}
        ask = Ask("GET", at(repo, "issues"), f"list the issues of {repo}", repo, query)
        with values.reading(ask):
            found = {each.number: each for each in map(values.issue, self._client.pages(ask))}
        return [each for _, each in sorted(found.items()) if not (each.pull or each.closed)]

    def permission(self, repo: str, actor: Actor) -> Permission:
        """Return what `actor` may do, checked by numeric id: a reused login gives NONE."""
        path = at(repo, "collaborators", actor.login, "permission")
        ask = Ask("GET", path, f"read what {actor.login} may do in {repo}", repo)
        try:
            with values.reading(ask):
                return values.permission(self._client.send(ask), actor)
        except Missing:
            return Permission.NONE

    def label_events(self, repo: str, number: int) -> Sequence[LabelEvent]:
        """Return who set which label when, oldest first."""
        return self._label_news(repo, number, "labeled")

    def label_removals(self, repo: str, number: int) -> Sequence[LabelEvent]:
        """Return who took which label off when, oldest first."""
        return self._label_news(repo, number, "unlabeled")

    def _label_news(self, repo: str, number: int, kind: str) -> Sequence[LabelEvent]:
        path = at(repo, "issues", number, "events")
        ask = Ask("GET", path, f"read the events of {repo}#{number}", repo)
        with values.reading(ask):
            events = [each for each in self._client.pages(ask) if each["event"] == kind]
            return sorted(map(values.label_event, events), key=lambda event: event.id)

    def branch_rules(self, repo: str, branch: str) -> BranchRules:
        """Return the rules of rulesets and protection that bind the bot on a branch."""
        me = self.me()
        # An App is admin of nothing; what it may pass by is told by name.
        held = Permission.NONE if self._credentials.is_app else self.permission(repo, me)
        return read_branch_rules((self._client, repo, branch), me, held)

    def signatures(self, repo: str, number: int) -> Sequence[Signature]:
        """Return what the forge says of the signatures of a PR's commits, oldest first."""
        path = at(repo, "pulls", number, "commits")
        ask = Ask("GET", path, f"read the commits of {repo}#{number}", repo)
        with values.reading(ask):
            return [values.signature(each) for each in self._client.pages(ask)]

    def head_pushed_at(self, repo: str, pull: PullRequest) -> float | None:
        """Return when the PR's head branch last moved, from the activity of its repository.

        None where the forge has no such route, or lets us not see it.
        """
        if not pull.head_repo:
            return None
        ref = f"refs/heads/{pull.head_branch}"
        query: dict[str, str | int] = {"ref": ref, "direction": "desc", "per_page": 30}
        aim = f"read when the branch of {repo}#{pull.number} moved"
        # On behalf of `repo`: an App need not be installed on the fork to read what is public.
        ask = Ask("GET", at(pull.head_repo, "activity"), aim, repo, query)
        try:
            with values.reading(ask):
                listed = self._client.send(ask)
                moves = [each for each in listed if each["ref"] == ref]
                bot = self.me().id if len(moves) > values.ROUND_TRIP else 0
                return values.pushed_at(moves, bot=bot)
        except Refused:
            return None

    def approvals(self, repo: str, number: int) -> int:
        """Return how many people approve the PR's present head and were not dismissed since.

        The last verdict of each person counts, and only of those who may write.
        """
        pull = self.pull(repo, number)
        path = at(repo, "pulls", number, "reviews")
        ask = Ask("GET", path, f"read the reviews of {repo}#{number}", repo)
        verdicts: dict[Actor, bool] = {}
        with values.reading(ask):
            for review in self._client.pages(ask):
                if review["state"] in _VERDICTS:
                    approves = review["state"] == "APPROVED" and review["commit_id"] == pull.head
                    verdicts[values.actor(review["user"])] = approves
        approving = [who for who, approves in verdicts.items() if approves and who != pull.author]
        return sum(self.permission(repo, who) >= Permission.WRITE for who in approving)

    def comments(self, repo: str, number: int) -> Sequence[Comment]:
        """Return the PR's comments, oldest first."""
        path = at(repo, "issues", number, "comments")
        ask = Ask("GET", path, f"read the comments on {repo}#{number}", repo)
        with values.reading(ask):
            return sorted(map(values.comment, self._client.pages(ask)), key=lambda each: each.id)

    def own_comments(self, repo: str, number: int) -> Sequence[Comment]:
        """Return the bot's comments on a PR; nothing is asked where there were none a moment ago."""
        if self._silences.holds(repo, number):
            return []
        me = self.me().id
        return [each for each in self.comments(repo, number) if each.author.id == me]

    def add_comment(self, repo: str, number: int, body: str) -> int:
        """Write a comment and return its id.

        After an answer that was lost the comments are read back, now or at the next try: a text
        that the bot wrote there already is never written twice.
        """
        ask = Ask(
            "POST",
            at(repo, "issues", number, "comments"),
            f"comment on {repo}#{number}",
            repo,
            body={"body": body},
        )
        self._silences.broken(repo, number)
        name = hashlib.sha256(f"{repo}#{number}\n{body}".encode("utf-8", "replace")).hexdigest()
        if name in self._doubtful and (found := self._own_comment(repo, number, body)):
            self._doubtful.discard(name)
            return found
        try:
            with values.reading(ask):
                made = values.comment(self._client.send(ask)).id
        except Unclear:
            self._doubtful.add(name)
            found = self._own_comment(repo, number, body)
            if not found:
                raise
            made = found
        self._doubtful.discard(name)
        return made

    def _own_comment(self, repo: str, number: int, body: str) -> int:
        """Return the id of the bot's newest comment with this text, 0 where there is none."""
        me, sought = self.me(), _as_kept(body)
        fitting = [
            each.id
            for each in self.comments(repo, number)
            if each.author.id == me.id and _as_kept(each.body) == sought
        ]
        return max(fitting, default=0)

    def edit_comment(self, repo: str, comment_id: int, body: str) -> None:
        """Replace a comment's text; raises Missing when it was deleted."""
        path = at(repo, "issues", "comments", comment_id)
        self._client.send(
            Ask("PATCH", path, f"edit a comment in {repo}", repo, body={"body": body})
        )

    def react(self, repo: str, comment_id: int, content: str) -> None:
        """Answer a comment with a reaction; a second one of a kind is the first."""
        path = at(repo, "issues", "comments", comment_id, "reactions")
        aim = f"react to a comment in {repo}"
        self._client.send(Ask("POST", path, aim, repo, body={"content": content}))

    def retarget(self, repo: str, number: int, base: str) -> None:
        """Let a PR propose to another branch."""
        aim = f"retarget {repo}#{number} to {base}"
        body = {"base": base}
        self._client.send(Ask("PATCH", at(repo, "pulls", number), aim, repo, body=body))

    def close(self, repo: str, number: int) -> None:
        """Close a PR; one that is closed or merged stays as it is."""
        aim = f"close {repo}#{number}"
        body = {"state": "closed"}
        self._client.send(Ask("PATCH", at(repo, "pulls", number), aim, repo, body=body))

    def add_label(self, repo: str, number: int, label: str) -> None:
        """Put a label on a PR."""
        path = at(repo, "issues", number, "labels")
        aim = f"put the label {label} on {repo}#{number}"
        self._client.send(Ask("POST", path, aim, repo, body={"labels": [label]}))

    def remove_label(self, repo: str, number: int, label: str) -> None:
        """Take a label off a PR; one that is not there is no error."""
        path = at(repo, "issues", number, "labels", label)
        aim = f"take the label {label} off {repo}#{number}"
        try:
            self._client.send(Ask("DELETE", path, aim, repo))
        except Missing:
            return

    def report(self, repo: str, check: CheckReport) -> None:
        """Show the check `mergebot` on a commit: as a check run for an App, else as a status."""
        self._reporter.report(repo, check)


def _as_kept(body: str) -> str:
    """Return a comment's text as it can be compared: the forge may change line ends and edges."""
    return body.replace("\r\n", "\n").strip()
