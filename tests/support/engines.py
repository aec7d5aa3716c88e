"""Container engines for the tests: a podman or docker that starts containers here, and an image.

The image is made of this machine's own programs, without any registry, and stays in the engine's
store under one name. Where no docker daemon answers, root starts one, without a bridge. An engine
that starts nothing here has no tests, and the end of the run says so.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from tests.support.waiting import eventually

IMAGE = "localhost/mergebot-tests:1"
PROGRAMS = (
    *("sh", "cat", "ls", "id", "env", "sleep", "true", "seq", "head", "touch", "mkdir", "stat"),
    *("setsid", "yes", "basename", "readlink", "grep", "find", "hostname", "tr", "wc"),
)
LEFT_OUT = {"site-packages", "dist-packages", "test", "idlelib", "ensurepip", "__pycache__"}
TRIAL = (
    *("run", "--rm", "--network", "none", "--ulimit", "nofile=256:256", "--ulimit"),
    *("nproc=256:256", "--entrypoint", "/bin/sh", IMAGE, "-c", "exit 0"),
)


SETTINGS = "CONTAINERS_CONF"
# crun cannot start where a host has both kinds of cgroups.
RUNTIMES = ("", '[engine]\nruntime = "runc"\n')


def here() -> list[str]:
    """Return the engines that start containers on this machine; tests of others are left out."""
    return [name for name in ("podman", "docker") if not untried(name)]


@cache
def untried(name: str) -> str:
    """Return "" where the engine `name` starts containers here, else why it does not."""
    if shutil.which(name) is None:
        return f"{name} is not installed"
    if name == "podman":
        return _runtime()[1]
    own = not os.geteuid() and shutil.which("dockerd") is not None
    return "" if own else _told("docker", "info")


@cache
def _runtime() -> tuple[str, str]:
    """Return the settings by which podman starts a container here, else why there are none."""
    trouble = ""
    with tempfile.TemporaryDirectory(prefix="mergebot-engine-") as place:
        _import("podman", Path(place))
        for settings in RUNTIMES:
            with _set(Path(place), settings):
                trouble = _told("podman", *TRIAL)
            if not trouble:
                return settings, ""
    return "", f"podman starts no container: {trouble}"


@contextmanager
def _set(place: Path, settings: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if settings:
            conf = place / "containers.conf"
            conf.write_text(settings)
            patch.setenv(SETTINGS, str(conf))
        yield


@contextmanager
def running(name: str) -> Iterator[str]:
    """Give the name of an image that the engine `name`, which is here, starts."""
    with ExitStack() as parts:
        place = Path(parts.enter_context(tempfile.TemporaryDirectory(prefix="mergebot-engine-")))
        if name == "docker":
            parts.enter_context(_daemon(place))
        else:
            parts.enter_context(_set(place, _runtime()[0]))
        _import(name, place)
        yield IMAGE


@contextmanager
def _daemon(place: Path) -> Iterator[None]:
    if not _told("docker", "info"):
        yield
        return
    address = f"unix://{place}/docker.sock"
    command = [
        *("dockerd", "--host", address, "--data-root", f"{place}/data"),
        *("--exec-root", f"{place}/exec", "--pidfile", f"{place}/pid", "--bridge", "none"),
        *("--iptables=false", "--ip6tables=false"),
    ]
    quiet = subprocess.DEVNULL
    with (
        pytest.MonkeyPatch.context() as patch,
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet) as daemon,
    ):
        try:
            patch.setenv("DOCKER_HOST", address)
            eventually(lambda: not _told("docker", "info"), within_s=60, what="dockerd answers")
            yield
        finally:
            daemon.terminate()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which engines gates were not tried in, where such tests were asked for."""
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, [])]  # fmt: skip
    if any("contract/sandbox/" in each.nodeid for each in reports):
        for name in ("podman", "docker"):
            if why := untried(name):
                terminalreporter.write_line(f"no gate was tried in {name} containers: {why}")


def _told(*words: str) -> str:
    """Return "" where a command succeeds, else what it said last."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return (done.stderr.strip() or f"exit code {done.returncode}")[-300:] if done.returncode else ""


def _import(name: str, place: Path) -> None:
    """Make the image, once, however many tests start at the same time."""
    with Path(tempfile.gettempdir(), f"mergebot-tests-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _told(name, "image", "inspect", IMAGE):
            archive = place / "image.tar"
            _pack(archive)
            trouble = _told(name, "import", str(archive), IMAGE)
            assert not trouble, trouble


def _pack(archive: Path) -> None:
    """Write a tree of a shell, small tools and Python with all that they load."""
    python = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}").resolve()
    library = Path(os.__file__).parent
    programs = {name: Path(shutil.which(name) or "").resolve() for name in PROGRAMS}
    loaded = {python, *programs.values(), *library.glob("lib-dynload/*.so")}
    with tarfile.open(archive, "w") as tar:
        for directory in ("proc", "dev", "sys", "tmp", "run", "etc", "var/tmp"):
            entry = tarfile.TarInfo(directory)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if directory.endswith("tmp") else 0o755
            tar.addfile(entry)
        for name, path in programs.items():
            tar.add(path, f"bin/{name}")
        tar.add(python, str(python)[1:])
        link = tarfile.TarInfo("bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, str(python)
        tar.addfile(link)
        tar.add(library, str(library)[1:], filter=_wanted)
        for needed in sorted({each for path in loaded for each in _needs(path)}):
            tar.add(Path(needed).resolve(), needed[1:])


def _wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    parts = Path(entry.name).parts
    built = any(part.startswith("config-") for part in parts)
    return None if built or LEFT_OUT & set(parts) else entry


def _needs(program: Path) -> list[str]:
    with suppress(OSError):
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        return re.findall(r"(/[^ ]+)(?= \()", done.stdout)
    return []
