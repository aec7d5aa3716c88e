from collections.abc import Callable
from pathlib import Path

import pytest
from github import GithubException

from tests.support.forge import ForgeProcess, Receiver, Work

Opened = Callable[[str], int]


def test_a_pull_request_lives_through_the_api(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    repo = forge.client("alice").get_repo(name)
    pull = repo.get_pull(opened("life"))

    pull.edit(title="A better title", body="Why")
    pull.edit(state="closed")
    pull.edit(state="open")

    seen = repo.get_pull(pull.number)
    assert (seen.title, seen.body, seen.state, seen.merged) == (
        "A better title",
        "Why",
        "open",
        False,
    )
    assert seen.head.label == "alice:life"
    assert [f.filename for f in seen.get_files()] == ["life.txt"]
    assert [c.commit.message for c in seen.get_commits()] == ["Add life"]
    assert (seen.commits, seen.additions, seen.changed_files) == (1, 1, 1)


def test_mergeable_is_unknown_at_first_and_then_computed(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    number = opened("fine")
    path = f"/repos/{name}/pulls/{number}"
    answers = [forge.call("GET", path).json() for _ in range(6)]

    assert {a["mergeable"] for a in answers} <= {None, True}
    assert (answers[-1]["mergeable"], answers[-1]["mergeable_state"]) == (True, "clean")
    assert len(answers[-1]["merge_commit_sha"]) == 40


@pytest.mark.parametrize(
    ("head", "repository"),
    [("zoe:change", None), ("zoe:change", "{fork}"), ("zoe:change", "zoe/{fork}")],
)
def test_a_fork_of_another_name_is_found_by_its_owner_or_its_name(
    forge: ForgeProcess, name: str, tmp_path: Path, head: str, repository: str | None
) -> None:
    token, fork = forge.user("zoe"), f"fork-of-{name.partition('/')[2]}"
    forge.call("POST", f"/repos/{name}/forks", {"name": fork}, token=token)
    work = forge.clone(f"zoe/{fork}", tmp_path / "fork")
    sha = work.commit("Change", {"change": "1\n"})
    work.push("-q", "HEAD:change")
    asked = {"title": "Change", "head": head, "base": "main"}
    if repository:
        asked["head_repo"] = repository.format(fork=fork)
    made = forge.call("POST", f"/repos/{name}/pulls", asked, token=token).json()
    assert (made["head"]["sha"], made["head"]["repo"]["full_name"]) == (sha, f"zoe/{fork}")


def test_a_conflict_is_dirty(forge: ForgeProcess, name: str, work: Work) -> None:
    work.start("mine")
    work.commit("Mine", {"README.md": "mine\n"})
    work.push("-q", "HEAD:refs/for/main", "-o", "branch=mine")
    work.start("theirs")
    work.commit("Theirs", {"README.md": "theirs\n"})
    work.push("-q", "HEAD:refs/heads/main")

    answers = [forge.call("GET", f"/repos/{name}/pulls/1").json() for _ in range(6)]

    assert (answers[-1]["mergeable"], answers[-1]["mergeable_state"]) == (False, "dirty")


def test_pushing_to_refs_for_opens_a_labelled_pull_request(
    forge: ForgeProcess, name: str, work: Work
) -> None:
    work.commit("Teach it to sing\n\nLoudly.", {"song": "la"})

    done = work.push(
        "HEAD:refs/for/main",
        "-o",
        "body=Claims nothing",
        "-o",
        "label=merge-queue",
        "-o",
        "label=x",
    )

    pull = forge.client("alice").get_repo(name).get_pull(1)
    assert f"PR #1 opened: {forge.url}/{name}/pull/1" in done.err
    assert (pull.title, pull.body) == ("Teach it to sing", "Claims nothing")
    assert {label.name for label in pull.labels} == {"merge-queue", "x"}
    assert (pull.head.sha, pull.head.ref) == (work.head(), "alice/teach-it-to-sing")


@pytest.mark.parametrize("option", ["pr=1", "branch=song"])
def test_pushing_again_updates_the_open_pull_request(
    forge: ForgeProcess, name: str, work: Work, option: str
) -> None:
    work.commit("Sing", {"song": "la"})
    work.push("HEAD:refs/for/main", "-o", "branch=song")
    work.commit("Sing louder", {"song": "LA"})

    done = work.push("HEAD:refs/for/main", "-o", option)

    pulls = list(forge.client("alice").get_repo(name).get_pulls())
    assert "PR #1 updated" in done.err
    assert [(p.number, p.head.sha) for p in pulls] == [(1, work.head())]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["HEAD:refs/for/nowhere"], "there is no branch 'nowhere'"),
        (["HEAD:refs/for/main", "-o", "colour=red"], "push option 'colour' is not understood"),
        (["HEAD:refs/for/main", "-o", "pr=77"], "there is no open PR #77"),
        (["origin/main:refs/for/main"], "no commits between main and the pushed commit"),
        (["HEAD:refs/pull/1/head"], "deny updating a hidden ref"),
    ],
)
def test_a_wrong_proposal_is_refused_in_words(
    work: Work, arguments: list[str], reason: str
) -> None:
    work.commit("Change", {"file": "text"})

    done = work.push(*arguments, check=0)

    assert done.code != 0
    assert reason in done.err


def test_a_head_that_is_pushed_to_is_followed(
    forge: ForgeProcess, name: str, work: Work, hooked: Receiver, opened: Opened
) -> None:
    number = opened("topic")
    before = work.head()
    after = work.commit("More", {"more": "text"})

    work.push("-q", "HEAD:refs/heads/topic")

    pull = forge.client("alice").get_repo(name).get_pull(number)
    hooked.wait_for("pull_request.synchronize")
    told = hooked.last("pull_request.synchronize")
    assert pull.head.sha == after
    assert (told["before"], told["after"], told["number"]) == (before, after, number)
    assert work.git("ls-remote", "origin", f"refs/pull/{number}/head").out.startswith(after)


