from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from tests.contract.git.scenes import mirror_of
from tests.support.gitrepo import Repo


@pytest.fixture
def remote(tmp_path: Path) -> Repo:
    repo = Repo.init(tmp_path / "origin.git")
    repo.commit("Start", {"a.txt": "".join(f"line {n}\n" for n in range(20)), "src/b.txt": "b\n"})
    return repo


@pytest.fixture
def git(remote: Repo, tmp_path: Path) -> MirrorGit:
    return mirror_of(remote.url, tmp_path / "mirrors")
