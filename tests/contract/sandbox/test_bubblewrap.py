"""What bubblewrap promises beyond the rest: candidate code reaches nothing of its host."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mergebot.adapters.sandbox import seccomp
from mergebot.adapters.sandbox.bounds import MIB
from mergebot.adapters.sandbox.bubblewrap import Bubblewrap
from mergebot.domain.gate import Step
from mergebot.ports.sandbox import Exited, OverLimit, SandboxFailed, StepOrder
from tests.contract.sandbox.steps import Bench, alive
from tests.contract.sandbox.test_promises import worker_code
from tests.support.waiting import eventually

pytestmark = pytest.mark.sandbox


def test_a_step_is_always_at_the_same_place_as_the_same_user(bubblewrap: Bench) -> None:
    bubblewrap.runs("pwd; id -u; whoami; hostname; echo $HOME; stat -c %U .")
    assert bubblewrap.text.split() == ["/workspace", "1000", "gate", "gate", "/tmp/home", "gate"]


def test_the_interpreter_on_the_path_works(bubblewrap: Bench) -> None:
    bubblewrap.runs("python3 -c 'import sys, ssl, ctypes, sqlite3; print(sys.version_info[:2])'")
    assert bubblewrap.text.strip() == str(sys.version_info[:2])


def test_the_network_is_not_there(bubblewrap: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        end = bubblewrap.runs(
            f'python3 -c "{code}"; test $? = 1 && ls /sys /proc/net/dev; grep -vc lo: /proc/net/dev'
        )
    assert "ConnectionRefusedError" in bubblewrap.text
    assert bubblewrap.text.splitlines()[-1] == "2"
    assert isinstance(end, Exited)


def test_the_network_is_there_for_a_gate_that_asks(bubblewrap: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            f"import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('through')"
        )
        bubblewrap.runs(f'python3 -c "{code}"', network=True)
    assert bubblewrap.text == "through\n"


def test_files_and_sockets_of_the_host_are_not_there(bubblewrap: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("planted-secret")
    unix = tmp_path / "redis.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(unix))
        bubblewrap.runs(
            f"ls -A {tmp_path} {Path.home()}/.ssh {Path.home()}/.netrc /run /var/run /home /mnt"
            f" /etc/shadow /var/lib; cat {tmp_path}/secret; grep -rs planted-secret /proc/1/environ /tmp"
            " /etc /run"
        )
    assert "planted-secret" not in bubblewrap.text.replace("/secret", "")
    assert "redis.sock" not in bubblewrap.text
    assert "shadow': No such file" in bubblewrap.text


def test_the_workspace_of_another_gate_is_not_there(bubblewrap: Bench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "file").write_text("x")
    end = bubblewrap.runs("find / -xdev -name other 2>/dev/null | grep -q . ; ls .. | tr '\\n' ' '")
    assert "other" not in bubblewrap.text
    assert isinstance(end, Exited)


def test_only_the_processes_of_the_step_are_there(
    bubblewrap: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_PASSWORD", "planted-secret")
    bubblewrap.runs("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'")
    assert "planted-secret" not in bubblewrap.text
    assert str(bubblewrap.workspace) not in bubblewrap.text
    assert "pytest" not in bubblewrap.text


def test_only_the_workspace_and_scratch_may_be_written(bubblewrap: Bench) -> None:
    bubblewrap.runs(
        "for d in / /usr /etc /dev /run /workspace /tmp /dev/shm $HOME /var/tmp; do"
        " touch $d/probe 2>/dev/null && echo $d; done"
    )
    assert bubblewrap.text.split() == [
        "/workspace", "/tmp", "/dev/shm", "/tmp/home", "/var/tmp"
    ]  # fmt: skip


def test_a_step_whose_supervisor_is_killed_dies_with_it(bubblewrap: Bench, marker: str) -> None:
    code = worker_code(bubblewrap, f"echo ready; sleep {marker}")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        assert worker.stdout.readline() == b"ready\n"
        children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        for pid in (*map(int, children), worker.pid):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not alive(f"sleep {marker}"), within_s=5, what="the step is gone")


@pytest.mark.slow
def test_a_step_that_fills_its_workspace_is_ended(bubblewrap: Bench) -> None:
    assert isinstance(bubblewrap.sandbox, Bubblewrap)
    bounds = replace(bubblewrap.sandbox.bounds, disk_bytes=2 * MIB)
    full = replace(bubblewrap, sandbox=replace(bubblewrap.sandbox, bounds=bounds))
    end = full.runs("head -c 3000000 /dev/urandom > one; sleep 60", timeout_s=40)
    assert isinstance(end, OverLimit)
    assert end.what == "the step left more than 2 MiB in its workspace"


def test_a_step_shares_no_namespace_with_its_host(bubblewrap: Bench) -> None:
    kinds = ("user", "pid", "mnt", "ipc", "uts", "net")
    bubblewrap.runs(f"for kind in {' '.join(kinds)}; do readlink /proc/self/ns/$kind; done")
    inside = bubblewrap.text.split()
    assert len(inside) == len(kinds)
    assert not {str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in kinds} & set(inside)


def test_the_step_holds_no_capability_and_gains_none(bubblewrap: Bench) -> None:
    bubblewrap.runs("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status")
    status = dict(line.split(":\t") for line in bubblewrap.text.splitlines())
    assert {value for name, value in status.items() if name.startswith("Cap")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


CALLS = """
import ctypes, errno, json
libc = ctypes.CDLL(None, use_errno=True)
def tried(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number, *arguments)
    return errno.errorcode.get(ctypes.get_errno(), "done")
