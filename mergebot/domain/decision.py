"""A decision in the making: the snapshot as it will be, and everything that follows from it.

Rules take a decision and return a richer one. Nothing happens until it is committed, all at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mergebot.domain.candidate import Candidate, Claim, Kind, Landed, State, Verified, runs_of
from mergebot.domain.effects import Effect, EndClaim, KeepHalt, PublishNotice, RemoveLabel
from mergebot.domain.halting import joined
from mergebot.domain.lane import Halt, RunOrder, Snapshot
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.receipts import Receipt
from mergebot.domain.story import Entry


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided so far, from one snapshot; an untouched one changes nothing."""

    snapshot: Snapshot
    candidates: tuple[Candidate, ...] = ()
    orders: tuple[RunOrder, ...] = ()
    stops: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    entries: tuple[Entry, ...] = ()
    landed: tuple[Receipt, ...] = ()
    touched: bool = False

    def lane(self, **changes: object) -> "Decision":
        """Change fields of the lane's state."""
        return replace(self, snapshot=self.snapshot.with_state(**changes), touched=True)

    def tell(self, kind: str, text: str, *, pr: int = 0) -> "Decision":
        """Add an entry to the story."""
        entry = Entry(self.snapshot.now, pr, kind, text)
        return replace(self, entries=(*self.entries, entry), touched=True)

    def halt(self, halt: Halt, text: str) -> "Decision":
        """Let nothing land until somebody resumes, and let git remember it.

        A halt that stands already is not replaced: both have to be over.
        """
        both = joined(self.snapshot.state.halt, halt)
        if both == self.snapshot.state.halt:
            return self
        return self.lane(halt=both).tell("halted", text).want(KeepHalt())

    def resume(self, text: str) -> "Decision":
        """End the halt, in git too; whoever made it may have another clock."""
        halt, now = self.snapshot.state.halt, self.snapshot.now
        resumed = self.lane(halt=None, resumed_at=max(now, halt.since if halt else now))
        return resumed.tell("resumed", text).want(KeepHalt())

    def want(self, *effects: Effect) -> "Decision":
        """Ask for effects."""
        return replace(self, effects=(*self.effects, *effects), touched=True)

    def order(self, order: RunOrder) -> "Decision":
        """Order a gate run."""
        return replace(self, orders=(*self.orders, order), touched=True)

    def stop(self, run: str) -> "Decision":
        """Stop a run whose outcome nobody can use any more."""
        return replace(self, stops=(*self.stops, run), touched=True)

    def receipt(self, receipt: Receipt) -> "Decision":
        """Add a landing's receipt, and chain the next one to it."""
        chained = self.lane(last_receipt=receipt.digest)
        return replace(chained, landed=(*self.landed, receipt))

    def put(self, *candidates: Candidate) -> "Decision":
        """Put candidates into the snapshot as they are now."""
        fresh = {(each.pr, each.attempt): each for each in candidates}
        others = [each for each in self.candidates if (each.pr, each.attempt) not in fresh]
        return replace(
            self,
            snapshot=self.snapshot.with_candidates(candidates),
            candidates=(*others, *fresh.values()),
            touched=True,
        )

    def move(self, candidate: Candidate, state: State, text: str) -> "Decision":
        """Move a candidate to `state`, stop a run it leaves behind, and tell the story.

        The notice is brought up to date, and a candidate that ends gives its labels back.
        """
        return self.move_all(((candidate, state),), text)

    def move_all(self, moves: Sequence[tuple[Candidate, State]], text: str) -> "Decision":
        """Move several candidates for one reason, at the cost of one."""
        now = self.snapshot.now
        moved = [candidate.moved(state) for candidate, state in moves]
        left = {
            run: None
            for (candidate, _), after in zip(moves, moved, strict=True)
            for run in sorted(runs_of(candidate) - runs_of(after))
        }
        entries = [Entry(now, each.pr, type(each.state).__name__.lower(), text) for each in moved]
        notices = [effect for each in moved for effect in _notices(each, self.snapshot)]
        return replace(
            self.put(*moved),
            entries=(*self.entries, *entries),
            stops=(*self.stops, *left),
            effects=(*self.effects, *notices),
        )


def _notices(candidate: Candidate, snapshot: Snapshot) -> tuple[Effect, ...]:
    """Return what a move asks for; a state that lasts a moment is not worth a comment."""
    if isinstance(candidate.state, Verified):
        return ()
    notice = PublishNotice(candidate.pr, candidate.attempt)
    if candidate.open:
        return (notice,)
    queue = snapshot.policy.queue if snapshot.policy else QueuePolicy()
    label = queue.fix_label if candidate.kind is Kind.REPAIR else queue.label
    ended: tuple[Effect, ...] = (notice, RemoveLabel(candidate.pr, label))
    if isinstance(candidate.state, Landed) and isinstance(candidate.claim, Claim):
        return (*ended, EndClaim(candidate.pr, candidate.state.receipt))
    return ended
