"""The adapter against the local forge, over real HTTP, as a user and as an App."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from mergebot.adapters.github.auth import AppCredentials, TokenCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.github.webhook import parse, verify
from mergebot.adapters.redact import Redactor
from mergebot.domain.ids import Actor
from mergebot.domain.news import LabelSet, News, PullMoved
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.forge import CheckReport, CheckState, Permission, PullRequest
from tests.support.forge import ForgeProcess, Work, receiving
from tests.support.waiting import eventually

NUMBERS = count(1)
LABEL = "merge-queue"
APP_PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "statuses": "write",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    with ForgeProcess(tmp_path_factory.mktemp("forge")) as process:
        yield process


@dataclass
class Place:
    """A fresh repository of alice's with a pull request from the branch `fix`, and who looks."""

    served: ForgeProcess
    repo: str
    work: Work
    pull: PullRequest
    forge: GithubForge

    def user(self, login: str) -> Actor:
        self.served.user(login)
        return Actor(int(self.served.call("GET", f"/users/{login}").json()["id"]), login)

    def labels(self) -> list[str]:
        return [
            each["name"] for each in self.served.call("GET", f"/repos/{self.repo}/labels").json()
        ]


def bot(served: ForgeProcess) -> GithubForge:
    credentials = TokenCredentials(served.user("queue-bot"))
    return GithubForge(Server(Redactor(), served.api_url, timeout_s=5), credentials)


@pytest.fixture
def place(served: ForgeProcess, tmp_path: Path) -> Iterator[Place]:
    repo = f"alice/place{next(NUMBERS)}"
    served.repo(repo)
    forge = bot(served)
    served.call("PUT", f"/repos/{repo}/collaborators/queue-bot", {"permission": "push"})
    served.call("POST", f"/repos/{repo}/labels", {"name": LABEL, "color": "ededed"})
    work = served.clone(repo, tmp_path / "work")
    work.start("fix")
    work.commit("Fix it", {"fix.txt": "fixed"})
    work.push("-q", "HEAD:refs/heads/fix")
    made = {"title": "Fix it", "head": "fix", "base": "main", "body": "Why"}
    number = served.call("POST", f"/repos/{repo}/pulls", made, token=served.user("alice")).json()[
        "number"
    ]
    yield Place(served, repo, work, forge.pull(repo, number), forge)
    served.call("DELETE", "/_forge/faults")


def test_a_repository_and_its_pull_request_are_read(place: Place) -> None:
    repository = place.forge.repository(place.repo)
    assert (repository.full_name, repository.default_branch) == (place.repo, "main")
    assert "@" not in repository.clone_url
    pull = place.pull
    assert (pull.head, pull.head_branch, pull.head_repo) == (place.work.head(), "fix", place.repo)
    assert (pull.title, pull.body, pull.base, pull.author.login) == (
        "Fix it",
        "Why",
        "main",
        "alice",
    )
    assert place.forge.open_pulls(place.repo) == [pull]


def test_a_closed_pull_request_is_not_among_the_open_ones(place: Place) -> None:
    path = f"/repos/{place.repo}/pulls/{place.pull.number}"
    place.served.call("PATCH", path, {"state": "closed"})
    assert place.forge.open_pulls(place.repo) == []
    assert place.forge.pull(place.repo, place.pull.number).closed


def test_a_role_is_what_somebody_may_do(place: Place) -> None:
    carol, path = place.user("carol"), f"/repos/{place.repo}/collaborators/carol"
    found = []
    for role in ("pull", "triage", "push", "maintain", "admin"):
        place.served.call("PUT", path, {"permission": role})
        found.append(place.forge.permission(place.repo, carol))
    assert found == [permission for permission in Permission if permission]


def test_a_login_that_belongs_to_somebody_else_may_do_nothing(place: Place) -> None:
    owner = place.pull.author
    assert place.forge.permission(place.repo, owner) is Permission.ADMIN
    assert place.forge.permission(place.repo, Actor(owner.id + 1, "alice")) is Permission.NONE
    assert place.forge.permission(place.repo, Actor(1, "no-such")) is Permission.NONE


def test_labelling_leaves_the_repositorys_labels_as_they_were(place: Place) -> None:
    before, number = place.labels(), place.pull.number
    place.forge.add_label(place.repo, number, LABEL)
    place.forge.add_label(place.repo, number, LABEL)
    assert place.forge.pull(place.repo, number).labels == (LABEL,)
    place.forge.remove_label(place.repo, number, LABEL)
    place.forge.remove_label(place.repo, number, LABEL)
    assert place.forge.pull(place.repo, number).labels == ()
    assert place.labels() == before


