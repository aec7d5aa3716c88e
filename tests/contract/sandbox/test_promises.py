"""What every sandbox promises: the true end of a step, its output in order, nothing left alive."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread, Timer

import pytest

from mergebot.adapters.sandbox.containers import Containers
from mergebot.domain.capacity import asked
from mergebot.ports.sandbox import Exited, OverLimit, StepEnd, Stopped, TimedOut
from tests.contract.sandbox.steps import Bench, alive
from tests.support.waiting import eventually

DAEMONS = "(setsid sh -c 'trap \"\" HUP TERM; sleep {0}; sleep {0}' >/dev/null 2>&1 &) ; "


def test_it_says_that_it_works_here(bench: Bench) -> None:
    assert bench.sandbox.check(bench.image) == ""


@pytest.mark.parametrize(
    ("command", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("nonesuch", 127)]
)
def test_the_end_of_the_step_is_told_as_shells_do(bench: Bench, command: str, code: int) -> None:
    end = bench.runs(command)
    assert end == Exited(code, end.seconds)


COUNT = "sum(range(12_000_000))"
MANY = f"from multiprocessing import Pool\nwith Pool(4) as pool: pool.map(eval, ['{COUNT}'] * 4)"


def used(bench: Bench, command: str) -> float:
    """Return for how many cores a step has a use."""
    end = bench.runs(command, timeout_s=60)
    assert isinstance(end, Exited)
    assert (end.code, end.use is not None) == (0, True), bench.text
    return asked([end.use], end.seconds, 0.0) or 0.0 if end.use else 0.0


def test_it_is_told_for_how_many_cores_a_step_has_a_use(bench: Bench) -> None:
    if isinstance(bench.sandbox, Containers):
        # The engine's own work would be in it, or none of the step's; nothing is made up.
        end = bench.runs("true")
        assert (isinstance(end, Exited) and end.use) is None
        return
    assert used(bench, "sleep 1.5") < 0.3
    assert 0.6 < used(bench, f"python3 -c '{COUNT}; {COUNT}'") < 1.3
    assert used(bench, f'python3 -c "{MANY}"') > 1.5


def test_output_and_errors_come_in_the_order_they_were_printed(bench: Bench) -> None:
    bench.runs("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
    assert bench.text == "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"


def test_output_comes_while_the_step_still_runs(bench: Bench) -> None:
    end = bench.runs("echo early; sleep 60", wanted=lambda: b"early" not in bench.printed)
    assert isinstance(end, Stopped)
    assert end.seconds < 5


def test_a_slow_question_does_not_delay_output(bench: Bench) -> None:
    answer = Event()

    def output(data: bytes) -> None:
        bench.printed.extend(data)
        if b"3" in data:
            answer.set()

    order = bench.order("for i in 1 2 3; do echo $i; sleep 0.2; done")
    end = bench.sandbox.run(order, output, lambda: answer.wait(20))
    assert end.seconds < 5
    assert bench.text == "1\n2\n3\n"


def test_the_step_works_in_its_workspace_and_may_write_there(bench: Bench) -> None:
    (bench.workspace / "source").write_text("tree\n")
    bench.runs("cat source > made; mkdir -p deep/er; echo two > deep/er/file")
    assert (bench.workspace / "made").read_text() == "tree\n"
    assert (bench.workspace / "deep/er/file").read_text() == "two\n"


def test_the_environment_is_what_was_allowed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERGEBOT_GITHUB_TOKEN", "planted-secret")
    bench.runs("env; cat /proc/self/environ")
    names = {line.partition("=")[0] for line in bench.text.splitlines() if "\0" not in line}
    assert names - {"MERGEBOT_STEP"} == {"CI", "PATH", "HOME", "LANG", "PWD"}
    assert "planted-secret" not in bench.text


def test_no_descriptor_is_inherited(bench: Bench, tmp_path: Path) -> None:
    planted = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(planted, True)
    bench.runs("for fd in /proc/self/fd/*; do basename $fd; done")
    os.close(planted)
    assert set(bench.text.split()) <= {"0", "1", "2", "3"}


def test_home_is_empty_and_thrown_away(bench: Bench) -> None:
    bench.runs("ls -A $HOME; echo left > $HOME/file")
    assert bench.text == ""
    bench.runs("ls -A $HOME")
    assert bench.text == ""


def test_a_daemon_does_not_outlive_a_step_that_ended(bench: Bench, marker: str) -> None:
    end = bench.runs(DAEMONS.format(marker) + "exit 0")
    assert alive(marker) == []
    assert isinstance(end, Exited)


def test_a_step_that_takes_too_long_is_killed_with_its_daemons(bench: Bench, marker: str) -> None:
    end = bench.runs(DAEMONS.format(marker) + f"sleep {marker}", timeout_s=0.5)
    assert alive(marker) == []
    assert isinstance(end, TimedOut)
    # An engine has to be told, and cleans up behind the step.
    assert 0.5 <= end.seconds < (5 if isinstance(bench.sandbox, Containers) else 1.5)


def test_a_step_that_nobody_wants_is_gone_with_its_daemons(bench: Bench, marker: str) -> None:
    unwanted = Event()
    Timer(0.4, unwanted.set).start()
    script = DAEMONS.format(marker) * 3 + f"sleep {marker}"
    end = bench.runs(script, wanted=lambda: not unwanted.is_set())
    assert isinstance(end, Stopped)
    assert alive(marker) == []


def test_a_flood_of_output_is_cut_and_ended(bench: Bench) -> None:
    end = bench.runs("yes")
    assert isinstance(end, OverLimit)
    assert end.what == "the step printed more than 1 MiB"
    assert len(bench.printed) == 1024 * 1024


def test_a_step_that_takes_too_much_memory_is_ended(bench: Bench) -> None:
    end = bench.runs("python3 -c \"x = b'x' * (400 << 20); import signal; signal.pause()\"")
    if isinstance(bench.sandbox, Containers) and isinstance(end, Exited):
        # The kernel was faster, and not every podman tells that it was memory.
        assert (bench.sandbox.name, end.code) == ("podman", 137)
        return
    assert isinstance(end, OverLimit)
    assert "256 MiB of memory" in end.what


def test_a_file_does_not_grow_without_end(bench: Bench) -> None:
    end = bench.runs("head -c 8388608 /dev/zero > big")
    assert end != Exited(0, end.seconds)
    assert (bench.workspace / "big").stat().st_size <= 4 * 1024 * 1024


def test_a_step_does_not_fill_the_host_with_processes(bench: Bench) -> None:
    """It tries 400 and stops by itself: a real bomb would be a danger where this test fails."""
    end = bench.runs("for i in $(seq 400); do sleep 30 & done 2>/dev/null; wait", timeout_s=10)
    assert end.seconds < 5
    assert end != Exited(0, end.seconds)
    assert not isinstance(end, TimedOut)


def test_an_error_of_the_reader_ends_the_step(bench: Bench, marker: str) -> None:
    def fail(_: bytes) -> None:
        raise ValueError("disk of the reader")

    with pytest.raises(ValueError, match="disk of the reader"):
        bench.sandbox.run(bench.order(f"echo x; sleep {marker}"), fail, lambda: True)
    assert alive(marker) == []


def test_a_cache_is_there_and_no_step_changes_it(bench: Bench, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "tool").write_text("from the trunk\n")
    bench.runs("cat pkg/.venv/tool; echo poison > pkg/.venv/tool", keep={"pkg/.venv": str(cache)})
    assert bench.text.startswith("from the trunk\n")
    assert (cache / "tool").read_text() == "from the trunk\n"


def test_a_cache_never_hides_what_the_commit_holds(bench: Bench, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("filled", "linked"):
        (bench.workspace / name).mkdir()
    (bench.workspace / "filled/own").write_text("own\n")
    (bench.workspace / "linked").rmdir()
    (bench.workspace / "linked").symlink_to("/etc")
    bench.runs(
        "cat filled/own; readlink linked", keep=dict.fromkeys(["filled", "linked"], str(cache))
    )
    assert bench.text == "own\n/etc\n"


WORKER = """
import sys
sys.path[:0] = {path!r}
from mergebot.adapters.sandbox.{module} import {name}
from mergebot.domain.gate import Step
from mergebot.ports.sandbox import StepOrder
order = StepOrder(Step("step", {command!r}, 60), {workspace!r}, {{}}, False, 60, image={image!r})
{name}({arguments}).run(order, lambda data: print(data.decode(), flush=True), lambda: True)
"""


def worker_code(bench: Bench, command: str) -> str:
    """Return a program that runs one step, as a worker of its own."""
    kind = type(bench.sandbox)
    named = isinstance(bench.sandbox, Containers)
    return WORKER.format(
        path=sys.path,
        module=kind.__module__.rpartition(".")[2],
        name=kind.__name__,
        command=command,
        workspace=str(bench.workspace),
        arguments=repr(getattr(bench.sandbox, "name", "")) if named else "",
        image=bench.image,
    )


def test_a_worker_that_is_killed_leaves_nothing(bench: Bench, marker: str) -> None:
    code = worker_code(bench, DAEMONS.format(marker) + f"echo ready; sleep {marker}")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        assert worker.stdout.readline() == b"ready\n"
        assert alive(f"sleep {marker}")
        worker.send_signal(signal.SIGKILL)
    eventually(lambda: not alive(marker), within_s=2, what="the step's processes are gone")


def test_steps_that_start_at_once_in_one_workspace_see_each_others_files(bench: Bench) -> None:
    for number in range(200):
        (bench.workspace / f"file-{number}").write_text("content")
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.05; done"
    ends: list[StepEnd] = []

    def one(command: str) -> None:
        ends.append(bench.sandbox.run(bench.order(command), bench.printed.extend, lambda: True))

    threads = [Thread(target=one, args=(meet.format(*pair),)) for pair in ("ab", "ba")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [isinstance(end, Exited) and end.code for end in ends] == [0, 0]
