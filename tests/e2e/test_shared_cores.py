"""More gate slots than cores: the product finds out by itself, and says so."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import requests

from tests.support.forge import ForgeProcess
from tests.support.product import Stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NAMES = ("computing", "sleeping")
SLOTS = 4
WORK = {
    "computing": "python3 -c 'sum(range(25_000_000))'\n",
    "sleeping": "sleep 1\n",
}


@contextmanager
def two_cores() -> Iterator[int]:
    """Let what is started within run on two cores at most, and say on how many it does."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:2])
    try:
        yield len(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


def test_gates_that_compute_share_cores_and_gates_that_sleep_do_not(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("cores")
    settings = {"MERGEBOT_WORKERS": str(SLOTS)}
    with (
        two_cores() as cores,
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, NAMES, settings) as stack,
    ):
        for name in NAMES:
            project = stack.project(name)
            first = project.propose("Work", {"checks/work": WORK[name]})
            project.becomes(first, "landed", within_s=90)
            more = [project.propose(f"Add {name}", {name: "1\n"}) for name in ("a", "b")]
            project.becomes(more[-1], "landed", within_s=90)
        slots = {name: stack.get(name, "/queue")["planner"]["slots"] for name in NAMES}
        page = requests.get(f"{stack.url}/ada/computing/stats", timeout=30).text
    assert slots["sleeping"] == {"announced": SLOTS, "counted": SLOTS, "why": None}
    # On a busy machine a gate also waits for the disk, so one slot more than cores may count.
    counted = slots["computing"]["counted"]
    assert slots["computing"]["announced"] == SLOTS
    assert 1 <= counted <= cores + 1 < SLOTS
    assert f"{counted} of {SLOTS} slots count" in slots["computing"]["why"]
    assert f"{counted} of {SLOTS} slots count" in page
