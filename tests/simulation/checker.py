"""Safety: what must be true after every step, told from history, not from what the bot intends.

The checker hears every commit of the record; `landings.py` hears every move of a ref, `village.py`
every commit of the ledger. Each check names the promise that it holds the bot to.
"""

from collections import Counter
from dataclasses import dataclass, field

from mergebot.adapters.memory.hosting import Hosting
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.candidate import (
    Apart,
    Blocked,
    Cancelled,
    Candidate,
    Ejected,
    Failing,
    Gating,
    Kind,
    Landed,
    Landing,
    Parked,
    Queued,
    State,
)
from mergebot.domain.hedging import room
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Green, Health, Red, Snapshot, UnknownHealth
from mergebot.domain.reasons import Reason
from mergebot.domain.status import reason_of
from mergebot.services.external import SILENT_MAX
from tests.simulation.ci import Ci
from tests.simulation.gates import Results
from tests.simulation.people import FIX, QUEUE
from tests.simulation.promises import Promises

CAUSE_S = 400.0
"""How long ago a cause may lie: webhooks come late, and replicas lag."""


@dataclass(slots=True)
class Checker:
    """Every commit of the record, held against what was seen to happen."""

    promises: Promises
    hosting: Hosting
    store: MemoryStore
    lane: Lane
    results: Results
    ci: Ci
    reached: Counter[str] = field(default_factory=Counter)
    open: dict[tuple[int, int], Candidate] = field(default_factory=dict)
    ended: dict[tuple[int, int], State] = field(default_factory=dict)
    health: Health = field(default_factory=UnknownHealth)
    waited: dict[tuple[int, int], float] = field(default_factory=dict)
    ordered: dict[str, float] = field(default_factory=dict)
    writes_lost: bool = False
    hedges: set[str] = field(default_factory=set)

    def committed(self, after: Snapshot, candidates: tuple[Candidate, ...]) -> None:
        """Hear that the record changed."""
        mistake = "made a mistake" in after.state.waiting
        self.promises.hold("I08 no mistake of ours", not mistake, after.state.waiting)
        for candidate in candidates:
            self._changed(after, candidate)
        present = {(each.pr, each.attempt): each for each in after.candidates}
        for key in self.open.keys() - present.keys():
            self.promises.hold("I08 nothing is lost", key in self.ended, f"#{key[0]} vanished")
        pushes = {
            each.state.verdict.merged
            for each in after.candidates
            if isinstance(each.state, Landing)
        }
        self.promises.hold("I06 one landing at a time", len(pushes) <= 1, str(len(pushes)))
        self._halted(after)
        self._hedged(after)
        self._green(after)
        self.open = present

    def _changed(self, after: Snapshot, candidate: Candidate) -> None:
        key = (candidate.pr, candidate.attempt)
        state = candidate.state
        self.reached[f"state {type(state).__name__}"] += 1
        self.promises.stage.tally["gated apart"] += _apart(state)
        if _waits(state):
            self.waited[key] = after.now
        if isinstance(state, Gating):
            self.ordered.setdefault(state.run, after.now)
        if reason := reason_of(state):
            self.reached[f"reason {reason}"] += 1
        known = self.ended.get(key)
        stays = known in (None, state) or self._landed_unknown(known, state)
        self.promises.hold("I11 an end stays", stays, f"#{key[0]}: {known} -> {state}")
        if not candidate.open:
            self.ended[key] = state
        if isinstance(state, Ejected) and after.policy:
            spent = candidate.budget.infra <= after.policy.budget.infra + 1
            self.promises.hold("I11 budgets hold", spent, f"#{key[0]} {candidate.budget}")
        if isinstance(state, Gating) and after.policy:
            left = candidate.budget.failures < after.policy.budget.failures
            self.promises.hold("I11 budgets hold", left, f"#{key[0]} {candidate.budget}")
        if isinstance(state, Cancelled):
            self.promises.hold(
                "I08 no end without its cause", self._caused(candidate, state), f"#{key[0]} {state}"
            )
        before = self.open.get(key)
        if isinstance(state, Landing) and (before is None or before.state != state):
            self._intended(after, candidate, state)

    def given_up(self, pr: int) -> bool:
        """Tell whether an attempt of a pull request was ejected."""
        return any(at[0] == pr and isinstance(end, Ejected) for at, end in self.ended.items())

    def _caused(self, candidate: Candidate, state: Cancelled) -> bool:
        """Tell whether what a cancellation names was so at some time since shortly before it."""
        since = candidate.enqueued_at - CAUSE_S
        shown = [pulls for at, pulls in self.hosting.history if at >= since]
        earlier = self.hosting.as_of(since)
        pulls = [each[candidate.pr] for each in (earlier, *shown) if candidate.pr in each]
        match state.reason:
            case Reason.CLOSED:
                return any(each.closed for each in pulls)
            case Reason.DRAFT:
                return any(each.draft for each in pulls)
            case Reason.BASE_CHANGED:
                return any(each.base != "main" for each in pulls)
            case Reason.HEAD_CHANGED:
                moved = any(each.head != candidate.head for each in pulls)
                unsure = state.text.startswith("nobody watched")
                return moved or unsure or self._in_one_second(candidate.pr)
            case Reason.LABEL_REMOVED:
                bare = any(not {QUEUE, FIX} & set(each.labels) for each in pulls)
                return bare or self._told_to_cancel(candidate.pr)
            case _:
                return True

    def _told_to_cancel(self, pr: int) -> bool:
        """Tell whether somebody said so in a comment: the label goes only after that."""
        said = [each for each in self.hosting.comments.values() if each.pr == pr]
        return any("@mergebot cancel" in each.body for each in said)

    def _in_one_second(self, pr: int) -> bool:
        """Tell whether the head was pushed in the very second of its last label: no one can tell."""
        pull = self.hosting.pulls[pr]
        pushed = self.hosting.pushed_at.get(f"{pull.head_repo}:{pull.head_branch}", 0.0)
        labels = self.hosting.labels.get(pr, [])
        return bool(labels) and pushed >= labels[-1].event.at

    def _intended(self, after: Snapshot, candidate: Candidate, state: Landing) -> None:
        lane, pr, hold = after.state, candidate.pr, self.promises.hold
        repair = candidate.kind is Kind.REPAIR
        healthy = isinstance(lane.health, Green) or (repair and isinstance(lane.health, Red))
        base = state.verdict.base
        known = isinstance(lane.health, Green | Red) and lane.health.tip == base
        hold("I10 red halts", healthy and known, f"#{pr} lands while {lane.health}")
        tested = repair or self.results.passes(base) or self._seen_green(after, base)
        hold("I10 unknown is never a pass", tested, f"#{pr} on {base}")
        hold("I10 a halt halts", lane.halt is None, f"#{pr} lands in a halt")
        hold("I10 no landing in recovery", not lane.recovering, f"#{pr}")
        for other in after.candidates:
            ahead = other.place < candidate.place and (other.kind is Kind.REPAIR) >= repair
            passed = not ahead or _waits(other.state) or _together(other.state, state)
            passed = passed or self._joined_too_late(after, other, state)
            hold("I09 in order", passed, f"#{pr} overtakes #{other.pr} {other.state}")

    def _landed_unknown(self, known: State | None, state: State) -> bool:
        """Tell whether what ended otherwise had landed, in a record that lost its last writes.

        Where the forge answers from the past, too, only the receipt on the trunk knows of it.
        """
        if not isinstance(known, Cancelled | Ejected) or not isinstance(state, Landed):
            return False
        return self.writes_lost and state.at <= known.at

    def _joined_too_late(self, after: Snapshot, other: Candidate, state: Landing) -> bool:
        """Tell whether a group that began ahead of somebody ran while they waited for something."""
        group = [each for each in after.candidates if _together(each.state, state)]
        waited = self.waited.get((other.pr, other.attempt), -1.0)
        since = self.ordered.get(state.verdict.run, after.now)
        return min(each.place for each in group) < other.place and waited >= since

    def _hedged(self, after: Snapshot) -> None:
        """Hold that hedges take what is idle, and count who lands by one."""
        runs = {hedge.run for each in after.candidates for hedge in each.hedges}
        self.hedges |= runs
        going = [name for name in runs if name in after.runs and not after.runs[name].result]
        hold = self.promises.hold
        # Once Redis has lost who works here, the next tick stops them.
        fits = not going or not after.slots or room(after) >= 0
        hold("I08 hedges are in nobody's way", fits, f"{going}")
        for each in after.candidates:
            landing = each.state if isinstance(each.state, Landing) else None
            known = self.open.get((each.pr, each.attempt))
            if landing and landing.verdict.run in self.hedges and known and known.state != landing:
                self.promises.stage.tally["landed by a hedge"] += 1

    def _green(self, after: Snapshot) -> None:
        """Hold that a trunk which counts as green was found so, by something that looked at it."""
        health = after.state.health
        if isinstance(health, Green) and health != self.health:
            tested = self.results.passes(health.tip) or self._seen_green(after, health.tip)
            self.promises.hold("I10 unknown is never green", tested, f"{health.tip}")
        self.health = health

    def _seen_green(self, after: Snapshot, base: Sha) -> bool:
        """Tell whether the rules let others' checks speak on the trunk, and they were green."""
        policy = after.policy
        if policy is None or not policy.asks_others_about_trunk:
            return False
        return self.ci.ever_green(base, policy.gate.external)

    def _halted(self, after: Snapshot) -> None:
        """Hold that a lane halted over a silent check only where nobody reported it that often."""
        halt = after.state.halt
        if halt is not None and "was not reported" in halt.reason:
            silent = len(self.ci.silent)
            self.promises.hold("I08 no halt without its cause", silent >= SILENT_MAX, halt.reason)

    def forget(self, present: Snapshot) -> None:
        """Take the record as it is: its last writes were lost, or all of it."""
        self.writes_lost = True
        self.open = {(each.pr, each.attempt): each for each in present.candidates}
        kept = {(each.pr, each.attempt) for each in self.store.ended(self.lane, limit=1000)}
        self.ended = {key: state for key, state in self.ended.items() if key in kept}


def _waits(state: State) -> bool:
    """Tell whether others may pass: it waits for something, or is tested beside the chain."""
    return _apart(state) or isinstance(state, Parked | Blocked | Failing)


def _apart(state: State) -> bool:
    return isinstance(state, Queued | Gating) and isinstance(state.company, Apart)


def _together(state: State, landing: Landing) -> bool:
    return isinstance(state, Landing) and state.verdict.run == landing.verdict.run
