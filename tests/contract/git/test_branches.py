from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.adapters.git.objects import raw_commit, read_commits, write_commit
from mergebot.domain.contracts import FileAt, revision
from mergebot.ports.git import EmptyReplay
from tests.contract.git.scenes import ask, mirror_of, proposed
from tests.contract.git.served import serving
from tests.support.gitrepo import Repo


@pytest.fixture
def http(remote: Repo, tmp_path: Path) -> Iterator[MirrorGit]:
    with serving(remote) as server:
        yield mirror_of(server.url, tmp_path / "mirrors")


def test_branches_are_listed_and_their_commits_brought_in_by_id(
    remote: Repo, http: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"}, name="$(evil);x")
    assert http.branches() == {"main": remote.sha("main"), "$(evil);x": head}
    http.fetch("main", [])
    assert not http.has(head)
    http.bring([head])
    assert http.has(head)
    assert http.committed_at(head) > 1_000_000_000


def test_a_branch_named_with_ends_of_lines_hides_no_other(remote: Repo, http: MirrorGit) -> None:
    name = "a\u2028b\x85c\u2029d"
    head = proposed(remote, {"n": "1\n"}, name=name)
    assert http.branches() == {"main": remote.sha("main"), name: head}


def test_a_branch_whose_change_landed_under_another_id_adds_nothing(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Something else", {"o": "o\n"})
    tip = remote.commit("The same change", {"n": "1\n"})
    git.fetch("main", [7])
    assert git.replay(ask(tip, head)) == EmptyReplay(on_base=True)


def test_the_fork_point_is_the_newest_commit_that_both_contain(
    remote: Repo, git: MirrorGit
) -> None:
    start = remote.sha("main")
    head = proposed(remote, {"n": "1\n"})
    tip = remote.commit("Meanwhile", {"o": "o\n"})
    git.fetch("main", [7])
    assert git.fork_point(tip, head) == start


def test_a_contracts_revision_is_that_of_its_files_alone(remote: Repo, git: MirrorGit) -> None:
    start = remote.sha("main")
    tip = remote.commit("Elsewhere", {"o": "o\n"})
    git.fetch("main", [])
    before, after = git.files(start), git.files(tip)
    assert [each.path for each in before] == ["a.txt", "src/b.txt"]
    assert _of(before, "src/b.txt") == _of(after, "src/b.txt")
    assert revision(before) != revision(after)


def _of(files: object, path: str) -> str:
    assert isinstance(files, list)
    return revision(each for each in files if isinstance(each, FileAt) and each.path == path)


def test_unrelated_histories_have_no_fork_point(remote: Repo, git: MirrorGit) -> None:
    git.fetch("main", [])
    tip = remote.sha("main")
    (commit,) = read_commits(git.local, [tip])
    orphan = write_commit(git.local, raw_commit(replace(commit, parents=())))
    another = replace(commit, parents=(), message=b"another start")
    other = write_commit(git.local, raw_commit(another))
    assert git.fork_point(orphan, other) is None
