"""Moods: which faults a seed meets, and how often.

Each seed leaves most kinds out, so that rare ones are also seen alone, and some have none at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from tests.simulation.stage import Plan

RATES = {
    "error_before": 0.012,
    "error_after": 0.012,
    "stale_read": 0.08,
    "webhook_dropped": 0.3,
    "webhook_doubled": 0.2,
    "webhook_delayed": 0.3,
    "ring_dropped": 0.15,
    "ring_doubled": 0.15,
    "ring_delayed": 0.2,
    "crash": 0.03,
    "pause_short": 0.15,
    "pause_lease": 0.05,
    "pause_hour": 0.012,
    "gate_lost": 0.12,
    "gate_paused": 0.08,
    "gate_flaky": 0.1,
    "label_crash": 0.3,
    "check_late": 0.15,
    "check_silent": 0.15,
    "check_skipped": 0.1,
    "check_cancelled": 0.15,
    "check_rerun": 0.15,
    "check_doubled": 0.3,
    "check_stranger": 0.2,
    "writes_lost": 0.5,
    "all_lost": 0.3,
}
"""Chance of each kind where it is at work: per call, delivery, ring, job, gate or check run, label
of the bot's, or seed."""

PAUSES_S = {
    "pause_short": (0.05, 6.0),
    "pause_lease": (61.0, 200.0),
    "pause_hour": (3600.0, 3700.0),
}


@dataclass(slots=True)
class Mood:
    """The chances that are at work; `calm` ends all of them."""

    rng: Random
    rates: dict[str, float] = field(default_factory=dict)
    calm: bool = False
    more: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._choose()
        self.rates.update(self.more)

    def _choose(self) -> None:
        if self.rng.random() < 0.05:
            return
        share = self.rng.choice((0.2, 0.4, 0.7))
        for kind, rate in RATES.items():
            if self.rng.random() < share:
                self.rates[kind] = rate * self.rng.choice((0.5, 1.0, 2.0))

    def strikes(self, kind: str) -> bool:
        """Tell whether a fault of this kind happens now."""
        rate = self.rates.get(kind)
        return rate is not None and not self.calm and self.rng.random() < rate

    def _place(self) -> int:
        """Return after how many calls something befalls a job; landings come late in a tick."""
        return self.rng.randrange(1, self.rng.choice((30, 90, 180)))

    def plan(self) -> Plan:
        """Return what befalls the next job."""
        plan = Plan()
        if self.calm or not self.rates:
            return plan
        if self.strikes("crash"):
            plan.dies_at = self._place()
        at = 0
        for kind, (low, high) in PAUSES_S.items():
            if self.strikes(kind):
                at += self._place()
                plan.pauses.append((at, self.rng.uniform(low, high), kind))
        return plan
