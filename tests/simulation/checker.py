"""Safety: what must be true after every step, told from history, not from what the bot intends.

The checker hears every commit of the record, every move of a ref, every verdict that was recorded
and everything that people did. Each check names the promise that it holds the bot to.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mergebot.adapters.memory.hosting import Hosting
from mergebot.adapters.memory.remote import Moved
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.candidate import (
    Blocked,
    Cancelled,
    Candidate,
    Ejected,
    Failing,
    Kind,
    Landing,
    Parked,
    State,
)
from mergebot.domain.gate import Passed
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Green, Red, Snapshot
from mergebot.domain.news import CommentMade, LabelSet, News
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.reasons import Reason
from mergebot.domain.receipts import Receipt
from mergebot.domain.status import reason_of
from tests.simulation.gates import Results
from tests.simulation.people import FIX, QUEUE
from tests.simulation.stage import Stage

TRUNK = "refs/heads/main"
NEVER = ("elsewhere", ".github/", "-")
"""How paths begin that no change here may land."""

CAUSE_S = 400.0
"""How long ago a cause may lie: webhooks come late, and replicas lag."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asked to land `head` of `pr`."""

    pr: int
    head: Sha


@dataclass(slots=True)
class Checker:
    """Everything that was seen, and every promise that was broken."""

    stage: Stage
    hosting: Hosting
    store: MemoryStore
    lane: Lane
    bot: Actor
    results: Results
    broken: list[str] = field(default_factory=list)
    reached: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    rights: list[tuple[float, dict[int, Permission]]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    open: dict[tuple[int, int], Candidate] = field(default_factory=dict)
    ended: dict[tuple[int, int], State] = field(default_factory=dict)
    landed: list[Receipt] = field(default_factory=list)
    forgiving: bool = False

    def news(self, news: News) -> None:
        """Hear what happened on the forge."""
        match news:
            case LabelSet(actor=actor, pull=pull) if actor != self.bot:
                self._ask(pull.number, pull.head)
            case CommentMade(author=author, number=number) if author != self.bot:
                self._ask(number, self.hosting.pulls[number].head)
            case _:
                return

    def _ask(self, pr: int, head: Sha) -> None:
        self.asked.append(Asked(pr, head))
        self.note_rights()

    def note_rights(self) -> None:
        """Note what everybody may do now."""
        self.rights.append((self.stage.clock.now(), dict(self.hosting.people)))

    def committed(self, after: Snapshot, candidates: tuple[Candidate, ...]) -> None:
        """Hear that the record changed."""
        mistake = "made a mistake" in after.state.waiting
        self._hold("I08 no mistake of ours", not mistake, after.state.waiting)
        for candidate in candidates:
            self._changed(after, candidate)
        present = {(each.pr, each.attempt): each for each in after.candidates}
        for key in self.open.keys() - present.keys():
            self._hold("I08 nothing is lost", key in self.ended, f"#{key[0]} vanished")
        landing = [each for each in after.candidates if isinstance(each.state, Landing)]
        self._hold("I06 one landing at a time", len(landing) <= 1, str(len(landing)))
        self.open = present

    def _changed(self, after: Snapshot, candidate: Candidate) -> None:
        key = (candidate.pr, candidate.attempt)
        state = candidate.state
        self.reached[f"state {type(state).__name__}"] += 1
        if reason := reason_of(state):
            self.reached[f"reason {reason}"] += 1
        known = self.ended.get(key)
        self._hold("I11 an end stays", known in (None, state), f"#{key[0]}: {known} -> {state}")
        if not candidate.open:
            self.ended[key] = state
        if isinstance(state, Ejected) and after.policy:
            spent = candidate.budget.infra <= after.policy.budget.infra + 1
            self._hold("I11 budgets hold", spent, f"#{key[0]} {candidate.budget}")
        if isinstance(state, Cancelled):
            self._hold(
                "I08 no end without its cause", self._caused(candidate, state), f"#{key[0]} {state}"
            )
        before = self.open.get(key)
        if isinstance(state, Landing) and (before is None or before.state != state):
            self._intended(after, candidate, state)

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
                return any(not {QUEUE, FIX} & set(each.labels) for each in pulls)
            case _:
                return True

    def _in_one_second(self, pr: int) -> bool:
        """Tell whether the head was pushed in the very second of its last label: no one can tell."""
        pull = self.hosting.pulls[pr]
        pushed = self.hosting.pushed_at.get(f"{pull.head_repo}:{pull.head_branch}", 0.0)
        labels = self.hosting.labels.get(pr, [])
        return bool(labels) and pushed >= labels[-1].event.at

    def _intended(self, after: Snapshot, candidate: Candidate, state: Landing) -> None:
        lane, pr = after.state, candidate.pr
        repair = candidate.kind is Kind.REPAIR
        healthy = isinstance(lane.health, Green) or (repair and isinstance(lane.health, Red))
        known = isinstance(lane.health, Green | Red) and lane.health.tip == state.merge.base
        self._hold("I10 red halts", healthy and known, f"#{pr} lands while {lane.health}")
        passes = self.results.by_commit.get(state.merge.base, [])
        tested = repair or any(isinstance(each.result, Passed) for each in passes)
        self._hold("I10 unknown is never a pass", tested, f"#{pr} on {state.merge.base}")
        self._hold("I10 a halt halts", lane.halt is None, f"#{pr} lands in a halt")
        self._hold("I10 no landing in recovery", not lane.recovering, f"#{pr}")
        waiting = (Parked, Blocked, Failing)
        for other in after.candidates:
            ahead = other.place < candidate.place and (other.kind is Kind.REPAIR) >= repair
            passed = not ahead or isinstance(other.state, waiting) or other.pr == pr
            self._hold("I09 in order", passed, f"#{pr} overtakes #{other.pr} {other.state}")

    def moved(self, event: Moved) -> None:
        """Hear that refs moved on the forge."""
        for move in event.refs:
            if move.ref == TRUNK and move.old and move.new and event.by == self.bot:
                self._landing(move.old, move.new)

    def _landing(self, old: Sha, new: Sha) -> None:
        text = self.hosting.remote.now.notes.get(new)
        self._hold("I14 a receipt for each landing", text is not None, new)
        if text is None:
            return
        receipt = Receipt(text)
        said = receipt.fields
        pr, head = int(str(said["pr"])), Sha(str(said["head"]))
        self.stage.tell(f"LANDED #{pr} as {new[:7]}")
        self.stage.tally["landings"] += 1
        gated = self.results.by_commit.get(new, [])
        passed = any(isinstance(each.result, Passed) for each in gated)
        spec = any(each.spec == _spec(said) for each in gated)
        self._hold("I01 what lands was gated", passed and spec, f"#{pr} {new}")
        self._hold("I02 on its base", (said["base"], said["merged"]) == (old, new), f"#{pr}")
        self._only_the_change(pr, old, new, head)
        self._in_scope(pr, old, new)
        self._authorised(pr, head, said)
        self._as_recorded(pr, new)
        again = [
            each for each in self.landed if (each.fields["pr"], each.fields["head"]) == (pr, head)
        ]
        self._hold("I06 at most once", not again, f"#{pr} at {head}")
        before = int(str(self.landed[-1].fields["generation"])) if self.landed else 0
        rises = int(str(said["generation"])) > before
        self._hold("I07 generations rise", rises, f"#{pr} {said['generation']} after {before}")
        chained = said["previous"] in self._ends_of_chain(old)
        self._hold("I14 receipts are chained", chained, f"#{pr}")
        self.landed.append(receipt)

    def _ends_of_chain(self, tip: Sha) -> set[str]:
        """Return what the next receipt may follow.

        Where Redis lost a landing that somebody then took off the trunk, only the notes know it.
        """
        last = self.landed[-1].digest if self.landed else ""
        if not self.forgiving:
            return {last}
        there = self.hosting.remote.objects.ancestors(tip)
        kept = [each.digest for each in self.landed if str(each.fields["merged"]) in there]
        return {last, kept[-1] if kept else ""}

    def _only_the_change(self, pr: int, old: Sha, new: Sha, head: Sha) -> None:
        objects = self.hosting.remote.objects
        fork = objects.fork(old, head)
        own = {each.path for each in objects.changes(fork, head)} if fork else set()
        landed = {each.path for each in objects.changes(old, new)}
        self._hold("I03 only the change", landed <= own, f"#{pr} {landed - own}")

    def _in_scope(self, pr: int, old: Sha, new: Sha) -> None:
        """Hold the landing to an oracle of paths: nobody's claim covers these here."""
        paths = [each.path for each in self.hosting.remote.objects.changes(old, new)]
        never = [path for path in paths if path.startswith(NEVER)]
        self._hold("I05 inside its claim", not never, f"#{pr} {never}")

    def _authorised(self, pr: int, head: Sha, said: Mapping[str, object]) -> None:
        asked = any(each.pr == pr and each.head == head for each in self.asked)
        self._hold("I04 somebody asked for this head", asked, f"#{pr} {head}")
        job = self.stage.current
        read_at = job.notes.get("pull_read_at") if job else None
        self._hold("I04 the PR was read", isinstance(read_at, float), f"#{pr}")
        if isinstance(read_at, float):
            pull = self.hosting.as_of(read_at).get(pr)
            right = pull is not None and _fit(pull, head)
            self._hold("I04 it was fit when it was read", right, f"#{pr} {pull}")
            by = said["enqueued_by"]
            who = int(str(by["id"])) if isinstance(by, dict) else 0
            rights = [each for at, each in self.rights if at >= read_at] or [self.rights[-1][1]]
            before = [each for at, each in self.rights if at <= read_at][-1:]
            may = any(
                each.get(who, Permission.NONE) >= Permission.WRITE for each in (*before, *rights)
            )
            self._hold("I04 who asked may still land", who == self.bot.id or may, f"#{pr} {by}")

    def _as_recorded(self, pr: int, new: Sha) -> None:
        candidate = self.store.read(self.lane).candidate(pr)
        state = candidate.state if candidate else None
        intended = isinstance(state, Landing) and state.merge.merged == new
        if not self.forgiving:
            self._hold("I07 pushed as the record says", intended, f"#{pr} is {state}")

    def forget(self, present: Snapshot) -> None:
        """Take the record as it is: its last writes were lost, or all of it."""
        self.forgiving = True
        self.open = {(each.pr, each.attempt): each for each in present.candidates}
        kept = {(each.pr, each.attempt) for each in self.store.ended(self.lane, limit=1000)}
        self.ended = {key: state for key, state in self.ended.items() if key in kept}

    def _hold(self, promise: str, kept: object, what: str) -> None:
        self.checks[promise.split(" ", 1)[0]] += 1
        if not kept:
            self.broken.append(f"{promise}: {what}")
            self.stage.tell(f"BROKEN {promise}: {what}")


def _fit(pull: PullRequest, head: Sha) -> bool:
    labelled = QUEUE in pull.labels or FIX in pull.labels
    shape = not pull.closed and not pull.draft and pull.base == "main"
    return shape and labelled and pull.head == head


def _spec(said: object) -> str:
    gate = said.get("gate") if isinstance(said, dict) else None
    return str(gate.get("spec")) if isinstance(gate, dict) else ""
