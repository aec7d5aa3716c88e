"""The cores that a worker may use: by affinity, and by what control groups allow."""

import os
from pathlib import Path

import pytest

from mergebot.adapters import cores
from mergebot.domain.capacity import Cores


def in_groups(
    monkeypatch: pytest.MonkeyPatch, place: Path, own: str, files: dict[str, str]
) -> Cores:
    """Return what a process finds whose control groups are these."""
    for name, text in files.items():
        path = place / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (place / "own").write_text(own)
    monkeypatch.setattr(cores, "CGROUPS", place / "groups")
    monkeypatch.setattr(cores, "OWN", place / "own")
    return cores.usable_cores()


def test_without_a_quota_they_are_those_that_the_process_may_run_on() -> None:
    found = cores.usable_cores()
    assert found.count == len(os.sched_getaffinity(0))
    assert found == cores.usable_cores()
    assert found.key
    assert not set(found.host) & set(" \t\n")


def test_processes_bound_to_other_cores_share_none() -> None:
    before = os.sched_getaffinity(0)
    everywhere = cores.usable_cores()
    os.sched_setaffinity(0, sorted(before)[:1])
    try:
        bound = cores.usable_cores()
    finally:
        os.sched_setaffinity(0, before)
    assert bound.count == 1.0
    assert (bound.key == everywhere.key) is (len(before) == 1)


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/pod/worker\n", {"pod/cpu.max": "50000 100000\n", "pod/worker/cpu.max": "max 100000"}),
        (
            "4:cpu,cpuacct:/pod\n0::/\n",
            {"cpu/pod/cpu.cfs_quota_us": "50000\n", "cpu/pod/cpu.cfs_period_us": "100000\n"},
        ),
    ],
)
def test_the_tightest_quota_of_the_control_groups_above_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: str, files: dict[str, str]
) -> None:
    free = cores.usable_cores()
    found = in_groups(monkeypatch, tmp_path, own, files)
    assert found.count == 0.5
    assert found.key != free.key


@pytest.mark.parametrize("quota", ["", "max 100000", "-1 100000", "many few", "100000 0"])
def test_a_quota_that_says_nothing_bounds_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str
) -> None:
    found = in_groups(monkeypatch, tmp_path, "0::/a\n", {"a/cpu.max": quota})
    assert found.count == len(os.sched_getaffinity(0))
