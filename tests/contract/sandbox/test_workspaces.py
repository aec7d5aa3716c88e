"""Workspaces are new, unguessable, private, and go away whatever a candidate left in them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mergebot.adapters.workspaces import NEW_S, DirectoryWorkspaces
from mergebot.ports.errors import Unavailable
from tests.contract.sandbox.steps import Bench


@pytest.fixture
def workspaces(tmp_path: Path) -> DirectoryWorkspaces:
    return DirectoryWorkspaces(tmp_path / "root")


def age(path: str) -> None:
    before = Path(path).stat().st_mtime - NEW_S - 1
    os.utime(path, (before, before))


def test_a_workspace_is_new_empty_and_private(workspaces: DirectoryWorkspaces) -> None:
    paths = [Path(workspaces.create("run")) for _ in range(3)]
    assert len(set(paths)) == 3
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o700}
    assert all(len(path.name.rpartition(".")[2]) == 32 for path in paths)
    assert [list(path.iterdir()) for path in paths] == [[], [], []]


def test_a_run_cannot_name_a_place_outside(workspaces: DirectoryWorkspaces) -> None:
    assert Path(workspaces.create("../../etc")).parent == workspaces.root


def test_what_is_read_only_or_deep_is_removed(workspaces: DirectoryWorkspaces) -> None:
    path = workspaces.create("run")
    make = "mkdir -p a/b && touch a/b/c && ln -s / root && chmod 0 a/b && chmod 500 a;"
    deep = "for i in $(seq 1200); do mkdir d && cd -P d || exit 1; done"
    subprocess.run(["sh", "-c", make + deep], cwd=path, check=True)
    workspaces.destroy(path)
    workspaces.destroy(path)
    assert list(workspaces.root.iterdir()) == []


@pytest.mark.sandbox
def test_what_another_user_wrote_is_removed(
    workspaces: DirectoryWorkspaces, bubblewrap: Bench
) -> None:
    bubblewrap.workspace = Path(workspaces.create("run"))
    bubblewrap.runs("mkdir -p a/b; touch a/b/c; chmod 000 a/b; chmod 500 a .")
    workspaces.destroy(str(bubblewrap.workspace))
    assert list(workspaces.root.iterdir()) == []


def test_a_sweep_removes_what_dead_workers_left(workspaces: DirectoryWorkspaces) -> None:
    workspaces.sweep([])
    kept, left, new = (workspaces.create(run) for run in ("kept", "left", "new"))
    age(kept)
    age(left)
    workspaces.sweep(["kept"])
    assert sorted(map(str, workspaces.root.iterdir())) == sorted([kept, new])


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a directory on a file system without room, or a read-only stand-in for who is not root."""
    place = tmp_path / "small"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=1m,nr_inodes=8", "tmpfs", str(place)]
    mounted = subprocess.run(["mount", *options], check=False, capture_output=True).returncode == 0
    if mounted:
        for number in range(8):
            try:
                (place / str(number)).touch()
            except OSError:
                break
    yield place if mounted else Path("/proc/self")
    if mounted:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_without_room_is_said_in_one_sentence(full_disk: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        DirectoryWorkspaces(full_disk / "gates").create("run")
    assert "\n" not in str(refused.value)
    assert "full" in str(refused.value) or os.geteuid() != 0
