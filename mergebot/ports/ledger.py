"""The claims ledger's record: read as of one moment, written at the revision that was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mergebot.domain.audit import Decided, Worktree
from mergebot.domain.contracts import Said
from mergebot.domain.costs import Cost
from mergebot.domain.early import Early
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import Change, Collision, Ledger, LedgerClaim, Note


@dataclass(frozen=True, slots=True)
class HostReport:
    """What one host of agents said of its worktrees, and when."""

    host: str
    at: float
    worktrees: tuple[Worktree, ...]


class Ledgers(Protocol):
    """The ledger of every repository, one each, by repository id. Every method raises Unavailable."""

    def read(self, lane: Lane) -> Ledger:
        """Return every live claim of a repository, as of one moment."""
        ...

    def commit(self, ledger: Ledger, change: Change) -> Ledger:
        """Write a change; raises store.Stale, and changes nothing, if the ledger moved since."""
        ...

    def find(self, lane: Lane, name: str) -> LedgerClaim | None:
        """Return a claim by its id, live or ended."""
        ...

    def ended(self, lane: Lane, *, limit: int) -> Sequence[LedgerClaim]:
        """Return the newest ended claims, newest first."""
        ...

    def notes(self, lane: Lane, *, limit: int) -> Sequence[Note]:
        """Return the newest lines of the ledger's story, newest first."""
        ...

    def asked(self, lane: Lane) -> Sequence[Note]:
        """Return the lines that record a question to a person, newest first, however old."""
        ...

    def report(self, lane: Lane, report: HostReport) -> None:
        """Keep what a host says of its worktrees, instead of what it said before."""
        ...

    def reports(self, lane: Lane) -> Sequence[HostReport]:
        """Return what every host said last."""
        ...

    def decided(self, lane: Lane, decided: Decided) -> None:
        """Record what a person decided about work that only one machine has."""
        ...

    def decisions(self, lane: Lane) -> Sequence[Decided]:
        """Return the recorded decisions, oldest first."""
        ...

    def say(self, lane: Lane, said: Said) -> None:
        """Record somebody's word on a contract."""
        ...

    def sayings(self, lane: Lane, pr: int) -> Sequence[Said]:
        """Return what was said of contracts on a pull request, oldest first."""
        ...

    def collide(self, lane: Lane, collision: Collision) -> None:
        """Count that somebody was refused a claim."""
        ...

    def collisions(self, lane: Lane, *, limit: int) -> Sequence[Collision]:
        """Return the newest refusals, newest first."""
        ...

    def spend(self, lane: Lane, cost: Cost) -> Cost:
        """Record a cost, and return what stands under its claim and reference: the first report."""
        ...

    def costs(self, lane: Lane, *, limit: int) -> Sequence[Cost]:
        """Return the newest reported costs, newest first."""
        ...

    def keep_early(self, lane: Lane, early: Early) -> None:
        """Keep what is known of a pull request before it is queued."""
        ...

    def drop_early(self, lane: Lane, pr: int) -> None:
        """Forget what was known of a pull request that is closed."""
        ...

    def early(self, lane: Lane) -> Sequence[Early]:
        """Return what is known of every open pull request, by number."""
        ...
