"""Running candidate code where it can reach nothing."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from mergebot.domain.capacity import Use
from mergebot.domain.gate import Step
from mergebot.domain.ids import Lane


@dataclass(frozen=True, slots=True)
class StepOrder:
    """One step to run in the tree at `workspace`; `keep` are cache directories to mount read-only.

    `image` is the container image to run it in, "" for the programs of the host.
    """

    step: Step
    workspace: str
    environment: Mapping[str, str]
    network: bool
    timeout_s: float
    keep: Mapping[str, str] = field(default_factory=dict)
    image: str = ""


@dataclass(frozen=True, slots=True)
class Exited:
    """The step ended by itself after `seconds`; by signal n, `code` is 128 + n, as shells say it.

    `use` is what it used, where that was measured.
    """

    code: int
    seconds: float
    use: Use | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The step was killed at its limit."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """The step was killed because nobody wants its result any more."""

    seconds: float


@dataclass(frozen=True, slots=True)
class OverLimit:
    """The step was killed for breaking a limit, named in one sentence."""

    what: str
    seconds: float


StepEnd = Exited | TimedOut | Stopped | OverLimit


class SandboxFailed(Exception):
    """The sandbox did not start, so nothing ran; the text is one sentence fit for a person."""


class Sandbox(Protocol):
    """Runs candidate code where it can reach nothing, and leaves no process behind."""

    def check(self, image: str | None = None) -> str:
        """Return "" when it works here, else one sentence that says what to do.

        `image` is that of a gate, "" where it has none; None asks about this host alone.
        """
        ...

    def run(
        self, order: StepOrder, output: Callable[[bytes], None], wanted: Callable[[], bool]
    ) -> StepEnd:
        """Run one step to its end; raises SandboxFailed when it could not be started.

        `output` gets what the step prints as it prints it. `wanted` is asked about every 100 ms;
        once it says no, the whole process tree is killed.
        """
        ...

    def sweep(self) -> None:
        """End what is left of steps whose workspace is gone: their worker died without ending them."""
        ...


class Workspaces(Protocol):
    """Throw-away directories for gates, named so that nobody can guess them, never reused."""

    def create(self, run: str) -> str:
        """Return a new empty directory; raises Unavailable when the disk is full."""
        ...

    def destroy(self, path: str) -> None:
        """Remove a workspace and everything in it."""
        ...

    def sweep(self, keep: Iterable[str]) -> None:
        """Remove workspaces of runs that are not in `keep`, left by processes that died."""
        ...


class Unwanted(Exception):
    """Nobody wants the result any more, so the wait for it ended."""


class Caches(Protocol):
    """Directories that the gate's setup filled once, for gates to mount read-only."""

    def held(
        self,
        lane: Lane,
        digest: str,
        fill: Callable[[], Mapping[str, str]],
        wanted: Callable[[], bool],
    ) -> AbstractContextManager[Mapping[str, str]]:
        """Give the lane's cache called `digest`, by place in the workspace, and keep it meanwhile.

        Where there is none, one process calls `fill`, which returns the directories to take in,
        and every other waits as long as it is `wanted`. Raises what `fill` raises, Unavailable
        when the disk is full, and Unwanted.
        """
        ...
