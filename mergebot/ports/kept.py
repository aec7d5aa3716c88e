"""What workers saw pass, kept for later gates of the same lane; everybody else may only read it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mergebot.domain.ids import Lane
from mergebot.domain.keeping import KeptStep, KeptVerdict


class Kept(Protocol):
    """Green results by name, for `limits.RESULTS_KEEP_S`. Whoever reads one checks its seal."""

    def kept_verdict(self, lane: Lane, name: str) -> KeptVerdict | None:
        """Return the verdict kept by this name."""
        ...

    def kept_steps(self, lane: Lane, names: Sequence[str]) -> Mapping[str, KeptStep]:
        """Return the step results kept by these names, as far as there are any."""
        ...

    def keep_verdict(self, lane: Lane, kept: KeptVerdict) -> None:
        """Keep a verdict by its name."""
        ...

    def keep_steps(self, lane: Lane, kept: Mapping[str, KeptStep]) -> None:
        """Keep step results by their names."""
        ...
