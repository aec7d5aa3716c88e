"""The queue's record: read once, decide, commit once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mergebot.domain.candidate import Candidate
from mergebot.domain.effects import Effect
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import LaneState, RunOrder, Snapshot
from mergebot.domain.receipts import Receipt
from mergebot.domain.story import Entry


class Stale(Exception):
    """Somebody else committed first: read again, decide again."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What one decision changes, all or nothing.

    `candidates` holds every candidate that changed, open or ended; `orders` are new gate runs,
    `stops` the runs that no outcome can use any more.
    """

    state: LaneState
    candidates: tuple[Candidate, ...] = ()
    orders: tuple[RunOrder, ...] = ()
    stops: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    entries: tuple[Entry, ...] = ()
    landed: tuple[Receipt, ...] = ()


@dataclass(frozen=True, slots=True)
class Due:
    """An effect whose time has come; `version` guards against settling a newer one."""

    effect: Effect
    version: int
    tries: int


@dataclass(frozen=True, slots=True)
class SeenHead:
    """The head of a PR as the reconciler saw it, and when."""

    head: Sha
    at: float


@dataclass(frozen=True, slots=True)
class NoticeRecord:
    """The sticky comment of a PR: its id, and the digest of what was last written there."""

    comment_id: int
    digest: str


class Store(Protocol):
    """The queue's single source of truth. Every method raises Unavailable.

    A lane's record has a revision; `commit` changes the record only at the revision that was read.
    """

    def lanes(self) -> Sequence[Lane]:
        """Return every lane known."""
        ...

    def lane(self, repo: str) -> Lane | None:
        """Return the lane of the repository called `repo`."""
        ...

    def open_lane(self, lane: Lane) -> None:
        """Make a lane known, or note that its repository was renamed."""
        ...

    def close_lane(self, lane: Lane) -> None:
        """Forget that a lane is served; its record stays."""
        ...

    def read(self, lane: Lane) -> Snapshot:
        """Return everything about a lane that a decision needs, as of one moment."""
        ...

    def commit(self, snapshot: Snapshot, commit: Commit) -> Snapshot:
        """Write a decision; raises Stale, and changes nothing, if the lane moved since."""
        ...

    def ended(self, lane: Lane, *, limit: int) -> Sequence[Candidate]:
        """Return the newest ended candidates, newest first."""
        ...

    def latest(self, lane: Lane, pr: int) -> Candidate | None:
        """Return the PR's newest candidate, open or ended."""
        ...

    def story(self, lane: Lane, pr: int, *, limit: int) -> Sequence[Entry]:
        """Return what happened to a PR (0: to the lane itself), oldest first."""
        ...

    def landings(self, lane: Lane, *, limit: int) -> Sequence[Receipt]:
        """Return the newest receipts, newest first."""
        ...

    def due_effects(self, lane: Lane, now: float, *, limit: int) -> Sequence[Due]:
        """Return effects whose time has come."""
        ...

    def settle_effect(self, lane: Lane, due: Due) -> None:
        """Take a done effect out, unless a newer one replaced it meanwhile."""
        ...

    def delay_effect(self, lane: Lane, due: Due, until: float) -> None:
        """Put an effect that failed back until a later time, counting the try."""
        ...

    def lagging(self, lane: Lane) -> Sequence[Due]:
        """Return effects that have failed at least once and still wait."""
        ...

    def seen_heads(self, lane: Lane) -> Mapping[int, SeenHead]:
        """Return the heads that the reconciler saw last, by PR."""
        ...

    def see_heads(self, lane: Lane, heads: Mapping[int, SeenHead]) -> None:
        """Replace the heads seen."""
        ...

    def notice(self, lane: Lane, pr: int) -> NoticeRecord | None:
        """Return the record of a PR's sticky comment."""
        ...

    def keep_notice(self, lane: Lane, pr: int, record: NoticeRecord) -> None:
        """Keep the record of a PR's sticky comment."""
        ...

    def once(self, lane: Lane, topic: str) -> bool:
        """Return True the first time it is asked about a topic in thirty days, False afterwards."""
        ...

    def asked_once(self, lane: Lane, topic: str) -> bool:
        """Tell whether `once` was asked about a topic within thirty days; changes nothing."""
        ...

    def begin(self, lane: Lane, work: str) -> int:
        """Count, before it runs, that a piece of work begins; return how often without an end.

        Forgotten after `limits.STARTS_KEEP_S`: work that killed its worker is tried again then.
        """
        ...

    def end(self, lane: Lane, work: str) -> None:
        """Note that a piece of work ended, well or not: it did not kill its worker."""
        ...

    def pace(self, account: str, writes: int, *, spare: int = 0) -> float:
        """Take `writes` out of the account's minute; else take none and return the wait in seconds.

        The minute is shared by every worker: `limits.WRITES_PER_MINUTE`, of which `spare` are left,
        or any number where the forge has no such limit.
        """
        ...
