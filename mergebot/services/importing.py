"""Taking over the claims file of a plain setup: each line becomes a claim, or is refused by name.

The claims keep their time, so age is not forgotten, and belong to no session: an admin hands one to
whoever proves to be at it (`reclaim`), and an audit frees those that are over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mergebot.domain.ids import Lane
from mergebot.domain.importing import Line
from mergebot.domain.ledger import Ask, Change, Granted, Ledger, LedgerClaim, Taken, Terms, acquire
from mergebot.services.claiming import change
from mergebot.services.parts import Parts


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one line."""

    line: Line
    outcome: LedgerClaim | Taken


def import_lines(parts: Parts, lane: Lane, lines: Sequence[Line]) -> tuple[Imported, ...]:
    """Claim for every line, in the order of the file; raises Unavailable."""
    return tuple(Imported(line, _one(parts, lane, line)) for line in lines)


def _one(parts: Parts, lane: Lane, line: Line) -> LedgerClaim | Taken:
    ask = Ask(task=line.task, patterns=line.patterns, assumes=(), owner=line.owner, branch="")
    now = parts.clock.now()
    terms = Terms(f"c-{parts.tokens.new()[-12:]}", min(line.at, now))

    def decide(ledger: Ledger) -> tuple[LedgerClaim | Taken, Change]:
        found = acquire(ledger, ask, terms)
        if not isinstance(found, Granted):
            return found, Change((), ())
        (note,) = found.change.notes
        told = replace(note, at=now, text=f"imported from line {line.number} of a claims file")
        return found.claim, Change(found.change.claims, (told,))

    return change(parts, lane, decide)
