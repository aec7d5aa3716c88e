import subprocess
from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.ports.errors import Refused, Unavailable
from tests.contract.git.scenes import TOKEN
from tests.support.gitrepo import Entry, Executable, Link, Repo, Submodule


@pytest.fixture
def into(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def exported(remote: Repo, git: MirrorGit, into: Path) -> str:
    git.fetch("main", [])
    git.export(remote.sha("main"), str(into))
    return remote.sha("main")


def inside(into: Path, *arguments: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null"}
    line = ["git", *arguments]
    return subprocess.run(
        line, cwd=into, env=env, capture_output=True, check=True, text=True
    ).stdout


def test_the_tree_is_written_as_it_is(remote: Repo, git: MirrorGit, into: Path) -> None:
    kinds: dict[str, Entry] = {
        "run": Executable("#!/bin/sh\n"),
        "to": Link("/etc/passwd"),
        "sub": Submodule("1" * 40),
    }
    remote.commit("Kinds", kinds | {"na\u00efve \u2603": b"\x00\xff\r\n", "new\nline": "x"})
    exported(remote, git, into)
    assert (into / "run").stat().st_mode & 0o111
    assert not (into / "src" / "b.txt").stat().st_mode & 0o111
    assert (into / "to").readlink() == Path("/etc/passwd")
    assert list((into / "sub").iterdir()) == []
    assert (into / "na\u00efve \u2603").read_bytes() == b"\x00\xff\r\n"
    assert (into / "new\nline").read_text() == "x"


def test_the_repository_beside_it_holds_one_commit_and_is_clean(
    remote: Repo, git: MirrorGit, into: Path
) -> None:
    remote.commit("Second", {"n": "n\n"})
    sha = exported(remote, git, into)
    assert inside(into, "status", "--porcelain") == ""
    assert inside(into, "log", "--format=%H %s") == f"{sha} Second\n"
    assert inside(into, "describe", "--always", "--abbrev=40").strip() == sha
    inside(into, "fsck", "--strict")


def test_nothing_leads_back_from_the_export(
    remote: Repo, git: MirrorGit, into: Path, tmp_path: Path
) -> None:
    exported(remote, git, into)
    own = into / ".git"
    assert inside(into, "remote") == ""
    assert not (own / "objects" / "info" / "alternates").exists()
    assert not (own / "hooks").exists()
    texts = [path.read_bytes() for path in own.rglob("*") if path.is_file()]
    betraying = [str(git.local.path), remote.url, TOKEN]
    assert not [text for text in texts for word in betraying if word.encode() in text]


def test_no_filter_or_hook_runs(remote: Repo, git: MirrorGit, into: Path, tmp_path: Path) -> None:
    lfs = "version https://git-lfs.github.com/spec/v1\n"
    remote.commit("LFS", {".gitattributes": "*.bin filter=lfs diff=lfs\n", "big.bin": lfs})
    exported(remote, git, into)
    assert (into / "big.bin").read_text() == lfs


def test_an_export_goes_into_an_empty_directory_only(
    remote: Repo, git: MirrorGit, into: Path
) -> None:
    (into / "there").write_text("x")
    git.fetch("main", [])
    with pytest.raises(Refused):
        git.export(remote.sha("main"), str(into))
    assert [path.name for path in into.iterdir()] == ["there"]


def test_a_commit_that_is_not_here_is_unavailable(remote: Repo, git: MirrorGit, into: Path) -> None:
    with pytest.raises(Unavailable):
        git.export(remote.sha("main"), str(into))