def test_an_atomic_push_of_trunk_and_head_merges_the_pull_request(
    forge: ForgeProcess, name: str, work: Work, hooked: Receiver, opened: Opened
) -> None:
    number, head = opened("topic"), work.head()
    work.start("trunk")
    base = work.head()
    work.commit("Trunk moved", {"trunk": "text"})
    work.git("cherry-pick", head)
    landed = work.head()

    work.push(
        "-q", "--atomic", f"--force-with-lease=main:{base}", f"--force-with-lease=topic:{head}",
        f"{landed}:refs/heads/main", f"{landed}:refs/heads/topic", f"{landed}:refs/notes/x",
    )  # fmt: skip

    pull = forge.client("alice").get_repo(name).get_pull(number)
    names = hooked.wait_for("pull_request.closed")
    assert (pull.merged, pull.state, pull.merge_commit_sha) == (True, "closed", landed)
    assert names.index("pull_request.synchronize") < names.index("pull_request.closed")
    assert hooked.last("pull_request.closed")["pull_request"]["merged"] is True


def test_a_stale_lease_moves_nothing(work: Work, opened: Opened) -> None:
    opened("topic")
    head = work.head()

    done = work.push(
        "--atomic", f"--force-with-lease=main:{head}", f"{head}:refs/heads/main",
        f"{head}:refs/heads/other", check=0,
    )  # fmt: skip

    assert done.code != 0
    assert "refs/heads/other" not in work.git("ls-remote", "origin").out


def test_a_switch_makes_it_closed_instead_of_merged(
    forge: ForgeProcess, name: str, work: Work, opened: Opened
) -> None:
    number = opened("topic")
    forge.switch(closed_instead_of_merged=True)

    work.push("-q", "HEAD:refs/heads/main")

    forge.switch(closed_instead_of_merged=None)
    pull = forge.client("alice").get_repo(name).get_pull(number)
    assert (pull.state, pull.merged) == ("closed", False)


def test_deleting_the_head_branch_closes_the_pull_request(
    forge: ForgeProcess, name: str, work: Work, opened: Opened
) -> None:
    number = opened("topic")

    work.push("-q", "--delete", "topic")

    pull = forge.client("alice").get_repo(name).get_pull(number)
    assert (pull.state, pull.merged) == ("closed", False)


def test_a_pull_request_from_a_fork_outlives_the_fork(
    forge: ForgeProcess, name: str, tmp_path: Path
) -> None:
    upstream = forge.client("bob").get_repo(name)
    fork = upstream.create_fork()
    theirs = forge.clone(fork.full_name, tmp_path / "fork")
    theirs.commit("From a fork", {"fork": "text"})
    theirs.push("-q", "HEAD:refs/heads/topic")

    pull = upstream.create_pull(base="main", head="bob:topic", title="From a fork")
    head = upstream.get_pull(pull.number).head
    fork.delete()

    raw = forge.call("GET", f"/repos/{name}/pulls/{pull.number}").json()
    assert head.repo.full_name == fork.full_name
    assert (raw["head"]["repo"], raw["head"]["sha"]) == (None, theirs.head())


def test_drafts_come_and_go(
    forge: ForgeProcess, name: str, hooked: Receiver, opened: Opened
) -> None:
    pull = forge.client("alice").get_repo(name).get_pull(opened("topic"))

    pull.convert_to_draft()
    drafted = forge.client("alice").get_repo(name).get_pull(pull.number).draft
    pull.mark_ready_for_review()

    names = hooked.wait_for("pull_request.ready_for_review")
    assert drafted is True
    assert "pull_request.converted_to_draft" in names


def test_retargeting_says_what_the_base_was(
    forge: ForgeProcess, name: str, work: Work, hooked: Receiver, opened: Opened
) -> None:
    pull = forge.client("alice").get_repo(name).get_pull(opened("topic"))
    work.push("-q", "origin/main:refs/heads/release")

    pull.edit(base="release")

    hooked.wait_for("pull_request.edited")
    assert hooked.last("pull_request.edited")["changes"]["base"]["ref"] == {"from": "main"}
    with pytest.raises(GithubException) as refused:
        pull.edit(base="nowhere")
    assert refused.value.status == 422
    assert (
        refused.value.data["errors"][0]["message"] == "Proposed base branch 'nowhere' was not found"
    )


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_the_merge_button_merges(
    forge: ForgeProcess, name: str, opened: Opened, method: str
) -> None:
    repo = forge.client("alice").get_repo(name)
    pull = repo.get_pull(opened("topic"))

    done = pull.merge(merge_method=method, sha=pull.head.sha)

    assert (done.merged, repo.get_pull(pull.number).merged) == (True, True)
    assert repo.get_branch("main").commit.sha == done.sha
    assert forge.call("GET", f"/repos/{name}/contents/topic.txt").json()["size"] == 5


def test_reviews_are_kept_and_nobody_approves_themselves(
    forge: ForgeProcess, name: str, hooked: Receiver, opened: Opened
) -> None:
    forge.user("carol")
    number = opened("topic")
    pull = forge.client("carol").get_repo(name).get_pull(number)

    pull.create_review(event="APPROVE", body="Good")

    hooked.wait_for("pull_request_review.submitted")
    assert [(r.user.login, r.state) for r in pull.get_reviews()] == [("carol", "APPROVED")]
    with pytest.raises(GithubException) as refused:
        forge.client("alice").get_repo(name).get_pull(number).create_review(event="APPROVE")
    assert refused.value.status == 422
