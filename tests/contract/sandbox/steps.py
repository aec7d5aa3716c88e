"""Builders for the tests of the sandboxes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from mergebot.domain.gate import Step
from mergebot.ports.sandbox import Sandbox, StepEnd, StepOrder


@dataclass
class Bench:
    """A sandbox with a workspace, and what the last step printed."""

    sandbox: Sandbox
    workspace: Path
    image: str = ""
    printed: bytearray = field(default_factory=bytearray)
    wanted: Event = field(default_factory=Event)

    def order(self, command: str, *, timeout_s: float = 20, network: bool = False) -> StepOrder:
        step = Step("step", command, timeout_s)
        workspace = str(self.workspace)
        return StepOrder(step, workspace, {"CI": "true"}, network, timeout_s, image=self.image)

    def runs(
        self,
        command: str,
        *,
        timeout_s: float = 20,
        network: bool = False,
        keep: Mapping[str, str] | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> StepEnd:
        self.printed.clear()
        order = self.order(command, timeout_s=timeout_s, network=network)
        order = replace(order, keep=keep or {})
        return self.sandbox.run(order, self.printed.extend, wanted)

    @property
    def text(self) -> str:
        return self.printed.decode(errors="replace")


def alive(marker: str) -> list[str]:
    """Return the command lines of processes on this host that hold `marker`."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marker in command and "pytest" not in command:
                found.append(command)
    return found
