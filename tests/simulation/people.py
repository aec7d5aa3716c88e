"""People: they open, label, push, close, retarget, lose their rights, and repair what broke."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mergebot.adapters.memory.hosting import Hosting
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.pulls import Permission, PullRequest
from tests.simulation import truth
from tests.simulation.changes import Change, any_kind, make, mended, repair
from tests.simulation.rulebook import CONTRACT
from tests.simulation.stage import START, Stage

ADMIN, WRITER, KEEPER = Actor(11, "ada"), Actor(12, "bo"), Actor(13, "kim")
TRIAGER, READER = Actor(14, "tri"), Actor(15, "ray")
RIGHTS = {
    ADMIN.id: Permission.ADMIN,
    WRITER.id: Permission.WRITE,
    KEEPER.id: Permission.MAINTAIN,
    TRIAGER.id: Permission.TRIAGE,
    READER.id: Permission.READ,
}
QUEUE, FIX, HOLD = "merge-queue", "merge-queue-fix", "merge-queue-hold"
OPENING_S = (15.0, 150.0)
MEDDLING_S = 420.0


@dataclass(slots=True)
class People:
    """Everybody but the bot, and what they do, from the seed."""

    stage: Stage
    hosting: Hosting
    sick: Callable[[], bool]
    halted: Callable[[], bool]
    changed: Callable[[], None]
    landing: Callable[[], int | None]
    stale: Callable[[], list[int]]
    count: int = 0
    acts: dict[str, Callable[[], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.acts = {
            "unlabels": self._unlabels,
            "relabels": self._relabels,
            "forces": self._forces,
            "fixes": self._fixes,
            "retargets": self._retargets,
            "closes": self._closes,
            "reopens": self._reopens,
            "drafts": self._drafts,
            "readies": self._readies,
            "holds": self._holds,
            "unholds": self._unholds,
            "demotes": self._demotes,
            "pushes_green": self._pushes_green,
            "pushes_red": self._pushes_red,
            "rewinds": self._rewinds,
            "halts": self._halts,
            "retries": self._retries,
            "cancels": self._cancels,
            "protects": self._protects,
            "approves": self._approves,
            "regrets": self._regrets,
            "agrees": self._agrees,
            "declines": self._declines,
        }

    def come(self, acts: tuple[str, ...]) -> None:
        """Plan everything that people will do; of `acts` only, and more of it, where there are any."""
        rng = self.stage.rng
        within_s = rng.choice(OPENING_S)
        for _ in range(rng.randrange(3, 5)):
            self.stage.later(rng.uniform(0.0, within_s), self._opens)
        for _ in range(rng.randrange(6, 16) if acts else rng.randrange(0, 7)):
            act = self.acts[rng.choice(acts or tuple(self.acts))]
            self.stage.later(rng.uniform(20.0, MEDDLING_S), act)

    def care(self) -> None:
        """Look after the trunk: approve, unhold, resume, repair."""
        self._restore()
        self.hosting.remote.protected.clear()
        if self.halted() and self.hosting.pulls:
            number = next(iter(self.hosting.pulls))
            self._comment(KEEPER, number, "@mergebot resume looked at it")
        for pull in self._open():
            if HOLD in pull.labels:
                self._remove(KEEPER, pull.number, HOLD)
            self._approve(pull.number)
        self._agrees()
        tip = Sha(str(self.hosting.remote.head("main")))
        tree = self.hosting.remote.objects.commit(tip).tree
        if self.sick() or not truth.green(tree):
            self._repairs()

    def _name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def _open(self) -> list[PullRequest]:
        return [pull for pull in self.hosting.pulls.values() if not pull.closed]

    def _some(self) -> PullRequest | None:
        pulls = self._open()
        return self.stage.rng.choice(pulls) if pulls else None

    def _say(self, who: Actor, text: str) -> None:
        self.stage.tell(f"{who.login} {text}")
        self.stage.tally[f"act:{text.split(' ', maxsplit=1)[0]}"] += 1

    def _opens(self) -> None:
        rng = self.stage.rng
        change = make(rng, self.hosting.remote, any_kind(rng), self._name())
        number = self._open_pull(WRITER, change)
        labeller = rng.choice((WRITER, WRITER, KEEPER, ADMIN, ADMIN, TRIAGER))
        if change.kind in ("rules", "broken_rules"):
            labeller = ADMIN
        if rng.random() < 0.7:
            self._approve(number)
        if rng.random() < 0.8:
            self.stage.later(rng.uniform(0.1, 40.0), lambda: self._label(labeller, number, QUEUE))
            return
        ask = lambda: self._comment(WRITER, number, "@mergebot queue")  # noqa: E731 - one line
        self.stage.later(rng.uniform(0.1, 40.0), ask)

    def _open_pull(self, who: Actor, change: Change) -> int:
        number = self.hosting.open(who, change.head, change.draft)
        self._say(who, f"opens #{number}, {change.kind}, at {change.head[:7]}")
        return number

    def _label(self, who: Actor, number: int, label: str) -> None:
        if not self.hosting.pulls[number].closed:
            self._say(who, f"labels #{number} {label}")
            self.hosting.add_label(who, number, label)

    def _remove(self, who: Actor, number: int, label: str) -> None:
        self._say(who, f"takes {label} off #{number}")
        self.hosting.remove_label(who, number, label)

    def _comment(self, who: Actor, number: int, text: str) -> None:
        self._say(who, f"says on #{number}: {text}")
        self.hosting.comment(who, number, text)

    def _approve(self, number: int) -> None:
        if KEEPER.id not in self.hosting.approvals.get(number, set()):
            self._say(KEEPER, f"approves #{number}")
            self.hosting.approve(KEEPER, number)

    def _unlabels(self) -> None:
        pull = self._some()
        if pull and QUEUE in pull.labels:
            self._remove(WRITER, pull.number, QUEUE)

    def _relabels(self) -> None:
        pull = self._some()
        if pull:
            if QUEUE in pull.labels:
                self._remove(WRITER, pull.number, QUEUE)
            self._label(WRITER, pull.number, QUEUE)

    def _forces(self) -> None:
        pull = self._some()
        if pull:
            self.pushes_to(pull.number)

    def pushes_to(self, number: int) -> None:
        """Push something else to a pull request's branch."""
        if not self.hosting.pulls[number].closed:
            change = make(self.stage.rng, self.hosting.remote, "plain", self._name())
            self._say(WRITER, f"forces #{number} to {change.head[:7]}")
            self.hosting.push(WRITER, number, change.head)

    def _fixes(self) -> None:
        pull = self._some()
        if pull:
            head = mended(self.hosting.remote, pull.head, self._name())
            self._say(WRITER, f"fixes #{pull.number} with {head[:7]}")
            self.hosting.push(WRITER, pull.number, head)
            self._label(WRITER, pull.number, QUEUE)

    def _retargets(self) -> None:
        pull = self._some()
        if pull:
            base = "other" if pull.base == "main" else "main"
            self._say(WRITER, f"retargets #{pull.number} to {base}")
            self.hosting.change(WRITER, pull.number, "edited", base=base)

    def _closes(self) -> None:
        pull = self._some()
        if pull:
            self._say(WRITER, f"closes #{pull.number}")
            self.hosting.change(WRITER, pull.number, "closed", closed=True)

    def _reopens(self) -> None:
        shut = [each for each in self.hosting.pulls.values() if each.closed and not each.merged]
        if shut:
            number = self.stage.rng.choice(shut).number
            self._say(WRITER, f"reopens #{number}")
            self.hosting.change(WRITER, number, "reopened", closed=False)

    def _drafts(self) -> None:
        pull = self._some()
        if pull:
            self._say(WRITER, f"drafts #{pull.number}")
            self.hosting.change(WRITER, pull.number, "converted_to_draft", draft=True)

    def _readies(self) -> None:
        for pull in self._open():
            if pull.draft:
                self._say(WRITER, f"readies #{pull.number}")
                self.hosting.change(WRITER, pull.number, "ready_for_review", draft=False)

    def _holds(self) -> None:
        pull = self._some()
        if pull:
            self._label(KEEPER, pull.number, HOLD)

    def _unholds(self) -> None:
        for pull in self._open():
            if HOLD in pull.labels:
                self._remove(KEEPER, pull.number, HOLD)

    def _demotes(self) -> None:
        self._say(ADMIN, f"demotes {WRITER.login}")
        self.hosting.people[WRITER.id] = Permission.READ
        self.changed()
        self.stage.later(self.stage.rng.uniform(20.0, 200.0), self._restore)

    def _restore(self) -> None:
        self.hosting.people.update(RIGHTS)
        self.changed()

    def _push_trunk(self, path: str) -> None:
        remote = self.hosting.remote
        tip = Sha(str(remote.head("main")))
        tree = {**remote.objects.commit(tip).tree, path: path}
        sha = remote.commit(tree, f"Push {path}", tip)
        self._say(ADMIN, f"pushes {path} straight to main as {sha[:7]}")
        remote.push(ADMIN, "main", sha)

    def _pushes_green(self) -> None:
        self._push_trunk(f"direct-{self._name()}")

    def _pushes_red(self) -> None:
        self._push_trunk(f"bad-{self._name()}")

    def _rewinds(self) -> None:
        remote = self.hosting.remote
        tip = remote.objects.commit(Sha(str(remote.head("main"))))
        if tip.parents and self.stage.rng.random() < 0.5:
            self._say(ADMIN, f"rewinds main to {tip.parents[0][:7]}")
            remote.push(ADMIN, "main", tip.parents[0])

    def _halts(self) -> None:
        pull = self._some()
        if pull:
            self._comment(KEEPER, pull.number, "@mergebot halt a freeze")

    def _regrets(self) -> None:
        """Take the label off whatever is about to land, until something was."""
        number = self.landing()
        pull = self.hosting.pulls.get(number or 0)
        if pull and QUEUE in pull.labels:
            self._remove(WRITER, pull.number, QUEUE)
        elif self.stage.clock.now() < START + MEDDLING_S:
            self.stage.later(5.0, self._regrets)

    def _retries(self) -> None:
        pull = self._some()
        if pull:
            self._comment(WRITER, pull.number, "@mergebot retry it was the weather")

    def _cancels(self) -> None:
        pull = self._some()
        if pull:
            self._comment(WRITER, pull.number, "@mergebot cancel")

    def _agrees(self) -> None:
        for number in self.stale():
            self._comment(KEEPER, number, f"@mergebot agree {CONTRACT}")
            self._comment(KEEPER, number, f"@mergebot revalidate {CONTRACT}")

    def _declines(self) -> None:
        for number in self.stale()[:1]:
            self._comment(KEEPER, number, f"@mergebot decline {CONTRACT}")

    def _protects(self) -> None:
        pull = self._some()
        ref = self.stage.rng.choice(("main", pull.head_branch if pull else "main"))
        self._say(ADMIN, f"protects {ref}")
        protected = self.hosting.remote.protected
        protected.add(f"refs/heads/{ref}")
        self.stage.later(self.stage.rng.uniform(20.0, 120.0), protected.clear)

    def _approves(self) -> None:
        for pull in self._open():
            self._approve(pull.number)

    def _repairs(self) -> None:
        if any(FIX in pull.labels for pull in self._open()):
            return
        remote = self.hosting.remote
        if self.stage.rng.random() < 0.3:
            tip = mended(remote, Sha(str(remote.head("main"))), self._name())
            self._say(ADMIN, f"repairs main with {tip[:7]}")
            remote.push(ADMIN, "main", tip)
            return
        number = self._open_pull(ADMIN, repair(remote, self._name()))
        self._approve(number)
        self._label(ADMIN, number, FIX)


__all__ = ["FIX", "HOLD", "QUEUE", "RIGHTS", "People"]
