"""Steps without isolation, for a host that was given up to them by MERGEBOT_SANDBOX=none.

A step runs as the worker's user and can reach what that user can: files, network, other steps. It
gets a clean environment and a throw-away home, and is killed with everything it started, as in
bubblewrap. As root nothing but a count every second bounds its processes, so do not choose it for
a worker that runs as root and meets code that it does not trust. What cannot work: the workspace's path differs from gate to gate, so a cache that holds
its own path (the scripts of a `.venv`, for one) is broken; `.venv/bin/python -m pytest` works,
`.venv/bin/pytest` does not. Caches are copied, so that no candidate writes into the next one's.
"""

import os
import secrets
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from mergebot.adapters.sandbox.bounds import Bounds
from mergebot.adapters.sandbox.images import no_images
from mergebot.adapters.sandbox.ownership import inner_path, make_place, threads_of_worker
from mergebot.adapters.sandbox.watch import Ended, Launch, Watcher
from mergebot.domain import limits
from mergebot.ports.sandbox import Exited, SandboxFailed, StepEnd, StepOrder

MARKER = "MERGEBOT_STEP"
SHELL = "/bin/sh"


@dataclass(frozen=True, slots=True)
class Plain:
    """The port Sandbox without isolation; `search` is the PATH that steps get."""

    bounds: Bounds = field(default_factory=Bounds)
    search: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))
    output_bytes_max: int = limits.OUTPUT_BYTES_MAX

    def check(self, image: str | None = None) -> str:
        """Return "" when there is a shell, else what to do."""
        if image:
            return no_images(image, "none")
        return "" if Path(SHELL).exists() else f"install a shell as {SHELL}; steps need one."

    def run(
        self, order: StepOrder, output: Callable[[bytes], None], wanted: Callable[[], bool]
    ) -> StepEnd:
        """Run one step; raises SandboxFailed when it could not be started."""
        if order.image:
            raise SandboxFailed(no_images(order.image, "none"))
        marker = secrets.token_hex(16)
        _copy_caches(order)
        with TemporaryDirectory(prefix="mergebot-home-", ignore_cleanup_errors=True) as home:
            environment = {
                "PATH": self.search,
                "HOME": home,
                "LANG": "C.UTF-8",
                **order.environment,
                MARKER: marker,
            }
            launch = Launch(
                argv=(SHELL, "-c", order.step.run),
                environment=environment,
                cwd=order.workspace,
                workspace=order.workspace,
                bounds=self.bounds,
                rlimits=self.bounds.rlimits(threads_of_worker()),
            )
            try:
                end = Watcher(output, order.timeout_s, self.output_bytes_max).run(launch, wanted)
            finally:
                _kill_marked(f"{MARKER}={marker}".encode())
        return Exited(end.code, end.seconds, end.use) if isinstance(end, Ended) else end

    def sweep(self) -> None:
        """Find nothing: a step dies with its worker."""


def _copy_caches(order: StepOrder) -> None:
    """Copy each cache to its place, where the candidate's tree leaves room for it."""
    for name, source in sorted(order.keep.items()):
        inside = inner_path(name)
        workspace = os.open(order.workspace, os.O_RDONLY | os.O_DIRECTORY)
        try:
            room = make_place(workspace, inside, None)
        finally:
            os.close(workspace)
        if room:
            place = Path(order.workspace, inside)
            copy = ["cp", "-a", "--reflink=auto", "--", f"{source}/.", str(place)]
            done = subprocess.run(copy, check=False, capture_output=True, text=True)
            if done.returncode:
                raise SandboxFailed(f"the cache {name} could not be copied: {done.stderr[:200]}")


def _kill_marked(marker: bytes) -> None:
    """Kill what carries the step's marker: something is left only if its supervisor was killed."""
    found = True
    while found:
        found = False
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                if process.name.isdigit() and marker in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
                    found = not _is_dead(process)


def _is_dead(process: Path) -> bool:
    return b") Z" in (process / "stat").read_bytes()
