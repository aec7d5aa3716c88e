"""Steps in namespaces of their own, by bubblewrap.

A step sees the system's programs read-only, its workspace at /workspace, a /tmp, /proc and /dev of
its own, and the caches that it was given, read-only. It has no network unless the gate asks for
one; with one, it reaches whatever listens on the host itself, so nothing there may trust that.
Everything it starts dies with it: all of it lives in one PID namespace.
"""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from threading import Lock

from mergebot.adapters.sandbox import rootfs, seccomp
from mergebot.adapters.sandbox.bounds import Bounds
from mergebot.adapters.sandbox.images import no_images
from mergebot.adapters.sandbox.ownership import (
    hand_over,
    inner_path,
    make_place,
    threads_of_worker,
    uid_for,
)
from mergebot.adapters.sandbox.watch import Ended, Launch, Watcher
from mergebot.domain import limits
from mergebot.domain.gate import Step
from mergebot.ports.sandbox import Exited, SandboxFailed, StepEnd, StepOrder

CHECK_S = 20.0
SHELL = "/bin/sh"
ADVICE = (
    "let this user create namespaces (kernel.unprivileged_userns_clone=1, user.max_user_namespaces"
    " above 0, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in Docker, the"
    " security_opt lines of the worker in compose.yaml), or choose MERGEBOT_SANDBOX=none by name"
)

_READYING = Lock()
"""Steps of one gate may start at once; the workspace must be ready before any of them runs."""


class _Sources(ExitStack):
    """What bubblewrap gets to read: files by their number, directories by a path it may walk."""

    def __init__(self, uid: int | None) -> None:
        super().__init__()
        self.uid = uid
        self.fds: list[int] = []
        self.stage: list[str] = []

    def keep(self, fd: int) -> int:
        self.callback(os.close, fd)
        self.fds.append(fd)
        return fd

    def data(self, content: bytes | str) -> str:
        fd = self.keep(os.memfd_create("mergebot"))
        os.write(fd, os.fsencode(content))
        os.lseek(fd, 0, os.SEEK_SET)
        return str(fd)

    def directory(self, path: str) -> str:
        if self.uid is None:
            return path
        self.stage.append(path)
        return f"/tmp/{len(self.stage) - 1}"  # noqa: S108  the supervisor shows it there to the step alone


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The port Sandbox on bubblewrap; `search` is the worker's PATH."""

    bounds: Bounds = field(default_factory=Bounds)
    search: str = field(default_factory=lambda: os.environ.get("PATH", ""))
    output_bytes_max: int = limits.OUTPUT_BYTES_MAX

    def check(self, image: str | None = None) -> str:
        """Start `true` and return "" when that worked, else what to do, in one sentence."""
        if image:
            return no_images(image, "bubblewrap")
        said: list[bytes] = []
        with TemporaryDirectory(prefix="mergebot-check-") as place:
            order = StepOrder(Step("check", "true", CHECK_S), place, {}, False, CHECK_S)
            try:
                end = self.run(order, said.append, lambda: True)
            except SandboxFailed as error:
                return str(error)
        if end == Exited(0, end.seconds):
            return ""
        text = b"".join(said).decode(errors="replace").strip()
        return f"bubblewrap starts but cannot run `true` ({end}; {text[:200]}): {ADVICE}."

    def run(
        self, order: StepOrder, output: Callable[[bytes], None], wanted: Callable[[], bool]
    ) -> StepEnd:
        """Run one step; raises SandboxFailed when bubblewrap could not start it."""
        if order.image:
            raise SandboxFailed(no_images(order.image, "bubblewrap"))
        program = shutil.which("bwrap", path=f"{self.search}:{rootfs.SYSTEM_PATH}")
        if not program:
            raise SandboxFailed(
                "bubblewrap (bwrap) is not installed on this host: install the package bubblewrap,"
                " or choose MERGEBOT_SANDBOX=none by name."
            )
        with _Sources(uid_for(order.workspace)) as sources:
            status = sources.data("")
            try:
                options = [*self._options(order, sources), "--json-status-fd", status]
            except OSError as error:
                raise SandboxFailed(f"the sandbox could not be prepared: {error}.") from error
            launch = self._launch([program, *_arguments(options, sources)], order, sources)
            end = Watcher(output, order.timeout_s, self.output_bytes_max).run(launch, wanted)
            return _judge(end, os.pread(int(status), 65536, 0)) if isinstance(end, Ended) else end

    def sweep(self) -> None:
        """Find nothing: a step of bubblewrap dies with its worker."""

    def _launch(self, program: list[str], order: StepOrder, sources: _Sources) -> Launch:
        return Launch(
            argv=(*program, "--", SHELL, "-c", order.step.run),
            environment={},
            cwd="/",
            workspace=order.workspace,
            bounds=self.bounds,
            uid=sources.uid,
            fds=tuple(sources.fds),
            stage=tuple(sources.stage),
            rlimits=self.bounds.rlimits(threads_of_worker() if sources.uid is None else 0),
        )

    def _options(self, order: StepOrder, sources: _Sources) -> list[str]:
        """Return bubblewrap's options, in the order in which it carries them out."""
        tools = rootfs.toolchains(self.search)
        options = [*_isolation(order), *rootfs.system()]
        for tool in tools:
            options += ["--ro-bind", sources.directory(str(tool.top)), str(tool.top)]
        for place, text in rootfs.files(order.network).items():
            options += ["--perms", "0444", "--ro-bind-data", sources.data(text), place]
        options += rootfs.private(self.bounds.scratch_bytes)
        options += ["--bind", sources.directory(order.workspace), rootfs.WORKSPACE]
        with _READYING:
            options += _keep(order, sources)
        options += ["--remount-ro", "/", "--chdir", rootfs.WORKSPACE]
        environment = {
            "PATH": rootfs.path_of(tools),
            "HOME": rootfs.HOME,
            "LANG": "C.UTF-8",
            **order.environment,
        }
        for name, value in environment.items():
            options += ["--setenv", name, value]
        return options


