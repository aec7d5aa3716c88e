from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.ports.errors import Barred
from mergebot.ports.git import PushOutcome
from tests.contract.git.scenes import landable, landing, mirror_of, proposed
from tests.contract.git.served import serving
from tests.support.gitrepo import Repo


@pytest.fixture
def remote(tmp_path: Path) -> Repo:
    repo = Repo.init(tmp_path / "origin.git")
    repo.commit("Start", {"a": "1\n"})
    return repo


@pytest.fixture
def git(remote: Repo, tmp_path: Path) -> MirrorGit:
    return mirror_of(remote.url, tmp_path / "mirrors")


@pytest.mark.parametrize(
    "name",
    [
        "refs/heads/refs/heads/main",
        "refs/tags/refs/heads/main",
        "refs/tags/main",
        "refs/heads/refs/notes/mergebot",
        "refs/heads/heads/main",
        "refs/heads/refs/heads/feature",
    ],
)
def test_a_ref_with_the_name_of_another_stops_no_landing(
    remote: Repo, git: MirrorGit, name: str
) -> None:
    stale = remote.sha("main")
    remote.commit("Second", {"b": "1\n"})
    head = proposed(remote, {"n": "1\n"})
    remote.git("update-ref", name, stale)
    push = landing(landable(git), head)
    assert git.push_landing(push) is PushOutcome.LANDED
    assert remote.git("rev-parse", "refs/heads/main") == push.merged
    assert remote.git("rev-parse", name) == stale


def test_a_branch_called_like_the_trunks_ref_is_not_landed_as_the_trunk(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"}, name="refs/heads/main")
    push = landing(landable(git), head, branch="refs/heads/main")
    outcome = git.push_landing(push)
    assert outcome in {PushOutcome.LANDED, PushOutcome.HEAD_REFUSED}
    landed = remote.git("rev-parse", "refs/heads/main") == push.merged
    assert landed == (outcome is PushOutcome.LANDED)


def test_a_kept_commit_finds_its_place_beside_a_branch_of_that_name(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    merged = landing(landable(git), head).merged
    remote.git("update-ref", "refs/heads/refs/mergebot/candidate/7", head)
    git.keep_candidate(7, merged)
    assert remote.git("rev-parse", "refs/mergebot/candidate/7") == merged


def test_where_git_finds_two_refs_it_is_said_which(tmp_path: Path, remote: Repo) -> None:
    with serving(remote) as server:
        git = mirror_of(server.url, tmp_path / "http")
        head = proposed(remote, {"n": "1\n"})
        push = landing(landable(git), head, branch="")
        remote.git("update-ref", "refs/heads/refs/heads/main", head)
        with pytest.raises(Barred, match=r"called refs/heads/main.*delete it"):
            git.push_landing(push)
    assert remote.log() == ["Start"]


def test_nothing_of_a_push_stays_behind_in_the_mirror(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    git.push_landing(landing(landable(git), head))
    listed = git.local.run("for-each-ref", "refs/mergebot-mirror/outgoing").text
    assert listed == ""
