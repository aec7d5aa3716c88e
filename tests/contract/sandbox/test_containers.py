"""What a container promises beyond the rest: candidate code reaches nothing of its host."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mergebot.adapters.sandbox.containers import Containers
from mergebot.adapters.sandbox.engines import engine
from mergebot.ports.sandbox import Exited, SandboxFailed
from tests.contract.sandbox.steps import Bench, alive
from tests.contract.sandbox.test_promises import worker_code
from tests.support.waiting import eventually


def name_of(container: Bench) -> str:
    assert isinstance(container.sandbox, Containers)
    return container.sandbox.name


def told(container: Bench, *words: str) -> str:
    done = subprocess.run([name_of(container), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def refusal(container: Bench, command: str = "touch ran", image: str | None = None) -> str:
    """Return why a step could not be started; nothing of it ran."""
    order = container.order(command)
    order = order if image is None else replace(order, image=image)
    with pytest.raises(SandboxFailed) as refused:
        container.sandbox.run(order, container.printed.extend, lambda: True)
    assert not (container.workspace / "ran").exists()
    return str(refused.value)


def test_a_step_is_always_at_the_same_place_as_a_user_without_rights(container: Bench) -> None:
    container.runs("pwd; hostname; echo $HOME; id -u; stat -c %u .")
    place, host, home, user, owner = container.text.split()
    assert (place, host, home) == ("/workspace", "gate", "/tmp/home")
    assert user == owner != "0"


def test_the_network_is_not_there(container: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        container.runs(f'python3 -c "{code}"; grep -vc lo: /proc/net/dev')
    assert "ConnectionRefusedError" in container.text
    assert container.text.splitlines()[-1] == "2"


def test_files_and_sockets_of_the_host_are_not_there(container: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("planted-secret")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "redis.sock"))
        container.runs(
            f"ls -A {tmp_path} {Path.home()}/.ssh /home /mnt /var/lib; ls -A /run /var/run;"
            f" cat {tmp_path}/secret /etc/shadow; grep -rs planted-secret /proc/1/environ /tmp /etc /run"
        )
    assert "planted-secret" not in container.text.replace("/secret", "")
    assert "redis.sock" not in container.text
    assert "docker.sock" not in container.text
    assert "/etc/shadow: No such file" in container.text


def test_only_the_processes_of_the_step_are_there(container: Bench) -> None:
    container.runs("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'")
    assert str(container.workspace) not in container.text
    assert "pytest" not in container.text


def test_only_the_workspace_and_scratch_may_be_written(container: Bench) -> None:
    container.runs(
        "for d in / /usr /etc /dev /run /sys /proc /workspace /tmp /dev/shm $HOME /var/tmp; do"
        " touch $d/probe 2>/dev/null && echo $d; done; test -w /etc/hosts && echo hosts"
    )
    assert container.text.split() == [
        "/workspace", "/tmp", "/dev/shm", "/tmp/home", "/var/tmp"
    ]  # fmt: skip


def test_the_image_is_read_only_whoever_may_write_in_it(container: Bench) -> None:
    container.runs("cat /proc/mounts")
    (root,) = [line.split() for line in container.text.splitlines() if line.split()[1] == "/"]
    assert "ro" in root[3].split(",")


def test_scratch_has_an_end(container: Bench) -> None:
    container.runs(
        "for n in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > /tmp/$n || echo full; done"
    )
    assert "No space left" in container.text


def test_the_step_holds_no_capability_and_gains_none(container: Bench) -> None:
    container.runs("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status")
    status = dict(line.split(":\t") for line in container.text.splitlines())
    assert {value for name, value in status.items() if name.startswith("Cap")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_no_proxy_of_the_host_is_told(
    container: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proxy = "http://planted-user:planted-secret@proxy.example"
    (tmp_path / "config.json").write_text(
        json.dumps({"proxies": {"default": {"httpProxy": proxy}}})
    )
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    container.runs("env; cat /proc/1/environ /etc/hosts")
    assert "CI=true" in container.text
    assert "planted" not in container.text


def test_what_the_image_wants_to_write_to_is_scratch_too(container: Bench) -> None:
    made = f"localhost/mergebot-tests-volume:{os.getpid()}"
    archive = container.workspace.parent / "image.tar"
    told(container, "save", "--output", str(archive), container.image)
    held = told(container, "create", "--entrypoint", "/bin/sh", container.image)
    told(container, "commit", "--change", "VOLUME /data", held, made)
    told(container, "rm", held)
    before = told(container, "volume", "ls", "--quiet")
    try:
        replace(container, image=made).runs("touch /data/left; grep ' /data ' /proc/mounts")
        replaced = replace(container, image=made)
        replaced.runs("ls /data; grep ' /data ' /proc/mounts")
        assert replaced.text.startswith("tmpfs /data tmpfs")
        assert "left" not in replaced.text
        assert told(container, "volume", "ls", "--quiet") == before
    finally:
        told(container, "rmi", made)


def test_an_image_by_its_identity_is_that_image(container: Bench) -> None:
    shown = json.loads(told(container, "image", "inspect", container.image))
    whole = "sha256:" + shown[0]["Id"].removeprefix("sha256:")
    pinned = replace(container, image=whole)
    assert pinned.runs("true") == Exited(0, 0) or pinned.text == ""


def test_an_image_that_is_not_here_runs_nothing_and_is_not_fetched(container: Bench) -> None:
    image = "registry.example.org/acme/gate:1"
    told_why = refusal(container, image=image)
    assert f"the image {image} is not on this host" in told_why
    assert f"`{name_of(container)} pull {image}`" in told_why
    assert container.sandbox.check(image) == told_why


def test_an_image_without_a_shell_runs_nothing(container: Bench, tmp_path: Path) -> None:
    bare = f"localhost/mergebot-tests-bare:{os.getpid()}"
    (tmp_path / "file").write_text("alone\n")
    archive = tmp_path / "bare.tar"
    subprocess.run(["tar", "-cf", archive, "-C", tmp_path, "file"], check=True)
    told(container, "import", str(archive), bare)
    try:
        told_why = refusal(container, image=bare)
        assert "cannot start a container here" in told_why
        assert "/bin/sh" in told_why
    finally:
        told(container, "rmi", bare)


def test_an_engine_that_is_not_here_runs_nothing(container: Bench) -> None:
    elsewhere = replace(container, sandbox=Containers("nonesuch"))
    assert "nonesuch is not installed on this host" in refusal(elsewhere)
    assert "nonesuch is not installed on this host" in elsewhere.sandbox.check()


def test_rules_without_an_image_run_nothing(container: Bench) -> None:
    assert "needs an image" in refusal(container, image="")
    assert "needs an image" in container.sandbox.check("")
    assert container.sandbox.check() == ""


def test_a_place_that_would_read_as_an_option_is_refused(container: Bench, tmp_path: Path) -> None:
    order = replace(container.order("touch ran"), keep={"a:/etc": str(tmp_path)})
    with pytest.raises(SandboxFailed, match="cannot be mounted"):
        container.sandbox.run(order, container.printed.extend, lambda: True)
    assert not (container.workspace / "ran").exists()


def test_nothing_is_left_in_the_engine(container: Bench) -> None:
    container.runs("true")
    container.runs("exit 3")
    container.runs("sleep 60", timeout_s=0.5)
    left = engine(name_of(container), os.environ["PATH"]).workspaces()
    assert str(container.workspace) not in left.values()


def test_what_outlives_worker_and_supervisor_is_swept_once_its_workspace_is_gone(
    container: Bench, marker: str
) -> None:
    code = worker_code(container, f"echo ready; sleep {marker}")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        assert worker.stdout.readline() == b"ready\n"
        children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
        for pid in (*map(int, children), worker.pid):
            os.kill(pid, signal.SIGKILL)

    container.sandbox.sweep()
    assert alive(f"sleep {marker}")

    for left in container.workspace.iterdir():
        left.unlink()
    container.workspace.rmdir()
    container.sandbox.sweep()
    eventually(lambda: not alive(marker), within_s=5, what="the container is gone")
