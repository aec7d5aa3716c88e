"""The supervisor on real processes: restarts, order, and nothing left whatever happens to it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import eventually

# Prints a line of JSON for everything that it tells, and the children's pids once they run.
SCRIPT = """
import json, sys
from mergebot.cli.supervisor import CannotStart, Part, Supervisor

def say(text):
    print(json.dumps(text), flush=True)

commands = json.loads(sys.argv[1])
try:
    with Supervisor(say) as supervisor:
        for rank, command in enumerate(commands):
            supervisor.start(Part(f"part {rank}", ["sh", "-c", command], rank, stop_within_s=0.5))
        say("running")
        supervisor.run()
        say("stopping")
except CannotStart as error:
    say(str(error))
    sys.exit(1)
"""

COPIES = """
import json, os, signal, sys
from pathlib import Path
from mergebot.cli.supervisor import CannotStart, Part, Supervisor

def say(text):
    print(json.dumps(text), flush=True)

def work():
    Path(sys.argv[1]).write_text(str(os.getpid()))
    print("nobody reads this")
    while sys.argv[2] == "stays":
        signal.pause()
    return 3

try:
    with Supervisor(say) as supervisor:
        supervisor.start(Part("copy", work, stop_within_s=0.5))
        say("running")
        supervisor.run()
        say("stopping")
except CannotStart as error:
    say(str(error))
    sys.exit(1)
"""


@contextmanager
def supervised(*commands: str, first: str = "") -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
    if first:
        words = ["sh", "-c", f'{first}; exec "$@"', "sh", *words]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def told(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return str(json.loads(process.stdout.readline()))


def pid_in(file: Path) -> int:
    return eventually(lambda: int(file.read_text() or "0"), within_s=10, what=f"{file} is written")


def gone(pid: int) -> Callable[[], bool]:
    def check() -> bool:
        try:
            return b") Z" in Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return True

    return check


def forever(file: Path) -> str:
    file.touch()
    return f"echo $$ > {file}; exec sleep 600"


def test_a_part_that_falls_is_started_again(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with supervised(forever(file)) as process:
        assert told(process) == "running"
        first = pid_in(file)
        os.kill(first, signal.SIGKILL)
        assert told(process) == "part 0 was killed by SIGKILL and is started again in 0.5 s"
        eventually(lambda: pid_in(file) != first, within_s=10, what="another one runs")


def test_a_part_that_refuses_to_start_ends_the_others_too(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with supervised(forever(file), "exit 1") as process:
        assert told(process) == "running"
        assert told(process) == "part 1 could not start."
        assert process.wait(10) == 1
        assert gone(pid_in(file))()


@contextmanager
def copying(file: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    file.touch()
    words = [sys.executable, "-c", COPIES, str(file), how]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert told(process) == "running"
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def test_a_copy_that_falls_is_started_again_and_ends_when_asked(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with copying(file, "stays") as process:
        first = pid_in(file)
        os.kill(first, signal.SIGKILL)
        assert told(process) == "copy was killed by SIGKILL and is started again in 0.5 s"
        eventually(lambda: pid_in(file) != first, within_s=10, what="another one runs")
        process.terminate()
        assert told(process) == "stopping"
        assert process.wait(10) == 0
        assert gone(pid_in(file))()


def test_a_copy_dies_with_whom_it_was_copied_from(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with copying(file, "stays") as process:
        pid = pid_in(file)
        process.kill()
        assert eventually(gone(pid), within_s=10, what="the copy is gone")


def test_a_copy_that_refuses_to_start_is_told(tmp_path: Path) -> None:
    with copying(tmp_path / "pid", "goes") as process:
        assert told(process) == "copy could not start."
        assert process.wait(10) == 1


def test_parts_stop_in_order_and_one_that_will_not_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    loop = "while :; do sleep 0.05; done"
    polite = f"trap 'echo polite >> {log}; exit 0' TERM; {loop}"
    deaf = f"trap 'echo deaf >> {log}' TERM; {loop}"
    with supervised(deaf, polite) as process:
        assert told(process) == "running"
        process.terminate()
        assert told(process) == "stopping"
        assert process.wait(10) == 0
    assert log.read_text().split() == ["deaf", "polite"]


def test_whatever_kills_the_supervisor_takes_its_parts_along(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with supervised(forever(file)) as process:
        assert told(process) == "running"
        pid = pid_in(file)
        process.kill()
        eventually(gone(pid), within_s=10, what="the part is gone")


def test_a_hangup_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with supervised(forever(file), first="trap '' HUP") as process:
        assert told(process) == "running"
        pid = pid_in(file)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert told(process) == "stopping"
        assert process.wait(10) == 0
        assert gone(pid)()