def _arguments(options: list[str], sources: _Sources) -> tuple[str, str]:
    """Return the options as bubblewrap reads them from a file: a command line is for all to see."""
    if rules := seccomp.program():
        options = [*options, "--seccomp", sources.data(rules)]
    return "--args", sources.data(b"".join(os.fsencode(option) + b"\0" for option in options))


def _isolation(order: StepOrder) -> list[str]:
    """Return the namespaces and the identity of a step."""
    return [
        *("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc"),
        *("--unshare-uts", "--unshare-cgroup-try"),
        *([] if order.network else ["--unshare-net"]),
        *("--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"),
        *("--hostname", rootfs.HOST),
        *("--uid", str(rootfs.USER_ID), "--gid", str(rootfs.USER_ID)),
    ]


def _keep(order: StepOrder, sources: _Sources) -> list[str]:
    """Make the workspace ready, and return the mounts of the caches that it leaves room for."""
    workspace = os.open(order.workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if sources.uid is not None:
            hand_over(workspace, sources.uid)
        options: list[str] = []
        for name, source in sorted(order.keep.items()):
            inside = inner_path(name)
            if make_place(workspace, inside, sources.uid):
                place = f"{rootfs.WORKSPACE}/{inside}"
                options += ["--ro-bind", sources.directory(source), place]
        return options
    finally:
        os.close(workspace)


def _judge(end: Ended, status: bytes) -> Exited:
    """Tell the end of the step from that of a bubblewrap which never came to start it."""
    if any("exit-code" in json.loads(line) for line in status.splitlines()):
        return Exited(end.code, end.seconds, end.use)
    said = end.said.decode(errors="replace").strip().rpartition("\n")[2]
    raise SandboxFailed(f"bubblewrap cannot start here ({said}): {ADVICE}.")
