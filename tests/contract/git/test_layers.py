import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mergebot.adapters.git import layers
from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.adapters.workspaces import DirectoryWorkspaces
from tests.support.gitrepo import Entry, Executable, Link, Repo

Export = Callable[[str], Path]


@pytest.fixture
def export(
    git: MirrorGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: Repo
) -> Iterator[Export]:
    """Export a branch as a workspace, as if its tree were large."""
    monkeypatch.setattr(layers, "FILES_MIN", 1)
    workspaces = DirectoryWorkspaces(tmp_path / "gates")
    made: list[str] = []

    def run(commit: str) -> Path:
        git.fetch("main", [])
        made.append(workspaces.create(f"run-{len(made)}"))
        git.export(remote.sha(commit), made[-1])
        return Path(made[-1])

    yield run
    for path in made:
        workspaces.destroy(path)
    assert not list(workspaces.root.iterdir())


def ask(where: Path, *arguments: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null"}
    line = ["git", "-c", f"safe.directory={where}", *arguments]
    return subprocess.run(
        line, cwd=where, env=env, capture_output=True, check=True, text=True
    ).stdout


def test_a_tree_laid_over_an_older_one_is_the_commit_itself(remote: Repo, export: Export) -> None:
    before: dict[str, Entry] = {"gone/a": "a\n", "kept": "k\n", "turns": "file\n", "x": "x\n"}
    remote.commit("Before", before)
    export("main")
    after: dict[str, Entry] = {"turns": Link("kept"), "x": Executable("x\n"), "new/deep/b": "b\n"}
    remote.commit("After", after | {"gone/a": None})
    laid = export("main")
    assert ask(laid, "status", "--porcelain") == ""
    assert ask(laid, "rev-parse", "HEAD").strip() == remote.sha("main")
    assert not (laid / "gone").exists()
    assert (laid / "turns").readlink() == Path("kept")
    assert (laid / "x").stat().st_mode & 0o111
    assert (laid / "new/deep/b").read_text() == "b\n"
    ask(laid, "fsck", "--strict")


def test_everything_in_a_workspace_has_one_owner(remote: Repo, export: Export) -> None:
    remote.commit("Before", {"dir/a": "a\n", "b": "b\n"})
    export("main")
    remote.commit("After", {"dir/a": "changed\n", "dir/new/c": "c\n", "link": Link("b")})
    laid = export("main")
    everything = [laid, *laid.rglob("*")]
    assert len({path.lstat().st_uid for path in everything}) == 1


def test_what_one_workspace_writes_is_in_no_other(remote: Repo, export: Export) -> None:
    remote.commit("Start here", {"a": "a\n", "b": "b\n"})
    one = export("main")
    (one / "a").write_text("spoilt\n")
    (one / "b").unlink()
    (one / ".git" / "config").write_text("spoilt\n")
    two = export("main")
    assert (two / "a").read_text() == "a\n"
    assert (two / "b").read_text() == "b\n"
    assert ask(two, "status", "--porcelain") == ""


def test_an_old_kept_tree_is_replaced_and_then_removed(
    remote: Repo, git: MirrorGit, export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.commit("Old", {"a": "old\n"})
    first = export("main")
    monkeypatch.setattr(layers, "RENEW_S", -10.0)
    remote.commit("New", {"a": "new\n"})
    assert (export("main") / "a").read_text() == "new\n"
    assert (first / "a").read_text() == "old\n"
    kept = [each for each in (git.local.path / "layers").glob("*") if each.is_dir()]
    assert all(each.name in {remote.sha("main"), remote.sha("main~1")} for each in kept)
