"""The play: what people and agents do, and what should become of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mergebot.adapters.bot_api import Json, of
from mergebot.cli.demo import sample
from mergebot.cli.demo.narrator import Narrator
from mergebot.cli.demo.sample import Change
from mergebot.cli.demo.stage import Stage

LABEL, FIX_LABEL = "merge-queue", "merge-queue-fix"
PATIENCE_S = 60.0
TERMINAL = ("landed", "ejected", "cancelled")

LANDS = "landed"


class PlayError(Exception):
    """Something that the play waits for did not happen; the text says what."""


@dataclass(frozen=True, slots=True)
class Role:
    """A pull request of the play and how it should end: `landed`, or the reason of its ejection."""

    change: Change
    expected: str
    label: str = LABEL


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a pull request, and what should have."""

    pr: int
    title: str
    state: str
    reason: str
    seconds: float
    expected: str

    @property
    def as_expected(self) -> bool:
        """Tell whether it ended as it should."""
        return self.expected == (LANDS if self.state == LANDS else self.reason)


FIRST = (
    Role(sample.HOURS, LANDS),
    Role(sample.MORNING, LANDS),
    Role(sample.EVENING, "conflict"),
    Role(sample.PEARS, LANDS),
    Role(sample.STRAYING, "out_of_scope"),
    Role(sample.BROKEN, "gate_failed"),
    Role(sample.RENAMED, LANDS),
    Role(sample.RECEIPT, "gate_failed"),
)
BEHIND = (Role(sample.ADDRESS, LANDS), Role(sample.SUNDAYS, LANDS))
REPAIR = Role(sample.REPAIR, LANDS, FIX_LABEL)


class Play:
    """One performance on a stage, told by a narrator."""

    def __init__(self, stage: Stage, narrator: Narrator) -> None:
        self._stage = stage
        self._narrator = narrator
        self._roles: dict[int, Role] = {}
        self._asked: dict[int, float] = {}
        self._ended: dict[int, float] = {}
        self._seen: dict[int, tuple[str, str | None]] = {}
        self._entries: dict[int, Mapping[str, Any]] = {}

    def perform(self) -> list[Outcome]:
        """Play all acts and return what became of every pull request; raises PlayError."""
        self._narrator.begin()
        self._queue_up()
        self._break_the_trunk()
        self._repair_it()
        return [self._outcome(pr) for pr in sorted(self._roles)]

    def _queue_up(self) -> None:
        self._narrator.act("Eight pull requests by one person and two agents, queued at once")
        base = self._stage.clone.fetch(self._stage.cast.grace)
        opened = [self._open(role, base) for role in FIRST]
        for pr in opened:
            self._label(pr, self._roles[pr].change.author)
        self._until(lambda: self._all_ended(opened), "the first eight to end")

    def _break_the_trunk(self) -> None:
        self._narrator.act("Somebody pushes to main, past the queue")
        commit = self._stage.clone.push_trunk(self._stage.cast.grace, sample.HASTY_PUSH)
        self._narrator.say(f"grace pushed {commit[:7]}: {sample.HASTY_PUSH.title}")
        self._until(self._halted, "the queue to halt")
        halted = self._queue()["halted"]
        self._narrator.say(f"halted: {halted['reason']}")
        self._narrator.say(f"it ends {halted['ends_when']}")
        opened = [self._open(role, commit) for role in BEHIND]
        for pr in opened:
            self._label(pr, self._roles[pr].change.author)
        self._until(lambda: all(pr in self._seen for pr in opened), "the next two to queue")

    def _repair_it(self) -> None:
        self._narrator.act("An agent repairs it, through the repair lane")
        base = self._stage.clone.fetch(self._stage.cast.grace)
        repair = self._open(REPAIR, base)
        self._label(repair, "grace")
        self._until(lambda: self._all_ended([repair]), "the repair to land")
        self._until(lambda: not self._halted(), "the queue to resume")
        self._narrator.say("resumed: the trunk is green again")
        self._until(lambda: self._all_ended(list(self._roles)), "the ones behind it to land")

    def _open(self, role: Role, base: str) -> int:
        stage, change = self._stage, role.change
        who = stage.cast.named(change.author)
        branch = f"{change.author}/{len(self._roles) + 1}"
        stage.clone.propose(who, branch, change, base=base)
        pr = stage.hub.open_pull(stage.repo, who, branch, change)
        self._roles[pr] = role
        self._narrator.say(f"#{pr} opened by {change.author}: {change.title}")
        return pr

    def _label(self, pr: int, login: str) -> None:
        stage, role = self._stage, self._roles[pr]
        stage.hub.add_label(stage.repo, stage.cast.named(login), pr, role.label)
        self._asked[pr] = self._narrator.seconds

    def _until(self, true: Callable[[], bool], what: str) -> None:
        def looked() -> bool:
            self._look()
            self._narrator.wait()
            return true()

        if not self._stage.wait(looked, PATIENCE_S):
            found = self._queue()
            why = found["waiting"] or found["last_action"] or "nothing"
            raise PlayError(
                f"{PATIENCE_S:g} s went by while waiting for {what}; the trunk is"
                f" {found['trunk']['health']}, and the bot did last: {why}"
            )

    def _look(self) -> None:
        """Tell every change of state since the last look."""
        found = self._queue()
        seen = [*found["recent"]["ejections"], *found["recent"]["landings"], *found["entries"]]
        newest = {int(each["pr"]): each for each in sorted(seen, key=lambda each: each["attempt"])}
        for pr, entry in sorted(newest.items()):
            now = (entry["state"], entry["reason"])
            if pr not in self._roles or self._seen.get(pr) == now:
                continue
            self._seen[pr] = now
            self._entries[pr] = entry
            self._narrator.state(entry)
            if entry["state"] in TERMINAL:
                self._ended[pr] = self._narrator.seconds

    def _queue(self) -> Json:
        return self._stage.bot.get(of(self._stage.repo, "queue"))

    def _halted(self) -> bool:
        return self._queue()["halted"] is not None

    def _all_ended(self, pulls: list[int]) -> bool:
        return all(pr in self._ended for pr in pulls)

    def _outcome(self, pr: int) -> Outcome:
        entry = self._entries[pr]
        return Outcome(
            pr=pr,
            title=str(entry["title"]),
            state=str(entry["state"]),
            reason=str(entry["reason"] or ""),
            seconds=self._ended[pr] - self._asked[pr],
            expected=self._roles[pr].expected,
        )
