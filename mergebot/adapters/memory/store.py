"""The store over dictionaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from threading import RLock

from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.record import (
    ENDED_MAX,
    LANDINGS_MAX,
    ONCE_KEEP_S,
    STORY_MAX,
    committed,
    identity,
    references,
)
from mergebot.domain.candidate import Candidate
from mergebot.domain.ids import Lane
from mergebot.domain.lane import NEW_LANE, LaneState, Snapshot
from mergebot.domain.limits import STARTS_KEEP_S, WRITES_PER_MINUTE, WRITES_WINDOW_S
from mergebot.domain.receipts import Receipt
from mergebot.domain.story import Entry
from mergebot.ports.basics import Clock
from mergebot.ports.store import Commit, Due, NoticeRecord, SeenHead, Stale

_MARKS = count(1)
"""Names of commits, which never come again, whatever was lost."""


@dataclass(slots=True)
class _Outbox:
    """The effects of a lane by key, and when each is due."""

    waiting: dict[str, Due] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)

    def current(self, due: Due) -> bool:
        found = self.waiting.get(due.effect.key)
        return found is not None and found.version == due.version


@dataclass(slots=True)
class _Record:
    """Everything about one lane; an ended candidate carries the revision at which it ended."""

    revision: int = 0
    mark: str = ""
    state: LaneState = NEW_LANE
    candidates: tuple[Candidate, ...] = ()
    ended: dict[str, tuple[int, Candidate]] = field(default_factory=dict)
    newest: dict[int, Candidate] = field(default_factory=dict)
    stories: dict[int, list[Entry]] = field(default_factory=dict)
    landings: list[Receipt] = field(default_factory=list)
    outbox: _Outbox = field(default_factory=_Outbox)
    heads: Mapping[int, SeenHead] = field(default_factory=dict)
    notices: dict[int, NoticeRecord] = field(default_factory=dict)
    told: dict[str, float] = field(default_factory=dict)
    _used: tuple[str, tuple[str, ...]] = ("", ())

    def used(self) -> tuple[str, ...]:
        """Return the runs that the lane speaks of, worked out once for each commit."""
        if self._used[0] != self.mark:
            found = tuple(sorted(references(self.state, self.candidates)))
            self._used = self.mark, found
        return self._used[1]

    def latest(self, pr: int) -> Candidate | None:
        found = next((each for each in self.candidates if each.pr == pr), None)
        return found or self.newest.get(pr)


class MemoryStore:
    """The record over dictionaries; safe to use from several threads."""

    def __init__(self, clock: Clock, runs: MemoryRuns) -> None:
        self._clock = clock
        self._runs = runs
        self._lock = RLock()
        self._lanes: dict[str, Lane] = {}
        self._records: dict[str, _Record] = {}
        self._begun: dict[tuple[str, str], tuple[int, float]] = {}
        self._written: dict[str, list[float]] = {}

    def _record(self, lane: Lane) -> _Record:
        key = lane.key
        found = self._records.get(key)
        if found is None:
            found = self._records[key] = _Record()
        return found

    def lanes(self) -> Sequence[Lane]:
        """Return every lane known, by repository and trunk."""
        with self._lock:
            known = list(self._lanes.values())
        return sorted(known, key=lambda lane: (lane.repo, lane.trunk, lane.repo_id))

    def lane(self, repo: str) -> Lane | None:
        """Return the lane of the repository called `repo`, in any case, as forges compare names."""
        name = repo.casefold()
        return next((lane for lane in self.lanes() if lane.repo.casefold() == name), None)

    def open_lane(self, lane: Lane) -> None:
        """Make a lane known, or note that its repository was renamed."""
        with self._lock:
            self._lanes[lane.key] = lane

    def close_lane(self, lane: Lane) -> None:
        """Forget that a lane is served; its record stays."""
        with self._lock:
            self._lanes.pop(lane.key, None)

    def read(self, lane: Lane) -> Snapshot:
        """Return everything about a lane that a decision needs, as of one moment."""
        with self._lock:
            record = self._record(lane)
            now = self._clock.now()
            return Snapshot(
                lane=lane,
                revision=record.revision,
                state=record.state,
                candidates=record.candidates,
                runs=self._runs.these(lane, record.used()),
                slots=self._runs.workers(now),
                now=now,
                mark=record.mark,
                hosts=self._runs.hosts(lane, now),
            )

    def commit(self, snapshot: Snapshot, commit: Commit) -> Snapshot:
        """Write a decision; raises Stale, and changes nothing, if the lane moved since."""
        with self._lock:
            record = self._record(snapshot.lane)
            if (record.revision, record.mark) != (snapshot.revision, snapshot.mark):
                raise Stale(f"{snapshot.lane.repo} moved on since revision {snapshot.revision}")
            after = replace(committed(snapshot, commit), mark=f"{next(_MARKS):x}")
            record.mark = after.mark
            record.revision = after.revision
            record.state = after.state
            record.candidates = after.candidates
            for order in commit.orders:
                self._runs.order(snapshot.lane, order)
            for run in commit.stops:
                self._runs.stop(snapshot.lane, run)
            self._write(record, commit)
            return after

    def _write(self, record: _Record, commit: Commit) -> None:
        for candidate in commit.candidates:
            if not candidate.open:
                first, _ = record.ended.get(identity(candidate), (record.revision, candidate))
                record.ended[identity(candidate)] = first, candidate
                record.newest[candidate.pr] = candidate
        if len(record.ended) > ENDED_MAX:
            for name in _newest_first(record)[ENDED_MAX:]:
                del record.ended[name]
        for effect in commit.effects:
            record.outbox.waiting[effect.key] = Due(effect, record.revision, 0)
            record.outbox.times[effect.key] = self._clock.now()
        for entry in commit.entries:
            story = record.stories.setdefault(entry.pr, [])
            story.append(entry)
            del story[:-STORY_MAX]
        record.landings.extend(commit.landed)
        del record.landings[:-LANDINGS_MAX]

    def ended(self, lane: Lane, *, limit: int) -> Sequence[Candidate]:
        """Return the newest ended candidates, newest first."""
        with self._lock:
            record = self._record(lane)
            names = _newest_first(record)[: max(limit, 0)]
            return [record.ended[name][1] for name in names]

    def latest(self, lane: Lane, pr: int) -> Candidate | None:
        """Return the PR's newest candidate, open or ended."""
        with self._lock:
            return self._record(lane).latest(pr)

    def story(self, lane: Lane, pr: int, *, limit: int) -> Sequence[Entry]:
        """Return what happened to a PR (0: to the lane itself), oldest first."""
        with self._lock:
            story = self._record(lane).stories.get(pr, [])
            return story[-limit:] if limit > 0 else []

    def landings(self, lane: Lane, *, limit: int) -> Sequence[Receipt]:
        """Return the newest receipts, newest first."""
        with self._lock:
            return self._record(lane).landings[::-1][: max(limit, 0)]

    def due_effects(self, lane: Lane, now: float, *, limit: int) -> Sequence[Due]:
        """Return effects whose time has come, the longest waiting first."""
        with self._lock:
            outbox = self._record(lane).outbox
            if not outbox.times:
                return []
            ready = sorted((at, key) for key, at in outbox.times.items() if at <= now)
            return [outbox.waiting[key] for _, key in ready[: max(limit, 0)]]

    def settle_effect(self, lane: Lane, due: Due) -> None:
        """Take a done effect out, unless a newer one replaced it meanwhile."""
        with self._lock:
            outbox = self._record(lane).outbox
            if outbox.current(due):
                del outbox.waiting[due.effect.key], outbox.times[due.effect.key]

    def delay_effect(self, lane: Lane, due: Due, until: float) -> None:
        """Put an effect that failed back until a later time, counting the try."""
        with self._lock:
            outbox = self._record(lane).outbox
            if outbox.current(due):
                outbox.waiting[due.effect.key] = replace(due, tries=due.tries + 1)
                outbox.times[due.effect.key] = until

    def lagging(self, lane: Lane) -> Sequence[Due]:
        """Return effects that have failed at least once and still wait, by key."""
        with self._lock:
            waiting = self._record(lane).outbox.waiting
            return [waiting[key] for key in sorted(waiting) if waiting[key].tries]

    def seen_heads(self, lane: Lane) -> Mapping[int, SeenHead]:
        """Return the heads that the reconciler saw last, by PR."""
        with self._lock:
            return self._record(lane).heads

    def see_heads(self, lane: Lane, heads: Mapping[int, SeenHead]) -> None:
        """Replace the heads seen."""
        with self._lock:
            self._record(lane).heads = dict(heads)

    def notice(self, lane: Lane, pr: int) -> NoticeRecord | None:
        """Return the record of a PR's sticky comment."""
        with self._lock:
            return self._record(lane).notices.get(pr)

    def keep_notice(self, lane: Lane, pr: int, record: NoticeRecord) -> None:
        """Keep the record of a PR's sticky comment."""
        with self._lock:
            self._record(lane).notices[pr] = record

    def once(self, lane: Lane, topic: str) -> bool:
        """Return True the first time it is asked about a topic in thirty days, False afterwards."""
        with self._lock:
            told = self._record(lane).told
            now = self._clock.now()
            if told.get(topic, 0.0) > now:
                return False
            told[topic] = now + ONCE_KEEP_S
            return True

    def asked_once(self, lane: Lane, topic: str) -> bool:
        """Tell whether `once` was asked about a topic within thirty days; changes nothing."""
        with self._lock:
            return self._record(lane).told.get(topic, 0.0) > self._clock.now()

    def begin(self, lane: Lane, work: str) -> int:
        """Count, before it runs, that a piece of work begins; return how often without an end."""
        with self._lock:
            now = self._clock.now()
            count, until = self._begun.get((lane.key, work), (0, 0.0))
            count = count + 1 if until > now else 1
            self._begun[lane.key, work] = count, until if count > 1 else now + STARTS_KEEP_S
            return count

    def end(self, lane: Lane, work: str) -> None:
        """Note that a piece of work ended, well or not: it did not kill its worker."""
        with self._lock:
            self._begun.pop((lane.key, work), None)

    def pace(self, account: str, writes: int, *, spare: int = 0) -> float:
        """Take `writes` out of the account's minute; else take none and return the wait."""
        with self._lock:
            now = self._clock.now()
            recent = [at for at in self._written.get(account, []) if at > now - WRITES_WINDOW_S]
            self._written[account] = recent
            if len(recent) + writes > WRITES_PER_MINUTE - spare:
                # Never 0.0, which would mean that they were taken.
                return max(0.001, recent[0] + WRITES_WINDOW_S - now)
            recent += [now] * writes
            return 0.0


def _newest_first(record: _Record) -> list[str]:
    """Return the names of the ended candidates as Redis lists them."""
    return sorted(record.ended, key=lambda name: (record.ended[name][0], name), reverse=True)
