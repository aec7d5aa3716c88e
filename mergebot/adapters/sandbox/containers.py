"""Steps in containers, by podman or docker, in the image that the rules name.

A step sees that image, read-only, its workspace at /workspace, a /tmp of its own, and the caches
that it was given, read-only. It has no network unless the gate asks for one; then it has the
engine's own, and the host's loopback stays out of its reach. The image has to be on the host: no
gate waits for a registry, and none starts in what a tag came to mean in the meantime.
"""

import os
import resource
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from mergebot.adapters.sandbox import rootfs
from mergebot.adapters.sandbox.bounds import MIB, Bounds
from mergebot.adapters.sandbox.engines import (
    WORKSPACE_LABEL,
    Engine,
    Image,
    engine,
    last_line,
)
from mergebot.adapters.sandbox.images import no_image
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
from mergebot.ports.sandbox import Exited, OverLimit, SandboxFailed, StepEnd, StepOrder

CHECK_S = 60.0
GRACE_S = 5.0
BELT_S = 60.0
SHELL = "/bin/sh"

# The step is not the first process, which no signal from within would reach; what it leaves dies
# with that one. One pipe for both streams keeps their order. Names that engines add are taken out.
FIRST = 'unset {0}; {1} -c "$0" 2>&1; exit $?'
ADDED = ("HOSTNAME", "TERM", "container")

_READYING = Lock()
"""Steps of one gate may start at once; the workspace must be ready before any of them runs."""


@dataclass(frozen=True, slots=True)
class Containers:
    """The port Sandbox on the engine `name`; `search` is the worker's PATH."""

    name: str
    bounds: Bounds = field(default_factory=Bounds)
    search: str = field(default_factory=lambda: os.environ.get("PATH", ""))
    output_bytes_max: int = limits.OUTPUT_BYTES_MAX

    def check(self, image: str | None = None) -> str:
        """Write a file in a container of `image`; ask the engine alone where that is None."""
        said: list[bytes] = []
        try:
            if image is None:
                trouble = engine(self.name, self.search).answers()
                return f"{self.name} does not answer on this host ({trouble})." if trouble else ""
            with TemporaryDirectory(prefix="mergebot-check-", ignore_cleanup_errors=True) as place:
                step = Step("check", ": > written", CHECK_S)
                order = StepOrder(step, place, {}, False, CHECK_S, image=image)
                end = self.run(order, said.append, lambda: True)
        except SandboxFailed as error:
            return str(error)
        if end == Exited(0, end.seconds):
            return ""
        text = last_line(b"".join(said).decode(errors="replace"))
        return f"{self.name} starts the image {image} but cannot write in it ({text})."

    def run(
        self, order: StepOrder, output: Callable[[bytes], None], wanted: Callable[[], bool]
    ) -> StepEnd:
        """Run one step; raises SandboxFailed when the engine could not start it."""
        if not order.image:
            raise SandboxFailed(no_image(self.name))
        runner = engine(self.name, self.search)
        image = runner.image(order.image)
        name = f"mergebot-{secrets.token_hex(16)}"
        with TemporaryDirectory(prefix="mergebot-container-") as place:
            hosts = Path(place, "hosts")
            hosts.write_text(rootfs.FILES["/etc/hosts"])
            try:
                with _READYING:
                    mounts = _mounts(order, str(hosts))
            except OSError as error:
                raise SandboxFailed(f"the container could not be prepared: {error}.") from error
            options = [*self._options(order, runner, image), *mounts]
            launch = self._launch(order, runner, name, (*options, image.id))
            try:
                end = Watcher(output, order.timeout_s, self.output_bytes_max).run(launch, wanted)
                return self._judge(end, runner, name) if isinstance(end, Ended) else end
            finally:
                runner.remove(name)

    def sweep(self) -> None:
        """End containers whose workspace is gone while the directory around it is there."""
        runner = engine(self.name, self.search)
        for container, workspace in runner.workspaces().items():
            path = Path(workspace)
            if path.is_absolute() and path.parent.is_dir() and not path.exists():
                runner.remove(container)

    def _launch(
        self, order: StepOrder, runner: Engine, name: str, options: tuple[str, ...]
    ) -> Launch:
        unset = [each for each in ADDED if each not in order.environment]
        first = FIRST.format(" ".join(unset) or "_", SHELL)
        label = f"{WORKSPACE_LABEL}={order.workspace}"
        command = (runner.program, "run", "--name", name, "--label", label, *options)
        return Launch(
            argv=(*command, "-c", first, order.step.run),
            environment=dict(runner.environment),
            cwd="/",
            workspace=order.workspace,
            bounds=self.bounds,
            after=runner.removal(name),
            grace_s=GRACE_S,
        )

    def _options(self, order: StepOrder, runner: Engine, image: Image) -> list[str]:
        scratch = self.bounds.scratch_bytes
        options = [*_isolation(order), *_identity(order, runner.name)]
        options += ["--shm-size", str(scratch)]
        for place in ("/tmp", rootfs.HOME, "/var/tmp", *image.volumes):  # noqa: S108  the container's own
            options += ["--tmpfs", f"{_plain(place)}:rw,exec,nosuid,nodev,mode=1777,size={scratch}"]
        options += _ulimits(self.bounds.rlimits(0 if os.geteuid() == 0 else threads_of_worker()))
        options += _cgroups(self.bounds, runner)
        environment = {"HOME": rootfs.HOME, "LANG": "C.UTF-8", **order.environment}
        for name, value in environment.items():
            options += ["--env", f"{name}={value}"]
        return [*options, "--entrypoint", SHELL]

    def _judge(self, end: Ended, runner: Engine, name: str) -> StepEnd:
        state = runner.state(name)
        if state is None or not state.started:
            said = last_line(end.said.decode(errors="replace"))
            raise SandboxFailed(f"{self.name} cannot start a container here ({said}).")
        if state.out_of_memory and state.code:
            most = f"more than {self.bounds.memory_bytes // MIB} MiB of memory"
            return OverLimit(f"the step used {most}", end.seconds)
        # What was used is not told: the engine's own work is in it, or none of the step's.
        return Exited(state.code, end.seconds)


