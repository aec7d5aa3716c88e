"""A world without faults: one repository, its people and its queue, told in sentences.

world = World()
pr = world.opens_pr(files={"a": "1"})
world.labels(pr)
world.runs_until_quiet()
assert world.landed == [pr]
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from mergebot.adapters.memory.bell import MemoryBell, Ring
from mergebot.adapters.memory.clock import CountingTokens, ManualClock
from mergebot.adapters.memory.forge import MemoryForge
from mergebot.adapters.memory.git import MemoryMirrors
from mergebot.adapters.memory.hosting import Draft, Hosting
from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.leases import MemoryLeases
from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.memory.letters import PlainLetters
from mergebot.adapters.memory.logs import MemoryLogs
from mergebot.adapters.memory.news import news_body, read_news
from mergebot.adapters.memory.notary import MemoryNotary
from mergebot.adapters.memory.objects import Tree
from mergebot.adapters.memory.remote import Remote
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.policy_toml import TomlRules
from mergebot.domain.candidate import Candidate
from mergebot.domain.gate import Failed, GateResult, NoVerdict, Passed, StepResult
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import LaneState
from mergebot.domain.news import News
from mergebot.domain.pulls import Permission, PullRequest, Repository
from mergebot.domain.reasons import Reason
from mergebot.domain.status import read_hidden_line, reason_of, state_name
from mergebot.services.gatekeeper import Gatekeeper, Source
from mergebot.services.gating import gate
from mergebot.services.intake import drain
from mergebot.services.parts import Parts
from mergebot.services.publishing import publish
from mergebot.services.reconciling import nudge, reconcile
from mergebot.services.tick import tick

REPO = Repository(7, "o/r", "main", "https://forge.test/o/r.git", private=False, archived=False)
LANE = Lane(7, "o/r", "main")
BOT = Actor(99, "mergebot")
ADA, BO, KIM, RAY = Actor(11, "ada"), Actor(12, "bo"), Actor(13, "kim"), Actor(15, "ray")
RIGHTS = {
    ADA.id: Permission.ADMIN,
    BO.id: Permission.WRITE,
    KIM.id: Permission.MAINTAIN,
    RAY.id: Permission.READ,
}
QUEUE, FIX, HOLD = "merge-queue", "merge-queue-fix", "merge-queue-hold"
RULES = '[[gate.steps]]\nname = "test"\nrun = "make test"\n'
STEP = StepResult("test", "make test", 0, 1.0, "e" * 64)
QUIET_S = 400


@dataclass(slots=True)
class GateRoom:
    """Stands where production has its gatekeeper: red files fail, and `silent` gates say nothing."""

    world: "World"
    red: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    clashing: set[frozenset[str]] = field(default_factory=set)
    silent: int = 0
    ran: list[Sha] = field(default_factory=list)

    def gate(self, lane: Lane, run: str, source: Source) -> bool:
        """Run a gate at once."""
        runs, clock = self.world.runs, self.world.clock
        taken = runs.take(lane, run, "room", clock.now())
        if taken is None:
            return False
        merged = taken.order.merged
        self.ran.append(merged)
        return runs.finish(lane, run, self._result(merged), clock.now())

    def _result(self, merged: Sha) -> GateResult:
        if self.silent:
            self.silent -= 1
            return NoVerdict("the disk is full")
        tree = self.world.remote.objects.commit(merged).tree
        paths = set(tree)
        if self.slow & paths:
            return _failed(Reason.GATE_TIMEOUT)
        if self.red & paths or any(pair <= paths for pair in self.clashing):
            return _failed(Reason.GATE_FAILED)
        return Passed((STEP,))


def _failed(reason: Reason) -> Failed:
    step = StepResult("test", "make test", 1, 1.0, "f" * 64)
    return Failed(reason, (step,), "E it is red", "E it is red")


class World:
    """One repository with a queue; time moves a second with each act."""

    def __init__(self, rules: str = RULES, files: Tree | None = None) -> None:
        self.clock = ManualClock(1_800_000_000.0)
        self.remote = Remote(self.clock)
        self.webhooks = True
        self.news: list[News] = []
        self.hosting = Hosting(REPO, self.remote, self._tell, dict(RIGHTS))
        self.runs = MemoryRuns()
        self.store = MemoryStore(self.clock, self.runs)
        self.inbox = MemoryInbox(self.clock)
        self.rings: deque[Ring] = deque()
        self.gates = GateRoom(self)
        self.parts = self._parts()
        first = {".mergebot.toml": rules, "readme": "0", **(files or {})}
        self.remote.push(ADA, "main", self.remote.commit(first, "First"))
        self.reconciles()
        self.runs_until_quiet()

    def _parts(self) -> Parts:
        return Parts(
            clock=self.clock,
            tokens=CountingTokens(),
            forge=MemoryForge(self.hosting, BOT),
            mirrors=MemoryMirrors({REPO.id: self.remote}, BOT),
            store=self.store,
            runs=self.runs,
            logs=MemoryLogs(),
            inbox=self.inbox,
            leases=MemoryLeases(self.clock),
            ledger=MemoryLedger(),
            doorbell=MemoryBell(self.rings.append),
            letters=PlainLetters(),
            notary=MemoryNotary(),
            rules=TomlRules(),
            read_news=read_news,
            public_url="https://queue.test",
        )

    def _tell(self, news: News) -> None:
        self.news.append(news)
        if self.webhooks:
            self.inbox.put(f"d{len(self.news)}", "event", news_body(news))
            self.rings.append(Ring("intake"))

    # What people do

    def opens_pr(
        self,
        files: Mapping[str, str | None] | None = None,
        *,
        who: Actor = BO,
        body: str = "",
        fork: bool = False,
        base: str = "main",
    ) -> int:
        """Open a PR that changes `files` (None: deletes) on the trunk's tip; return its number."""
        number = max(self.hosting.pulls, default=0) + 1
        changed = files if files is not None else {f"file-{number}": "1"}
        head = self.commits(changed, on=self.tip)
        draft = Draft(f"Change {number}", f"branch-{number}", base, body, "ray/r" if fork else "")
        self._passes()
        return self.hosting.open(who, head, draft)

    def commits(self, files: Mapping[str, str | None], *, on: Sha, also: Sha | None = None) -> Sha:
        """Write a commit that changes `files`."""
        tree = {**self.remote.objects.commit(on).tree, **files}
        kept = {path: text for path, text in tree.items() if text is not None}
        parents = (on,) if also is None else (on, also)
        return self.remote.commit(kept, f"Change {sorted(files)}", *parents)

    def labels(self, pr: int, label: str = QUEUE, who: Actor = BO) -> None:
        """Set a label."""
        self._passes()
        self.hosting.add_label(who, pr, label)

    def unlabels(self, pr: int, label: str = QUEUE, who: Actor = BO) -> None:
        """Take a label off."""
        self._passes()
        self.hosting.remove_label(who, pr, label)

    def pushes(self, pr: int, files: Mapping[str, str | None]) -> Sha:
        """Push another commit to a PR's branch, and return it."""
        self._passes()
        head = self.commits(files, on=self.pull(pr).head)
        self.hosting.push(BO, pr, head)
        return head

    def changes(self, pr: int, action: str, **fields: object) -> None:
        """Close, reopen, retarget, draft or edit a PR."""
        self._passes()
        self.hosting.change(BO, pr, action, **fields)

    def says(self, pr: int, text: str, who: Actor = BO) -> int:
        """Comment on a PR, and return the comment's id."""
        self._passes()
        return self.hosting.comment(who, pr, text)

    def approves(self, pr: int) -> None:
        """Approve a PR."""
        self._passes()
        self.hosting.approve(KIM, pr)

    def pushes_to_trunk(self, files: Mapping[str, str | None]) -> Sha:
        """Push straight to the trunk, and return the commit."""
        self._passes()
        sha = self.commits(files, on=self.tip)
        self.remote.push(ADA, "main", sha)
        return sha

    def rewinds_trunk_to(self, sha: Sha) -> None:
        """Force the trunk to another commit."""
        self._passes()
        self.remote.push(ADA, "main", sha)

    def loses_webhooks(self) -> None:
        """Lose every webhook from now on."""
        self.webhooks = False

    def loses_redis(self) -> None:
        """Lose everything that is kept in Redis."""
        self._passes(60)
        self.runs = MemoryRuns()
        self.store = MemoryStore(self.clock, self.runs)
        self.inbox = MemoryInbox(self.clock)
        self.parts = self._parts()

    def _passes(self, seconds: float = 1.0) -> None:
        self.clock.advance(self.clock.now() + seconds)

    # What the queue does

    def reconciles(self) -> None:
        """Let the reconciler go round once."""
        self._passes()
        reconcile(self.parts, [REPO.full_name])

    def runs_until_quiet(self) -> None:
        """Let everything happen that follows, and time pass until nothing is due by it."""
        for _ in range(QUIET_S):
            self._answers()
            nudge(self.parts)
            if not self.rings and not self._waits():
                return
            self._passes()
        raise AssertionError(f"it does not come to rest: {self.lane}")

    def _waits(self) -> bool:
        snapshot = self.store.read(LANE)
        due = any(getattr(each.state, "until", 0.0) for each in snapshot.candidates)
        return due or bool(self.store.due_effects(LANE, float("inf"), limit=1))

    def _answers(self) -> None:
        while self.rings:
            ring = self.rings.popleft()
            if ring in self.rings:
                continue
            self.answers(ring)

    def answers(self, ring: Ring) -> None:
        """Do what one ring asks for."""
        self.runs.announce("room", 4, self.clock.now())
        match ring.task:
            case "intake":
                drain(self.parts)
            case "tick":
                tick(self.parts, LANE)
            case "publish":
                publish(self.parts, LANE)
            case "gate":
                gate(self.parts, cast("Gatekeeper", self.gates), LANE, ring.run)

    # What is there to see

    @property
    def tip(self) -> Sha:
        """Return the trunk's tip."""
        return Sha(str(self.remote.head("main")))

    @property
    def lane(self) -> LaneState:
        """Return what the lane knows."""
        return self.store.read(LANE).state

    @property
    def trunk(self) -> Tree:
        """Return the files on the trunk."""
        return self.remote.objects.commit(self.tip).tree

    @property
    def landed(self) -> list[int]:
        """Return the PRs that landed, in order, as their receipts tell it."""
        receipts = reversed(self.store.landings(LANE, limit=100))
        return [int(str(each.fields["pr"])) for each in receipts]

    def pull(self, pr: int) -> PullRequest:
        """Return a PR as the forge shows it."""
        return self.hosting.pulls[pr]

    def candidate(self, pr: int) -> Candidate:
        """Return a PR's newest candidate."""
        found = self.store.latest(LANE, pr)
        assert found is not None, f"#{pr} never was a candidate"
        return found

    def state(self, pr: int) -> str:
        """Return where a PR's newest candidate stands, in the author's words."""
        return state_name(self.candidate(pr).state)

    def ended(self, pr: int) -> tuple[str, Reason | None]:
        """Return a PR's state and reason."""
        return self.state(pr), reason_of(self.candidate(pr).state)

    def told(self, pr: int) -> list[Mapping[str, object]]:
        """Return the documents in the bot's comments on a PR, oldest first."""
        bodies = [
            each.body
            for each in self.hosting.comments.values()
            if each.pr == pr and each.author == BOT
        ]
        return [found for body in bodies if (found := read_hidden_line(body)) is not None]
