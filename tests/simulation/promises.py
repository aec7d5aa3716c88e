"""What every check has in common: promises that are held, counted, and told of when broken."""

from collections import Counter
from dataclasses import dataclass, field

from tests.simulation.stage import Stage


@dataclass(slots=True)
class Promises:
    """Every promise that was checked, how often, and those that were broken."""

    stage: Stage
    checks: Counter[str] = field(default_factory=Counter)

    def hold(self, promise: str, kept: object, what: str) -> None:
        """Check a promise, named by its number and a few words."""
        self.checks[promise.split(" ", 1)[0]] += 1
        if not kept:
            self.stage.broken.append(f"{promise}: {what}")
            self.stage.tell(f"BROKEN {promise}: {what}")