print(json.dumps({"keyctl": tried(250, 0, -3, 1), "unshare": tried(272, 0x10000000),
  "bpf": tried(321, 0, 0, 0), "io_uring": tried(425, 1, 0), "clone3": tried(435, 0, 0),
  "userns": tried(56, 0x10000011, 0, 0, 0, 0), "x32": tried(0x40000000 + 39), "getpid": tried(39)}))
"""


def test_calls_into_shared_kernel_state_are_refused(bubblewrap: Bench) -> None:
    (bubblewrap.workspace / "calls.py").write_text(CALLS)
    bubblewrap.runs("python3 calls.py")
    refused = json.loads(bubblewrap.text)
    assert refused.pop("getpid") == "done"
    assert (refused.pop("clone3"), refused.pop("x32")) == ("ENOSYS", "ENOSYS")
    assert set(refused.values()) == {"EPERM"}


def test_the_filter_is_well_formed_for_every_machine_it_knows() -> None:
    for machine in ("x86_64", "aarch64"):
        assert len(seccomp.program(machine)) % 8 == 0
        assert len(seccomp.program(machine)) > 8 * 50
    assert seccomp.program("riscv64") == b""


def test_a_fork_bomb_stays_within_its_bounds(bubblewrap: Bench) -> None:
    bomb = "import os\nn = 0\ntry:\n    while n < 500:\n        if os.fork() == 0:\n"
    bomb += "            import signal; signal.pause()\n        n += 1\nexcept OSError:\n"
    bomb += "    print('stopped at', n, flush=True)\n    os._exit(7)\n"
    (bubblewrap.workspace / "bomb.py").write_text(bomb)
    end = bubblewrap.runs("python3 bomb.py", timeout_s=10)
    assert end == Exited(7, end.seconds)
    assert 20 < int(bubblewrap.text.split()[-1]) < 500
    assert end.seconds < 5


def test_a_fork_bomb_that_ignores_refusals_is_killed_in_time(bubblewrap: Bench) -> None:
    end = bubblewrap.runs(
        "bomb() { bomb | bomb & }; while :; do bomb; done 2>/dev/null", timeout_s=1
    )
    assert end.seconds < 3


def test_scratch_space_is_bounded(bubblewrap: Bench) -> None:
    bubblewrap.runs(
        "for d in /tmp /dev/shm; do for i in 1 2 3 4 5 6; do"
        " head -c 4000000 /dev/zero > $d/$i; done; du -sm $d | cut -f1; done 2>&1"
    )
    sizes = [int(line) for line in bubblewrap.text.splitlines() if line.isdigit()]
    assert len(sizes) == 2
    assert max(sizes) <= 16


def test_nothing_of_one_step_is_in_the_scratch_of_the_next(bubblewrap: Bench) -> None:
    bubblewrap.runs("touch /tmp/left /dev/shm/left /workspace/kept")
    bubblewrap.runs("ls -A /tmp /dev/shm; ls -A")
    assert "left" not in bubblewrap.text
    assert "kept" in bubblewrap.text


@pytest.mark.parametrize("place", ["/etc", "../out", ".", ""])
def test_a_cache_lies_inside_the_workspace(bubblewrap: Bench, place: str) -> None:
    with pytest.raises(SandboxFailed, match="inside the workspace"):
        bubblewrap.runs("true", keep={place: str(bubblewrap.workspace)})


def test_a_host_without_bubblewrap_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mergebot.adapters.sandbox.rootfs.SYSTEM_PATH", "")
    assert "install the package bubblewrap" in Bubblewrap(search=str(tmp_path)).check()


def test_a_bubblewrap_that_cannot_start_runs_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    order = StepOrder(Step("s", "touch ran", 5), str(tmp_path), {}, False, 5)
    with TemporaryDirectory(dir="/var/tmp") as programs:
        fake = Path(programs, "bwrap")
        fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to make a namespace' >&2\nexit 1\n")
        for path in (fake, Path(programs)):
            path.chmod(0o755)
        with pytest.raises(SandboxFailed, match=r"No permissions .*compose\.yaml"):
            Bubblewrap(search=programs).run(order, lambda _: None, lambda: True)
        assert "compose.yaml" in Bubblewrap(search=programs).check()
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_root_gives_each_workspace_to_a_user_of_its_own(bubblewrap: Bench) -> None:
    bubblewrap.runs("touch made")
    owner = (bubblewrap.workspace / "made").stat().st_uid
    assert owner == bubblewrap.workspace.stat().st_uid
    assert (owner != 0) or os.geteuid() != 0