def test_who_set_a_label_is_known_from_the_events(place: Place) -> None:
    number = place.pull.number
    for _ in range(2):
        place.forge.add_label(place.repo, number, LABEL)
        place.forge.remove_label(place.repo, number, LABEL)
    first, second = place.forge.label_events(place.repo, number)
    assert first.id < second.id
    assert (first.label, first.actor) == (LABEL, place.forge.me())
    assert abs(first.at - time.time()) < 60


def test_comments_are_written_read_and_edited(place: Place) -> None:
    number = place.pull.number
    made = place.forge.add_comment(place.repo, number, "one\n\ntwo")
    place.forge.edit_comment(place.repo, made, "three")
    place.forge.react(place.repo, made, "+1")
    place.forge.react(place.repo, made, "+1")
    (comment,) = place.forge.comments(place.repo, number)
    assert (comment.id, comment.author, comment.body) == (made, place.forge.me(), "three")
    with pytest.raises(Missing):
        place.forge.edit_comment(place.repo, made + 1000, "x")
    with pytest.raises(Refused, match="too long"):
        place.forge.add_comment(place.repo, number, "x" * 70_000)


def test_a_comment_that_was_kept_before_the_answer_broke_is_there_once(place: Place) -> None:
    place.served.fault("error_after", method="POST", path="/comments$", times=1)
    made = place.forge.add_comment(place.repo, place.pull.number, "once")
    assert [each.id for each in place.forge.comments(place.repo, place.pull.number)] == [made]


def test_a_rate_limit_is_not_slept_through(place: Place) -> None:
    place.served.fault("rate_limit", path="/pulls/", times=1, retry_after=17)
    with pytest.raises(Unavailable) as caught:
        place.forge.pull(place.repo, place.pull.number)
    assert caught.value.retry_after_s == 17


def test_an_approval_of_the_head_counts(place: Place) -> None:
    dave, path = place.user("dave"), f"/repos/{place.repo}/pulls/{place.pull.number}/reviews"
    place.served.call("POST", path, {"event": "APPROVE"}, token=place.served.user(dave.login))
    assert place.forge.approvals(place.repo, place.pull.number) == 0
    place.served.call("PUT", f"/repos/{place.repo}/collaborators/dave", {"permission": "push"})
    assert place.forge.approvals(place.repo, place.pull.number) == 1
    place.work.commit("More", {"more.txt": "more"})
    place.work.push("-q", "HEAD:refs/heads/fix")
    assert place.forge.approvals(place.repo, place.pull.number) == 0


def test_a_branch_moved_just_now_or_nobody_knows_when(place: Place) -> None:
    moved = place.forge.head_pushed_at(place.repo, place.pull)
    assert moved is None or abs(moved - time.time()) < 60


def test_a_callers_token_is_known_or_refused(place: Place) -> None:
    erin = place.user("erin")
    assert place.forge.caller(place.served.user("erin")) == erin
    with pytest.raises(Refused, match="Bad credentials"):
        place.forge.caller("nobody's")


def test_a_status_is_shown_on_the_head(place: Place) -> None:
    report = CheckReport(place.pull.head, CheckState.SUCCESS, "Landed", "", "http://127.0.0.1/7")
    place.forge.report(place.repo, report)
    place.forge.report(place.repo, report)
    shown = place.served.call("GET", f"/repos/{place.repo}/commits/{report.sha}/status").json()
    assert [(each["context"], each["state"]) for each in shown["statuses"]] == [
        ("mergebot", "success")
    ]


def test_a_renamed_repository_is_found_and_not_written_to(place: Place) -> None:
    name = f"renamed{next(NUMBERS)}"
    place.served.call("PATCH", f"/repos/{place.repo}", {"name": name})
    assert place.forge.repository(place.repo).full_name == f"alice/{name}"
    assert [pull.number for pull in place.forge.open_pulls(place.repo)] == [place.pull.number]
    with pytest.raises(Unavailable, match="renamed or moved"):
        place.forge.add_label(place.repo, place.pull.number, LABEL)
    assert place.forge.pull(f"alice/{name}", place.pull.number).labels == ()


def test_a_label_set_on_the_forge_arrives_as_news(place: Place) -> None:
    with receiving() as receiver:
        config = {"url": receiver.url, "content_type": "json", "secret": "hush"}
        hook = {"name": "web", "config": config, "events": ["*"], "active": True}
        place.served.call("POST", f"/repos/{place.repo}/hooks", hook)
        place.forge.add_label(place.repo, place.pull.number, LABEL)
        place.forge.remove_label(place.repo, place.pull.number, LABEL)

        def told() -> list[News]:
            good = [
                each
                for each in list(receiver.got)
                if verify(each.raw, each.headers["x-hub-signature-256"], ["hush"])
            ]
            news = [parse(each.event, each.raw) for each in good]
            return [each for each in news if isinstance(each, LabelSet | PullMoved)]

        eventually(lambda: len(told()) >= 2, within_s=10, what="both events came")
        news = sorted(told(), key=lambda each: isinstance(each, PullMoved))
    assert isinstance(news[0], LabelSet)
    assert (news[0].repo, news[0].label, news[0].actor) == (place.repo, LABEL, place.forge.me())
    assert (news[0].pull.number, news[0].pull.head) == (place.pull.number, place.pull.head)
    assert isinstance(news[1], PullMoved)
    assert news[1].action == "unlabeled"


