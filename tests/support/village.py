"""A repository in memory with the bot's services beside it; `settle` lets everything happen."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mergebot.adapters.jinja import MarkdownLetters
from mergebot.adapters.memory.bell import MemoryBell, Ring
from mergebot.adapters.memory.clock import CountingTokens, ManualClock
from mergebot.adapters.memory.forge import MemoryForge
from mergebot.adapters.memory.git import MemoryMirrors
from mergebot.adapters.memory.hosting import Draft, Hosting
from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.leases import MemoryLeases
from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.memory.logs import MemoryLogs
from mergebot.adapters.memory.news import news_body, read_news
from mergebot.adapters.memory.notary import MemoryNotary
from mergebot.adapters.memory.remote import Remote
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.policy_toml import TomlRules
from mergebot.domain.candidate import Candidate
from mergebot.domain.gate import Failed, GateResult, Passed, StepResult
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.ledger import Ledger
from mergebot.domain.news import News
from mergebot.domain.pulls import Permission, Repository
from mergebot.domain.reasons import Reason
from mergebot.services.intake import drain
from mergebot.services.parts import Parts
from mergebot.services.publishing import publish
from mergebot.services.reconciling import reconcile
from mergebot.services.tick import tick

REPO = Repository(7, "o/r", "main", "https://forge.test/o/r.git", private=False, archived=False)
LANE = Lane(REPO.id, REPO.full_name, "main")
BOT, ALICE, BOB, EVE = Actor(99, "mergebot"), Actor(1, "alice"), Actor(2, "bob"), Actor(3, "eve")
RIGHTS = {
    99: Permission.ADMIN,
    1: Permission.ADMIN,
    2: Permission.WRITE,
    3: Permission.READ,
}
START = 1_000_000.0
GATE = '[[gate.steps]]\nname = "test"\nrun = "test"\n'
PASS = StepResult("test", "test", 0, 1.0, "log")
FAIL = StepResult("test", "test", 1, 1.0, "log")

Test = Callable[[Mapping[str, str]], bool]


@dataclass
class Village:
    """Everything; `works` is what the gate's only step finds out about a tree."""

    rules: str = GATE
    files: Mapping[str, str] = field(default_factory=dict)
    works: Test = lambda tree: "broken" not in tree
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    rings: deque[Ring] = field(default_factory=deque)
    told: int = 0

    def __post_init__(self) -> None:
        self.remote = Remote(self.clock)
        self.hosting = Hosting(REPO, self.remote, self._tell, dict(RIGHTS))
        self.runs = MemoryRuns()
        self.store = MemoryStore(self.clock, self.runs)
        self.ledgers = MemoryLedger()
        self.inbox = MemoryInbox(self.clock)
        self.parts = Parts(
            clock=self.clock,
            tokens=CountingTokens(),
            forge=MemoryForge(self.hosting, BOT),
            mirrors=MemoryMirrors({REPO.id: self.remote}, BOT),
            store=self.store,
            runs=self.runs,
            logs=MemoryLogs(),
            inbox=self.inbox,
            leases=MemoryLeases(self.clock),
            ledger=self.ledgers,
            doorbell=MemoryBell(self.rings.append),
            letters=MarkdownLetters(),
            notary=MemoryNotary(),
            rules=TomlRules(),
            read_news=read_news,
            public_url="https://queue.test",
        )
        self.runs.announce("gate", 4, self.clock.now())
        start = self.remote.commit({".mergebot.toml": self.rules, **self.files}, "Start")
        self.remote.push(ALICE, "main", start)
        self.reconcile()

    @property
    def tip(self) -> Sha:
        """Return the trunk's tip."""
        tip = self.remote.head("main")
        assert tip is not None
        return tip

    @property
    def ledger(self) -> Ledger:
        """Return the ledger as it is."""
        return self.ledgers.read(LANE)

    def propose(
        self, files: Mapping[str, str], *, by: Actor = BOB, body: str = "", base: Sha | None = None
    ) -> int:
        """Open a pull request that writes `files`, and let the bot hear of it."""
        fork = base or self.tip
        tree = {**self.remote.objects.commit(fork).tree, **files}
        number = max(self.hosting.pulls, default=0) + 1
        head = self.remote.commit(tree, f"Change {number}", fork)
        self.hosting.open(by, head, Draft(f"Change {number}", f"branch-{number}", body=body))
        self.settle()
        return number

    def claiming(self, task: str, *patterns: str, assumes: str = "") -> str:
        """Return a description with a claim block."""
        listed = ", ".join(f'"{each}"' for each in patterns)
        more = f'assumes = ["{assumes}"]\n' if assumes else ""
        return f'```mergebot\ntask = "{task}"\nclaims = [{listed}]\n{more}```\n'

    def label(self, number: int, by: Actor = ALICE) -> Candidate:
        """Queue a pull request and let everything happen; return what became of it."""
        self.clock.advance(self.clock.now() + 5)
        self.hosting.add_label(by, number, "merge-queue")
        self.settle()
        return self.candidate(number)

    def say(self, number: int, text: str, by: Actor = BOB) -> None:
        """Comment on a pull request and let everything happen."""
        self.hosting.comment(by, number, text)
        self.settle()

    def close(self, number: int, by: Actor = BOB) -> None:
        """Close a pull request."""
        self.hosting.change(by, number, "closed", closed=True)
        self.settle()

    def candidate(self, number: int) -> Candidate:
        """Return a pull request's newest candidate."""
        found = self.store.latest(LANE, number)
        assert found is not None
        return found

    def comments(self, number: int) -> list[str]:
        """Return what the bot says on a pull request."""
        written = self.hosting.comments.values()
        return [each.body for each in written if each.pr == number and each.author == BOT]

    def reconcile(self) -> None:
        """Go one round without any webhook."""
        reconcile(self.parts, [REPO.full_name])
        self.settle()

    def settle(self) -> None:
        """Answer every ring until none is left."""
        for _ in range(2000):
            if not self.rings:
                return
            self._answer(self.rings.popleft())
        raise AssertionError("the bells never fell silent")

    def _answer(self, ring: Ring) -> None:
        match ring.task:
            case "intake":
                drain(self.parts)
            case "tick":
                tick(self.parts, LANE)
            case "publish":
                publish(self.parts, LANE)
            case "gate":
                self._gate(ring.run)

    def _gate(self, run: str) -> None:
        taken = self.runs.take(LANE, run, "gate", self.clock.now())
        if taken is None:
            return
        tree = self.remote.objects.commit(taken.order.merged).tree
        result: GateResult = Passed((PASS,))
        if not self.works(tree):
            result = Failed(Reason.GATE_FAILED, (FAIL,), "E broken", "broken")
        self.runs.finish(LANE, run, result, self.clock.now())
        self.parts.doorbell.tick(LANE)

    def _tell(self, news: News) -> None:
        self.told += 1
        self.inbox.put(f"delivery-{self.told}", "news", news_body(news))
        self.rings.append(Ring("intake"))
