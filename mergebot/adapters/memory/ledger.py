"""The claims ledger over dictionaries."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import RLock

from mergebot.adapters.record import COSTS_MAX, DECISIONS_MAX, LEDGER_ENDED_MAX, NOTES_MAX
from mergebot.domain.audit import Decided
from mergebot.domain.contracts import Said
from mergebot.domain.costs import Cost
from mergebot.domain.early import Early
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import ASKED, Change, Collision, Ledger, LedgerClaim, Note
from mergebot.ports.ledger import HostReport
from mergebot.ports.store import Stale


@dataclass(slots=True)
class _Record:
    """Everything about one repository; `notes` are newest first."""

    ledger: Ledger
    ended: dict[str, LedgerClaim] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    asked: list[Note] = field(default_factory=list)
    hosts: dict[str, HostReport] = field(default_factory=dict)
    decisions: list[Decided] = field(default_factory=list)
    said: dict[int, list[Said]] = field(default_factory=dict)
    early: dict[int, Early] = field(default_factory=dict)
    collisions: list[Collision] = field(default_factory=list)
    costs: dict[tuple[str, str], Cost] = field(default_factory=dict)


class MemoryLedger:
    """The ledger over dictionaries; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._records: dict[int, _Record] = {}

    def _of(self, lane: Lane) -> _Record:
        found = self._records.get(lane.repo_id)
        if found is None:
            found = self._records[lane.repo_id] = _Record(Ledger(lane, epoch=""))
        return found

    def read(self, lane: Lane) -> Ledger:
        """Return every live claim of a repository, as of one moment."""
        with self._lock:
            ledger = self._of(lane).ledger
            return ledger if ledger.lane == lane else replace(ledger, lane=lane)

    def commit(self, ledger: Ledger, change: Change) -> Ledger:
        """Write a change; raises Stale, and changes nothing, if the ledger moved since."""
        with self._lock:
            record = self._of(ledger.lane)
            if record.ledger.revision != ledger.revision:
                raise Stale(f"the ledger moved on since revision {ledger.revision}")
            record.ledger = replace(
                ledger.with_claims(change.claims),
                epoch=ledger.epoch or "memory",
                revision=ledger.revision + 1,
                generation=max(ledger.generation, change.generation),
            )
            for claim in change.claims:
                if not claim.live:
                    record.ended.pop(claim.id, None)
                    record.ended[claim.id] = claim
            while len(record.ended) > LEDGER_ENDED_MAX:
                del record.ended[next(iter(record.ended))]
            record.notes[:0] = reversed(change.notes)
            del record.notes[NOTES_MAX:]
            record.asked[:0] = [note for note in reversed(change.notes) if note.what == ASKED]
            del record.asked[NOTES_MAX:]
            return record.ledger

    def find(self, lane: Lane, name: str) -> LedgerClaim | None:
        """Return a claim by its id, live or ended."""
        with self._lock:
            record = self._of(lane)
            return record.ledger.claims.get(name) or record.ended.get(name)

    def ended(self, lane: Lane, *, limit: int) -> Sequence[LedgerClaim]:
        """Return the newest ended claims, newest first."""
        with self._lock:
            return list(reversed(self._of(lane).ended.values()))[: max(limit, 0)]

    def notes(self, lane: Lane, *, limit: int) -> Sequence[Note]:
        """Return the newest lines of the ledger's story, newest first."""
        with self._lock:
            return self._of(lane).notes[: max(limit, 1)]

    def asked(self, lane: Lane) -> Sequence[Note]:
        """Return the lines that record a question to a person, newest first, however old."""
        with self._lock:
            return list(self._of(lane).asked)

    def report(self, lane: Lane, report: HostReport) -> None:
        """Keep what a host says of its worktrees, instead of what it said before."""
        with self._lock:
            self._of(lane).hosts[report.host] = report

    def reports(self, lane: Lane) -> Sequence[HostReport]:
        """Return what every host said last, by name."""
        with self._lock:
            return [report for _, report in sorted(self._of(lane).hosts.items())]

    def decided(self, lane: Lane, decided: Decided) -> None:
        """Record what a person decided about work that only one machine has."""
        with self._lock:
            self._of(lane).decisions.append(decided)
            del self._of(lane).decisions[:-DECISIONS_MAX]

    def decisions(self, lane: Lane) -> Sequence[Decided]:
        """Return the recorded decisions, oldest first."""
        with self._lock:
            return list(self._of(lane).decisions)

    def say(self, lane: Lane, said: Said) -> None:
        """Record somebody's word on a contract."""
        with self._lock:
            self._of(lane).said.setdefault(said.pr, []).append(said)

    def sayings(self, lane: Lane, pr: int) -> Sequence[Said]:
        """Return what was said of contracts on a pull request, oldest first."""
        with self._lock:
            return list(self._of(lane).said.get(pr, ()))

    def collide(self, lane: Lane, collision: Collision) -> None:
        """Count that somebody was refused a claim."""
        with self._lock:
            self._of(lane).collisions.insert(0, collision)
            del self._of(lane).collisions[DECISIONS_MAX:]

    def collisions(self, lane: Lane, *, limit: int) -> Sequence[Collision]:
        """Return the newest refusals, newest first."""
        with self._lock:
            return self._of(lane).collisions[: max(limit, 1)]

    def spend(self, lane: Lane, cost: Cost) -> Cost:
        """Record a cost, and return what stands under its claim and reference: the first report."""
        with self._lock:
            costs = self._of(lane).costs
            known = costs.setdefault((cost.claim, cost.reference), cost)
            while len(costs) > COSTS_MAX:
                del costs[next(iter(costs))]
            return known

    def costs(self, lane: Lane, *, limit: int) -> Sequence[Cost]:
        """Return the newest reported costs, newest first."""
        with self._lock:
            return list(reversed(self._of(lane).costs.values()))[: max(limit, 0)]

    def keep_early(self, lane: Lane, early: Early) -> None:
        """Keep what is known of a pull request before it is queued."""
        with self._lock:
            self._of(lane).early[early.pr] = early

    def drop_early(self, lane: Lane, pr: int) -> None:
        """Forget what was known of a pull request that is closed."""
        with self._lock:
            self._of(lane).early.pop(pr, None)

    def early(self, lane: Lane) -> Sequence[Early]:
        """Return what is known of every open pull request, by number."""
        with self._lock:
            return [early for _, early in sorted(self._of(lane).early.items())]
