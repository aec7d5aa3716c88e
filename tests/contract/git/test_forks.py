from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.ids import Sha
from mergebot.ports.errors import Refused
from tests.contract.git.scenes import mirror_of, proposed, repository
from tests.contract.git.served import serving
from tests.support.gitrepo import Repo


def forked(remote: Repo, tmp_path: Path, git: MirrorGit) -> tuple[Repo, Sha, Sha]:
    """Return a fork with a branch, that branch's head, and a commit of the mirror to move it to."""
    head = proposed(remote, {"n": "1\n"})
    tip = remote.commit("Meanwhile", {"o": "o\n"})
    git.fetch("main", [7])
    fork = Repo.init(tmp_path / "fork.git")
    fork.git("fetch", "-q", str(remote.path), "+refs/heads/*:refs/heads/*", "--update-head-ok")
    return fork, head, tip


def test_a_forks_branch_moves_from_its_head_alone(
    remote: Repo, git: MirrorGit, tmp_path: Path
) -> None:
    fork, head, tip = forked(remote, tmp_path, git)
    main = fork.sha("main")
    git.push_fork(repository(fork.url), "feature", old=head, new=tip)
    assert (fork.sha("feature"), fork.sha("main")) == (tip, main)
    with pytest.raises(Refused, match="not where it was"):
        git.push_fork(repository(fork.url), "feature", old=head, new=head)


def test_a_fork_on_another_host_is_never_asked(remote: Repo, tmp_path: Path) -> None:
    with serving(remote) as ours, serving(remote) as theirs:
        git = mirror_of(ours.url, tmp_path / "mirrors")
        tip = git.fetch("main", []).trunk
        assert tip
        for address in (theirs.url, ours.url.replace("http:", "https:"), "file:///etc", remote.url):
            with pytest.raises(Refused, match="another host"):
                git.push_fork(repository(address), "main", old=tip, new=tip)
        assert theirs.requests == []
