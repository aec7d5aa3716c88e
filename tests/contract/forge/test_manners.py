from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from github import GithubException

from tests.support.forge import ForgeProcess, Work

Opened = Callable[[str], int]
DOCS = "https://docs.github.com/rest"


@pytest.mark.parametrize(
    ("token", "path", "status", "message"),
    [
        ("wrong", "/user", 401, "Bad credentials"),
        ("", "/user", 401, "Requires authentication"),
        ("", "/repos/alice/nothing", 404, "Not Found"),
        ("", "/nowhere/at/all", 404, "Not Found"),
    ],
)
def test_refusals_are_githubs_byte_for_byte(
    forge: ForgeProcess, token: str, path: str, status: int, message: str
) -> None:
    answer = forge.call("GET", path, token=token)

    assert answer.status_code == status
    assert answer.json() == {"message": message, "documentation_url": DOCS, "status": str(status)}


def test_a_broken_body_is_told(forge: ForgeProcess, name: str) -> None:
    answer = forge.call("POST", f"/repos/{name}/issues", data="{", headers={})

    assert (answer.status_code, answer.json()["message"]) == (400, "Problems parsing JSON")


def test_a_second_pull_request_of_a_branch_is_refused(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    opened("topic")

    with pytest.raises(GithubException) as refused:
        forge.client("alice").get_repo(name).create_pull(base="main", head="topic", title="Again")

    assert refused.value.status == 422
    assert refused.value.data["message"] == "Validation Failed"
    assert refused.value.data["errors"] == [
        {
            "resource": "PullRequest",
            "code": "custom",
            "message": "A pull request already exists for alice:topic.",
        }
    ]


def test_merging_is_refused_in_githubs_words(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    path = f"/repos/{name}/pulls/{opened('topic')}"
    moved = forge.call("PUT", f"{path}/merge", {"sha": "0" * 40})
    forge.client("alice").get_repo(name).get_pull(1).convert_to_draft()
    draft = forge.call("PUT", f"{path}/merge", {})
    forge.call("PATCH", path, {"state": "closed"})
    closed = forge.call("PUT", f"{path}/merge", {})

    assert [(a.status_code, a.json()["message"]) for a in (moved, draft, closed)] == [
        (409, "Head branch was modified. Review and try the merge again."),
        (405, "Pull Request is still a draft"),
        (405, "Pull Request is not mergeable"),
    ]


def test_lists_come_in_pages_with_links(forge: ForgeProcess, name: str) -> None:
    repo = forge.client("alice").get_repo(name)
    for n in range(5):
        repo.create_label(f"label{n}", "00ff00")

    page = forge.call("GET", f"/repos/{name}/labels?per_page=2&page=2")
    single = forge.call("GET", f"/repos/{name}/labels")

    links = {rel: link["url"] for rel, link in page.links.items()}
    base = f"{forge.api_url}/repositories/{repo.id}/labels?per_page=2&page="
    assert links == {rel: f"{base}{n}" for rel, n in
                     {"prev": 1, "next": 3, "last": 3, "first": 1}.items()}  # fmt: skip
    assert "Link" not in single.headers
    following = forge.call("GET", links["next"].removeprefix(forge.api_url)).json()
    assert [x["name"] for x in following] == ["label4"]


def test_what_has_not_changed_is_304_and_free(forge: ForgeProcess, name: str) -> None:
    first = forge.call("GET", f"/repos/{name}", token=forge.user("alice"))
    etag = {"If-None-Match": first.headers["ETag"]}
    second = forge.call("GET", f"/repos/{name}", token=forge.user("alice"), headers=etag)

    assert (second.status_code, second.content) == (304, b"")
    assert second.headers["X-RateLimit-Used"] == first.headers["X-RateLimit-Used"]
    assert first.headers["X-GitHub-Request-Id"] != second.headers["X-GitHub-Request-Id"]


def test_a_quota_that_is_used_up_is_told(forge: ForgeProcess) -> None:
    token = forge.user("greedy")
    forge.call("GET", "/user", token=token)
    forge.switch(rate_limit=1)

    answer = forge.call("GET", "/user", token=token)
    seen = answer.headers["X-RateLimit-Remaining"]
    forge.call("GET", "/rate_limit", token=token)

    forge.switch_off("rate_limit")
    assert (answer.status_code, seen) == (403, "0")
    assert answer.json()["message"].startswith("API rate limit exceeded for user ID")


def test_a_renamed_repository_is_found_under_its_old_name(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    repo = forge.client("alice").get_repo(name)
    new = f"{name.split('/')[1]}-new"
    repo.edit(name=new)

    read = forge.call("GET", f"/repos/{name}/pulls")
    written = forge.call("POST", f"/repos/{name}/issues", {"title": "x"})

    place = f"{forge.api_url}/repositories/{repo.id}"
    assert (read.status_code, read.headers["Location"]) == (301, f"{place}/pulls")
    assert (written.status_code, written.headers["Location"]) == (307, f"{place}/issues")
    assert forge.client("alice").get_repo(name).full_name == f"alice/{new}"
    assert work.git("ls-remote", "origin").code == 0


def test_an_archived_repository_is_read_only(forge: ForgeProcess, name: str, work: Work) -> None:
    forge.client("alice").get_repo(name).edit(archived=True)

    answer = forge.call("POST", f"/repos/{name}/issues", {"title": "x"})
    work.commit("Change", {"file": "text"})
    pushed = work.push("HEAD:refs/heads/x", check=0)

    assert answer.json()["message"] == "Repository was archived so is read-only."
    assert "403" in pushed.err


def test_a_private_repository_hides_from_strangers(forge: ForgeProcess, tmp_path: Path) -> None:
    forge.repo("alice/secret", private=True)
    stranger = forge.user("mallory")

    seen = forge.call("GET", "/repos/alice/secret", token=stranger)
    anonymous = requests.get(
        f"{forge.url}/alice/secret.git/info/refs?service=git-upload-pack", timeout=10
    )
    forge.client("alice").get_repo("alice/secret").add_to_collaborators("mallory", "pull")
    invited = forge.call("GET", "/repos/alice/secret", token=stranger)

    assert (seen.status_code, invited.status_code) == (404, 200)
    assert anonymous.status_code == 401
    assert anonymous.headers["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    ("role", "legacy"),
    [
        ("pull", "read"),
        ("triage", "read"),
        ("push", "write"),
        ("maintain", "write"),
        ("admin", "admin"),
    ],
)
def test_permissions_are_told_by_word_and_by_role(
    forge: ForgeProcess, name: str, role: str, legacy: str
) -> None:
    forge.user("bob")
    repo = forge.client("alice").get_repo(name)
    repo.add_to_collaborators("bob", role)

    told = forge.call("GET", f"/repos/{name}/collaborators/bob/permission").json()

    assert told["permission"] == legacy == repo.get_collaborator_permission("bob")
    assert told["role_name"] == {"pull": "read", "push": "write"}.get(role, role)


def test_readers_may_not_write(
    forge: ForgeProcess, name: str, opened: Opened, tmp_path: Path
) -> None:
    number, reader = opened("topic"), forge.user("reader")
    theirs = forge.clone(name, tmp_path / "theirs", "reader")
    theirs.commit("Mine", {"mine": "text"})

    label = forge.call("POST", f"/repos/{name}/issues/{number}/labels", ["x"], token=reader)
    hooks = forge.call("GET", f"/repos/{name}/hooks", token=reader)
    pushed = theirs.push("HEAD:refs/heads/mine", check=0)

    assert (label.status_code, label.json()["message"]) == (
        403,
        "Must have push access to repository.",
    )
    assert hooks.json()["message"] == "Must have admin rights to Repository."
    assert "403" in pushed.err


def test_protection_is_absent_put_and_enforced(
    forge: ForgeProcess, name: str, work: Work, tmp_path: Path
) -> None:
    path = f"/repos/{name}/branches/main/protection"
    absent = forge.call("GET", path)
    rules = {
        "required_status_checks": {"strict": True, "contexts": ["ci"]},
        "enforce_admins": True,
        "restrictions": None,
        "required_pull_request_reviews": None,
        "required_linear_history": True,
    }
    put = forge.call("PUT", path, rules)
    head = work.commit("Change", {"file": "text"})
    early = work.push("HEAD:refs/heads/main", check=0)
    work.push("-q", "HEAD:refs/heads/topic")
    forge.call("POST", f"/repos/{name}/statuses/{head}", {"state": "success", "context": "ci"})

    assert (absent.status_code, absent.json()["message"]) == (404, "Branch not protected")
    assert put.json()["required_status_checks"]["contexts"] == ["ci"]
    assert 'Required status check "ci" is expected.' in early.err
    assert work.push("HEAD:refs/heads/main").code == 0
    work.git("commit", "-q", "--amend", "-m", "Rewritten")
    assert "Cannot force-push" in work.push("-f", "HEAD:refs/heads/main", check=0).err


def test_only_those_named_may_push_to_a_restricted_branch(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    rules = {"restrictions": {"users": ["somebody"], "teams": [], "apps": []}}
    forge.call("PUT", f"/repos/{name}/branches/main/protection", rules)
    work.commit("Change", {"file": "text"})

    refused = work.push("HEAD:refs/heads/main", check=0)

    assert "You're not authorized to push to this branch" in refused.err
    assert "GH006: Protected branch update failed for refs/heads/main" in refused.err