def _isolation(order: StepOrder) -> Iterator[str]:
    """Give what holds for every step, whatever the image says."""
    yield from ("--pull", "never", "--log-driver", "none", "--no-healthcheck")
    yield from ("--stop-timeout", "0", "--hostname", rootfs.HOST)
    yield from ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
    yield from ("--ipc", "private", "--workdir", rootfs.WORKSPACE)
    if not order.network:
        yield from ("--network", "none")


def _identity(order: StepOrder, engine_name: str) -> Iterator[str]:
    """Give whose processes these are, and what podman is not to bring in of its host."""
    uid = uid_for(order.workspace)
    root = os.geteuid() == 0
    if root and uid is None:
        raise SandboxFailed("this host has no unprivileged user that a step could run as.")
    if engine_name == "podman":
        yield from ("--read-only-tmpfs=false", "--http-proxy=false", "--no-hosts")
        yield from ("--timeout", str(int(order.timeout_s + BELT_S)))
    if root:
        yield from ("--user", f"{uid}:{uid}")
    elif engine_name == "podman":
        yield from ("--userns", "keep-id")
    else:
        yield from ("--user", f"{os.geteuid()}:{os.getegid()}")


def _ulimits(rlimits: Mapping[str, int]) -> Iterator[str]:
    for name, most in rlimits.items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901  a limit can only be lowered
        yield from ("--ulimit", f"{name.removeprefix('RLIMIT_').lower()}={most}:{most}")


def _cgroups(bounds: Bounds, runner: Engine) -> Iterator[str]:
    """Give the limits that the kernel keeps by itself; where it may not, the supervisor looks."""
    controllers = runner.controllers()
    if "memory" in controllers:
        most = str(bounds.memory_bytes)
        yield from ("--memory", most, "--memory-swap", most)
    if "pids" in controllers:
        yield from ("--pids-limit", str(bounds.processes))


def _mounts(order: StepOrder, hosts: str) -> list[str]:
    """Make the workspace ready, and return its mount and those of the caches it leaves room for."""
    workspace = os.open(order.workspace, os.O_RDONLY | os.O_DIRECTORY)
    try:
        uid = uid_for(order.workspace)
        if uid is not None:
            hand_over(workspace, uid)
        mounts = [
            *("--volume", f"{_plain(hosts)}:/etc/hosts:ro,z"),
            *("--volume", f"{_plain(order.workspace)}:{rootfs.WORKSPACE}:z"),
        ]
        for name, source in sorted(order.keep.items()):
            inside = _plain(inner_path(name))
            if make_place(workspace, inside, uid):
                mounts += ["--volume", f"{_plain(source)}:{rootfs.WORKSPACE}/{inside}:ro,z"]
        return mounts
    finally:
        os.close(workspace)


def _plain(path: str) -> str:
    """Return a path that an engine reads as one; raises SandboxFailed for any other."""
    if any(mark in path for mark in ':,"\\\n'):
        raise SandboxFailed(
            f"{path!r} cannot be mounted into a container: it holds a : or a comma."
        )
    return path
