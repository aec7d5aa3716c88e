"""Green results over dictionaries, kept for good."""

from collections.abc import Mapping, Sequence

from mergebot.domain.ids import Lane
from mergebot.domain.keeping import KeptStep, KeptVerdict


class MemoryKept:
    """What workers saw pass; one assignment each, so safe to use from several threads."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, str], KeptVerdict] = {}
        self._steps: dict[tuple[str, str], KeptStep] = {}

    def kept_verdict(self, lane: Lane, name: str) -> KeptVerdict | None:
        """Return the verdict kept by this name."""
        return self._verdicts.get((lane.key, name))

    def kept_steps(self, lane: Lane, names: Sequence[str]) -> Mapping[str, KeptStep]:
        """Return the step results kept by these names, as far as there are any."""
        found = {name: self._steps.get((lane.key, name)) for name in names}
        return {name: each for name, each in found.items() if each is not None}

    def keep_verdict(self, lane: Lane, kept: KeptVerdict) -> None:
        """Keep a verdict by its name."""
        self._verdicts[lane.key, kept.name] = kept

    def keep_steps(self, lane: Lane, kept: Mapping[str, KeptStep]) -> None:
        """Keep step results by their names."""
        for name, each in kept.items():
            self._steps[lane.key, name] = each