def test_the_open_issues_with_a_label_come_oldest_first_without_pull_requests(
    place: Place,
) -> None:
    path = f"/repos/{place.repo}/issues"
    body = {"labels": ["agents", "p1"], "body": "Depends-On: #1"}
    made = [
        place.served.call("POST", path, {"title": title, **body}).json()["number"]
        for title in ("first", "second", "done")
    ]
    place.served.call("PATCH", f"{path}/{made[2]}", {"state": "closed"})
    place.served.call("POST", path, {"title": "other"})
    place.forge.add_label(place.repo, place.pull.number, "agents")
    found = place.forge.open_issues(place.repo, "agents")
    assert [each.title for each in found] == ["first", "second"]
    assert (found[0].labels, found[0].body) == (("agents", "p1"), "Depends-On: #1")
    assert 0 < found[0].created_at <= found[1].created_at


@pytest.fixture
def app(place: Place, tmp_path: Path) -> GithubForge:
    asked = {"name": f"Queue {next(NUMBERS)}", "permissions": APP_PERMISSIONS}
    made = place.served.call("POST", "/_forge/apps", asked).json()
    installed = {"account": "alice"}
    place.served.call("POST", f"/_forge/apps/{made['id']}/installations", installed)
    key = tmp_path / "key.pem"
    key.write_text(made["private_key"])
    server = Server(Redactor(), place.served.api_url, timeout_s=5)
    return GithubForge(server, AppCredentials(server, app_id=str(made["id"]), key_file=key))


def test_an_app_knows_itself_and_acts_with_one_token_for_api_and_git(
    place: Place, app: GithubForge
) -> None:
    me = app.me()
    assert me.login.endswith("[bot]")
    made = app.add_comment(place.repo, place.pull.number, "hello")
    assert [each.author for each in app.comments(place.repo, place.pull.number)] == [me]
    assert made
    token = app.git_token(place.repo)
    assert app.git_token(place.repo) == token
    seen = place.served.call("GET", "/installation/repositories", token=token)
    assert seen.status_code == 200


def test_an_app_serves_many_installations_with_a_token_for_each_repository(
    place: Place, app: GithubForge
) -> None:
    served = place.served
    served.repo(other := f"zoe/shared{next(NUMBERS)}")
    number = served.call("GET", "/app", token=jwt_of(app)).json()["id"]
    installed = {"account": "zoe", "repositories": [other.partition("/")[2]]}
    served.call("POST", f"/_forge/apps/{number}/installations", installed)
    assert {place.repo, other} <= set(app.reachable())
    here, there = app.git_token(place.repo), app.git_token(other)
    reached = [
        [each["full_name"] for each in repositories_of(place, token)] for token in (here, there)
    ]
    assert reached == [[place.repo], [other]]


def jwt_of(app: GithubForge) -> str:
    credentials = app._credentials
    assert isinstance(credentials, AppCredentials)
    return credentials._client._credentials.token("")


def repositories_of(place: Place, token: str) -> list[dict[str, str]]:
    found = place.served.call("GET", "/installation/repositories", token=token).json()
    listed: list[dict[str, str]] = found["repositories"]
    return listed


def test_an_app_reports_one_check_run_and_makes_another_only_after_it_ended(
    place: Place, app: GithubForge
) -> None:
    head = place.pull.head
    for state in (CheckState.PENDING, CheckState.PENDING, CheckState.FAILURE, CheckState.NEUTRAL):
        app.report(place.repo, CheckReport(head, state, "title", "summary", "http://127.0.0.1/7"))
    path = f"/repos/{place.repo}/commits/{head}/check-runs?filter=all"
    (run,) = place.served.call("GET", path).json()["check_runs"]
    assert (run["name"], run["status"], run["conclusion"]) == ("mergebot", "completed", "cancelled")
    app.report(place.repo, CheckReport(head, CheckState.PENDING, "again", "summary", ""))
    runs = place.served.call("GET", path).json()["check_runs"]
    assert sorted(each["status"] for each in runs) == ["completed", "in_progress"]


def test_an_app_that_is_not_installed_there_is_told_so(place: Place, app: GithubForge) -> None:
    place.served.repo(other := f"zoe/other{next(NUMBERS)}")
    with pytest.raises(Missing, match="installation"):
        app.add_label(other, 1, LABEL)
