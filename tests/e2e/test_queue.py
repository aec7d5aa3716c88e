"""One running stack, and the life of pull requests in it: land, conflict, stray, cancel, halt."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mergebot.domain.status import read_hidden_line
from tests.contract.github.scripted import Reply, Scripted, scripted
from tests.support.forge import ForgeProcess
from tests.support.product import Stack

pytestmark = pytest.mark.slow

NAMES = ("landing", "refusing", "cancelling", "halting", "breaking", "steering")


@pytest.fixture(scope="module")
def receiver() -> Iterator[Scripted]:
    with scripted() as told:
        told.on("POST", "/told", Reply(204))
        yield told


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, receiver: Scripted) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("queue")
    told = {"MERGEBOT_NOTIFY_URL": f"{receiver.url}/told", "MERGEBOT_NOTIFY_SECRET": "between us"}
    with ForgeProcess(root / "forge") as forge, Stack(root / "home", forge, NAMES, told) as running:
        yield running


def test_a_labelled_change_lands_as_the_commit_that_was_gated(stack: Stack) -> None:
    project = stack.project("landing")
    one = project.propose("Add one", {"one.txt": "1\n"})
    two = project.propose("Add two", {"two.txt": "2\n"})

    landed = project.becomes(one, "landed")
    project.becomes(two, "landed")

    assert project.trunk()[:2] == ["Add two", "Add one"]
    assert project.work.git("rev-parse", "origin/main~1").out == landed["merged"]
    assert project.pull(one)["merged"] is True
    stack.until(lambda: project.labels(one) == [], "the label to go")
    project.work.git("fetch", "-q", "origin", "+refs/notes/mergebot:refs/notes/mergebot")
    note = project.work.git("notes", "--ref", "mergebot", "show", landed["merged"])
    receipt = json.loads(note.out)
    assert receipt["pr"] == one
    assert receipt["merged"] == landed["merged"]


def test_what_cannot_land_comes_back_with_evidence_and_blocks_nobody(stack: Stack) -> None:
    project = stack.project("refusing")
    red = project.propose("Break it", {"checks/broken": "echo this is broken; exit 3\n"})
    stray = project.propose("Stray", {"docs/a": "a\n", "src/b": "b\n"}, claims="docs/**")
    first = project.propose("First wins", {"shared.txt": "two\n"})
    second = project.propose("Second clashes", {"shared.txt": "three\n"})

    failed = project.becomes(red, "ejected")
    strayed = project.becomes(stray, "ejected")
    project.becomes(first, "landed")
    clashed = project.becomes(second, "ejected")

    assert (failed["reason"], failed["step"], failed["exit_code"]) == ("gate_failed", "test", 1)
    assert failed["fault"] == "candidate"
    assert "this is broken" in failed["first_error"] + failed["tail"]
    assert (strayed["reason"], strayed["strayed"]) == ("out_of_scope", ["src/b"])
    assert (clashed["reason"], clashed["conflicts"]) == ("conflict", ["shared.txt"])
    stack.until(lambda: len(project.comments(red)) >= 1, "the evidence as a comment")
    told = read_hidden_line(project.comments(red)[-1])
    assert told
    assert told["repro"] == failed["repro"]
    for line in failed["repro"][:2] + clashed["repro"][:2]:
        project.work.git(*line.split(" ")[1:])
    *_, rebase = clashed["repro"]
    assert project.work.git(*rebase.split(" ")[1:], check=0).code == 1
    assert "shared.txt" in project.work.git("diff", "--name-only", "--diff-filter=U").out
    project.work.git("rebase", "--abort")


def test_removing_the_label_cancels_and_ends_the_gate(stack: Stack) -> None:
    project = stack.project("cancelling")
    seconds = "31557"
    slow = project.propose("Sleep", {"checks/slow": f"sleep {seconds}\n"})
    stack.until(lambda: sleeping(seconds), "the gate to run")

    project.unlabel(slow)

    cancelled = project.becomes(slow, "cancelled")
    assert cancelled["reason"] == "label_removed"
    stack.until(lambda: not sleeping(seconds), "the gate to be killed")
    after = project.propose("After", {"after.txt": "a\n"})
    project.becomes(after, "landed")


def sleeping(seconds: str) -> bool:
    """Tell whether any process of this machine sleeps so many seconds."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", seconds.encode()]:
                return True
    return False


def test_a_halted_queue_lands_nothing_until_it_is_resumed(stack: Stack, receiver: Scripted) -> None:
    project = stack.project("halting")
    repo = "--repo=ada/halting"

    assert stack.cli("halt", "we are moving house", repo).code == 0
    waiting = project.propose("Wait for it", {"wait.txt": "w\n"})
    halted = project.halted()
    project.becomes(waiting, "queued")
    assert halted
    assert halted["reason"] == "we are moving house"
    assert project.trunk()[0] == "Start"
    stack.until(lambda: heard(receiver, "ada/halting") == ["halted"], "the halt to be told of")

    assert stack.cli("resume", repo).code == 0
    project.becomes(waiting, "landed")
    assert project.halted() is None
    both = ["halted", "resumed"]
    stack.until(lambda: heard(receiver, "ada/halting") == both, "the resumption to be told of")
    assert receiver.url not in stack.log()


def heard(receiver: Scripted, repo: str) -> list[str]:
    """Return what the receiver of notifications was told of a repository."""
    told = [each.content for each in receiver.seen]
    return [each["event"] for each in told if each["repo"] == repo]


def test_a_red_trunk_halts_until_the_repair_lane_makes_it_green(stack: Stack) -> None:
    project = stack.project("breaking")
    bad = project.push_to_trunk("Push past the queue", {"checks/bad": "exit 1\n"})
    halted = stack.until(project.halted, "the queue to halt")
    assert halted["commit"] == bad
    behind = project.propose("Behind", {"behind.txt": "b\n"})
    project.becomes(behind, "parked")

    project.work.start("repair")
    repair = project.propose("Repair", {"checks/bad": "true\n"}, label="")
    project.label(repair, "merge-queue-fix")

    project.becomes(repair, "landed")
    project.becomes(behind, "landed")
    assert project.halted() is None
    assert project.trunk()[:3] == ["Behind", "Repair", "Push past the queue"]


def test_the_command_line_does_what_labels_do(stack: Stack) -> None:
    project = stack.project("steering")
    repo = "--repo=ada/steering"
    stack.cli("halt", "to look at it in peace", repo)
    number = project.propose("By hand", {"hand.txt": "h\n"}, label="")

    queued = stack.cli("enqueue", str(number), repo, "--json")
    assert queued.code == 0, queued.err
    assert json.loads(queued.out)["pr"] == number
    stack.until(lambda: project.labels(number) == ["merge-queue"], "the label to be set")
    assert f"#{number}" in stack.cli("status", repo).out
    assert "By hand" in stack.cli("show", str(number), repo).out

    assert stack.cli("cancel", str(number), repo).code == 0
    project.becomes(number, "cancelled")
    refused = stack.cli("cancel", str(number), repo)
    assert (refused.code, refused.out) == (1, "")
    assert "not in the queue" in refused.err

    again = stack.cli("retry", str(number), "--reason", "it was a mistake", repo)
    assert again.code == 0, again.err
    stack.cli("resume", repo)
    project.becomes(number, "landed")
