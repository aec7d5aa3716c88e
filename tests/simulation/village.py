"""The claims, checked after every step: no two cover one path, and none ends without evidence."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from mergebot.adapters.memory.hosting import Hosting
from mergebot.domain.ledger import Ledger, LedgerClaim
from tests.simulation.promises import Promises


@dataclass(slots=True)
class Village:
    """What the ledger held last; `over` tells whether a pull request landed or failed."""

    promises: Promises
    hosting: Hosting
    over: Callable[[int], bool]
    live: Mapping[str, LedgerClaim] = field(default_factory=dict)

    def written(self, ledger: Ledger) -> None:
        """Hear that the ledger changed."""
        live = {name: each for name, each in ledger.claims.items() if each.live}
        self._alone(live)
        for name, each in self.live.items():
            if name not in live:
                self._ended(each)
            else:
                rises = live[name].generation >= each.generation
                self.promises.hold("I07 a claim's generations rise", rises, name)
        self.live = live

    def forget(self) -> None:
        """Begin anew: Redis lost what was held."""
        self.live = {}

    def _alone(self, live: Mapping[str, LedgerClaim]) -> None:
        """Hold that no path which any claim names as it stands is covered by two of them."""
        paths = {path.replace("*", "x") for each in live.values() for path in each.every}
        for path in paths:
            holders = [
                name
                for name, each in live.items()
                if any(fnmatchcase(path, pattern) for pattern in each.every)
            ]
            self.promises.hold("I12 claims are exclusive", len(holders) <= 1, f"{path}: {holders}")
        tasks = [each.task for each in live.values()]
        self.promises.hold("I12 one claim for each task", len(tasks) == len(set(tasks)), str(tasks))

    def _ended(self, claim: LedgerClaim) -> None:
        """Hold that a claim is gone only where its pull request landed, failed or was closed."""
        closed = any(
            claim.pr in pulls and pulls[claim.pr].closed for _, pulls in self.hosting.history
        )
        over = closed or self.over(claim.pr)
        self.promises.hold("I13 age frees nothing", over, f"{claim.id} of #{claim.pr}")
