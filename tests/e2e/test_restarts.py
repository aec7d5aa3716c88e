"""What survives: lost webhooks, a restart, and a killed bot."""

import signal
from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Stack

pytestmark = pytest.mark.slow

NAMES = ("losing", "restarting")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("restarts")
    with ForgeProcess(root / "forge") as forge:
        often = {"MERGEBOT_RECONCILE_SECONDS": "2"}
        with Stack(root / "home", forge, NAMES, often) as running:
            yield running


def test_a_change_lands_although_every_webhook_was_lost(stack: Stack) -> None:
    project = stack.project("losing")
    stack.forge.fault("drop_webhooks")
    try:
        number = project.propose("Unheard", {"unheard.txt": "u\n"}, label="")
        # Forges count in whole seconds, and a head pushed in the label's own is taken for unknown.
        opened = int(time())
        stack.until(lambda: time() > opened + 1, "the next second")
        project.label(number)
        project.becomes(number, "landed")
    finally:
        stack.forge.call("DELETE", "/_forge/faults")
    assert project.trunk()[0] == "Unheard"


def test_a_restart_and_a_kill_find_every_entry_again(stack: Stack) -> None:
    project = stack.project("restarting")
    assert stack.cli("halt", "before the restart", "--repo=ada/restarting").code == 0
    numbers = [project.propose(f"Entry {n}", {f"{n}.txt": "n\n"}) for n in range(3)]
    for number in numbers:
        project.becomes(number, "queued")

    assert stack.stop() == 0
    assert ours(stack.home) == []
    stack.start()
    assert [each["pr"] for each in project.queue()["entries"]] == numbers

    stack.stop(signal.SIGKILL)
    stack.until(lambda: ours(stack.home) == [], "every process to be gone")
    stack.start()
    assert [each["pr"] for each in project.queue()["entries"]] == numbers

    assert stack.cli("resume", "--repo=ada/restarting").code == 0
    for number in numbers:
        project.becomes(number, "landed")
    assert project.trunk()[:3] == ["Entry 2", "Entry 1", "Entry 0"]


def ours(home: Path) -> list[str]:
    """Return the command lines of processes that run with this home."""
    wanted = f"MERGEBOT_HOME={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found
