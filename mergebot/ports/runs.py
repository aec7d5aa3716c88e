"""Gate runs and their output, as the workers that own them write them."""

from collections.abc import Mapping
from typing import Protocol

from mergebot.domain.capacity import UNKNOWN_CORES, Cores
from mergebot.domain.gate import GateResult
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Run, RunProgress
from mergebot.domain.steps import Tally
from mergebot.ports.kept import Kept


class Runs(Kept, Protocol):
    """The gate runs of a lane, written by the workers that own them."""

    def get(self, lane: Lane, run: str) -> Run | None:
        """Return a run."""
        ...

    def take(self, lane: Lane, run: str, worker: str, now: float) -> Run | None:
        """Take a run for `worker`; None when it is gone, stopped, ended or somebody else's."""
        ...

    def beat(self, lane: Lane, run: str, progress: RunProgress) -> bool:
        """Report progress; False means that nobody wants the run any more: stop at once."""
        ...

    def wanted(self, lane: Lane, run: str) -> bool:
        """Tell whether anybody still wants the run; cheap enough to be asked ten times a second."""
        ...

    def finish(self, lane: Lane, run: str, result: GateResult, now: float) -> bool:
        """Record a result, once, by the run's owner; a stopped run's result is dropped (False)."""
        ...

    def usual_seconds(self, lane: Lane) -> Mapping[str, float]:
        """Return the median seconds of each step's last passes."""
        ...

    def tallies(self, lane: Lane) -> Mapping[str, Tally]:
        """Return how often each step passed and failed."""
        ...

    def workers(self, now: float) -> int:
        """Return how many gate slots were heard of lately."""
        ...

    def announce(self, worker: str, slots: int, now: float, cores: Cores = UNKNOWN_CORES) -> None:
        """Say that a worker host is alive, how many gates it takes at once, and on which cores."""
        ...

    def note_use(self, lane: Lane, cores: Cores, asks: float) -> None:
        """Note how many of these cores a green gate of the lane could use; the newest few are kept."""
        ...


class Logs(Protocol):
    """Gate output, kept for `limits.LOG_KEEP_S` and readable while it grows."""

    def append(self, lane: Lane, run: str, data: bytes) -> None:
        """Add output; what exceeds the cap is dropped in the middle."""
        ...

    def read(self, lane: Lane, run: str, *, offset: int = 0) -> tuple[bytes, int]:
        """Return output from `offset` on, and the offset to go on from."""
        ...
