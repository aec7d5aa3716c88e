from collections.abc import Callable

import github
import pytest
from github import GithubException

from tests.support.forge import ForgeProcess, Work

Opened = Callable[[str], int]
UNKNOWN = "0" * 39 + "1"


def test_the_combined_status_counts_the_latest_of_each_context(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    commit = forge.client("alice").get_repo(name).get_commit(work.head())
    empty = commit.get_combined_status().state
    commit.create_status("failure", context="ci")
    red = commit.get_combined_status().state
    commit.create_status("success", context="ci")

    combined = commit.get_combined_status()

    assert (empty, red, combined.state, combined.total_count) == (
        "pending",
        "failure",
        "success",
        1,
    )
    assert [s.state for s in commit.get_statuses()] == ["success", "failure"]


@pytest.mark.parametrize(
    ("sha", "body", "message"),
    [
        (UNKNOWN, {"state": "success"}, f"No commit found for SHA: {UNKNOWN}"),
        ("", {"state": "fine"}, "state is not included in the list"),
        ("", {"state": "success", "context": "x" * 256}, "context is too long"),
        ("", {"state": "success", "description": "x" * 141}, "description is too long"),
    ],
)
def test_a_wrong_status_is_refused(
    forge: ForgeProcess, name: str, work: Work, sha: str, body: dict[str, str], message: str
) -> None:
    answer = forge.call("POST", f"/repos/{name}/statuses/{sha or work.head()}", body)

    assert answer.status_code == 422
    assert message in answer.text


def test_refs_are_created_moved_forward_and_deleted(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    base = work.head()
    tip = work.commit("Next", {"next": "text"})
    work.push("-q", "HEAD:refs/heads/topic")
    repo = forge.client("alice").get_repo(name)
    ref = repo.create_git_ref("refs/heads/new", base)
    ref.edit(tip)

    with pytest.raises(GithubException) as backwards:
        ref.edit(base)
    ref.edit(base, force=True)
    matching = [r.ref for r in repo.get_git_matching_refs("heads/n")]
    ref.delete()

    assert (backwards.value.status, backwards.value.message) == (
        422,
        "Update is not a fast forward",
    )
    assert matching == ["refs/heads/new"]
    assert forge.call("GET", f"/repos/{name}/git/ref/heads/new").status_code == 404


@pytest.mark.parametrize(
    ("request_line", "body", "message"),
    [
        ("POST git/refs", {"ref": "refs/heads/main", "sha": ""}, "Reference already exists"),
        ("POST git/refs", {"ref": "refs/heads/x", "sha": UNKNOWN}, "Object does not exist"),
        ("PATCH git/refs/heads/gone", {"sha": ""}, "Reference does not exist"),
        ("DELETE git/refs/heads/gone", None, "Reference does not exist"),
        ("DELETE git/refs/heads/main", None, "Cannot delete the default branch"),
        ("PATCH git/refs/pull/1/head", {"sha": ""}, "Reference cannot be updated"),
    ],
)
def test_a_wrong_ref_is_refused(
    forge: ForgeProcess, name: str, work: Work, request_line: str, body: dict[str, str] | None,
    message: str,
) -> None:  # fmt: skip
    filled = {k: v or work.head() for k, v in body.items()} if body else None

    method, path = request_line.split()
    answer = forge.call(method, f"/repos/{name}/{path}", filled)

    assert (answer.status_code, answer.json()["message"]) == (422, message)


def test_commits_files_and_comparisons_are_readable(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    base = work.head()
    work.git("mv", "README.md", "docs.md")
    head = work.commit("Move and add", {"dir/new file": "one\ntwo\n"})
    work.push("-q", "HEAD:refs/heads/topic")
    repo = forge.client("alice").get_repo(name)

    compared = repo.compare("main", "topic")
    files = {f.filename: (f.status, f.previous_filename) for f in compared.files}

    assert (compared.status, compared.ahead_by, compared.behind_by) == ("ahead", 1, 0)
    assert files == {"docs.md": ("renamed", "README.md"), "dir/new file": ("added", None)}
    assert compared.merge_base_commit.sha == base
    assert repo.get_commit("topic").sha == head
    assert repo.get_git_commit(head).parents[0].sha == base
    assert {e.path for e in repo.get_git_tree(head, recursive=True).tree} == {
        "dir", "dir/new file", "docs.md",
    }  # fmt: skip


def test_an_empty_repository_says_so(forge: ForgeProcess) -> None:
    full_name = forge.repo("alice/hollow", auto_init=False)["full_name"]

    answer = forge.call("GET", f"/repos/{full_name}/git/ref/heads/main")

    assert (answer.status_code, answer.json()["message"]) == (409, "Git Repository is empty.")


def test_branches_may_be_merged_into_each_other(forge: ForgeProcess, name: str, work: Work) -> None:
    work.start("topic")
    work.commit("Topic", {"topic": "text"})
    work.push("-q", "HEAD:refs/heads/topic")
    repo = forge.client("alice").get_repo(name)

    first = repo.merge("main", "topic", "Merge it")

    assert first
    assert repo.merge("main", "topic") is None
    assert (
        forge.call("POST", f"/repos/{name}/merges", {"base": "x", "head": "y"}).status_code == 404
    )


def test_only_an_app_may_write_check_runs(forge: ForgeProcess, name: str, work: Work) -> None:
    made = forge.call("POST", "/_forge/apps", {"name": "Merge Bot", "permissions": {
        "checks": "write", "contents": "write", "pull_requests": "write", "issues": "write"}}).json()  # fmt: skip
    forge.call("POST", f"/_forge/apps/{made['id']}/installations", {"account": "alice"})
    auth = github.Auth.AppAuth(made["id"], made["private_key"])
    integration = github.GithubIntegration(auth=auth, base_url=forge.api_url)
    installation = integration.get_repo_installation(*name.split("/"))
    as_app = installation.get_github_for_installation().get_repo(name)
    body = {"name": "mergebot", "head_sha": work.head(), "status": "in_progress"}

    by_person = forge.call("POST", f"/repos/{name}/check-runs", body, token=forge.user("alice"))
    run = as_app.create_check_run("mergebot", work.head(), status="in_progress")
    run.edit(status="completed", conclusion="success", output={"title": "t", "summary": "s"})

    seen = list(as_app.get_commit(work.head()).get_check_runs())
    assert by_person.status_code == 403
    assert [(r.name, r.conclusion, r.app.slug) for r in seen] == [
        ("mergebot", "success", "merge-bot")
    ]


def test_an_installation_may_do_only_what_it_was_granted(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    made = forge.call(
        "POST", "/_forge/apps", {"name": "Reader", "permissions": {"contents": "read"}}
    ).json()
    forge.call("POST", f"/_forge/apps/{made['id']}/installations", {"account": "alice"})
    auth = github.Auth.AppAuth(made["id"], made["private_key"])
    integration = github.GithubIntegration(auth=auth, base_url=forge.api_url)
    token = integration.get_access_token(integration.get_installations()[0].id).token

    may_not = forge.call("POST", f"/repos/{name}/issues", {"title": "x"}, token=token)
    listed = forge.call("GET", "/installation/repositories", token=token).json()

    assert (may_not.status_code, may_not.json()["message"]) == (
        403, "Resource not accessible by integration",
    )  # fmt: skip
    assert name in {r["full_name"] for r in listed["repositories"]}


def test_a_wrong_json_web_token_is_refused(forge: ForgeProcess) -> None:
    answer = forge.call("GET", "/app", headers={"Authorization": "Bearer a.b.c"}, token="")

    assert answer.status_code == 401
    assert answer.json()["message"] == "A JSON web token could not be decoded"
