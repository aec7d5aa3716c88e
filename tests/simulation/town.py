"""One town: a forge, a queue and its workers, people, and everything that goes wrong, from a seed.

The services, the planner and the memory store are the production ones; what is made up is the
world around them.
"""

import logging
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import cast

import structlog

from mergebot.adapters.memory.bell import MemoryBell
from mergebot.adapters.memory.clock import CountingTokens
from mergebot.adapters.memory.forge import MemoryForge
from mergebot.adapters.memory.git import MemoryMirrors
from mergebot.adapters.memory.hosting import Hosting
from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.leases import MemoryLeases
from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.memory.letters import PlainLetters
from mergebot.adapters.memory.logs import MemoryLogs
from mergebot.adapters.memory.news import news_body, read_news
from mergebot.adapters.memory.notary import MemoryNotary
from mergebot.adapters.memory.remote import Remote
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.candidate import Landing, Parked
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Red, Snapshot
from mergebot.domain.ledger import Ledger
from mergebot.domain.news import News
from mergebot.domain.policy import Policy, PolicyFaults
from mergebot.domain.pulls import Repository
from mergebot.domain.reasons import Reason
from mergebot.ports.inbox import Inbox
from mergebot.ports.leases import Leases
from mergebot.ports.ledger import Ledgers
from mergebot.ports.runs import Runs
from mergebot.ports.store import Commit, Store
from mergebot.services import branch_rules, repositories
from mergebot.services.parts import Parts
from tests.simulation.asking import Asking
from tests.simulation.checker import Checker
from tests.simulation.ci import Ci
from tests.simulation.ending import ends_badly, unfinished, works
from tests.simulation.faulty import Faulty, faulty_forge, faulty_mirrors
from tests.simulation.gates import GateWorker, Results
from tests.simulation.landings import Landings
from tests.simulation.loss import Kept, keep, put_back
from tests.simulation.moods import Mood
from tests.simulation.office import IDLE_RECONCILE_S, Office
from tests.simulation.office import Actor as Worker
from tests.simulation.people import RIGHTS, People
from tests.simulation.promises import Promises
from tests.simulation.rulebook import parsed, rules
from tests.simulation.stage import START, Stage
from tests.simulation.village import Village

REPO = Repository(7, "o/r", "main", "https://forge.test/o/r.git", private=False, archived=False)
LANE = Lane(REPO.id, REPO.full_name, "main")
BOT = Actor(99, "mergebot")
CALM_AT_S = 900.0
CARE_S = 120.0
PATIENCE_S = 6 * 3600.0
"""How long after the last fault everything has to have ended."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a seed ended: what broke, how often each thing happened, and the story."""

    seed: int
    broken: tuple[str, ...]
    tally: Counter[str]
    reached: Counter[str]
    checks: Counter[str]
    story: tuple[str, ...]


class _Rules:
    """The production reader of the rules."""

    def parse(self, text: bytes) -> Policy | PolicyFaults:
        return parsed(text)


@dataclass(slots=True)
class Town:
    """Everything that one seed makes."""

    seed: int
    acts: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    stage: Stage = field(init=False)
    mood: Mood = field(init=False)
    remote: Remote = field(init=False)
    hosting: Hosting = field(init=False)
    runs: MemoryRuns = field(init=False)
    store: MemoryStore = field(init=False)
    inbox: MemoryInbox = field(init=False)
    leases: MemoryLeases = field(init=False)
    ledger: MemoryLedger = field(init=False)
    office: Office = field(init=False)
    people: People = field(init=False)
    checker: Checker = field(init=False)
    results: Results = field(init=False)
    ci: Ci = field(init=False)
    asking: Asking = field(init=False)
    landings: Landings = field(init=False)
    village: Village = field(init=False)
    deliveries: int = 0
    commits: int = 0
    doomed: tuple[int, Callable[[], None]] | None = None
    restless_at: float = START
    judged: int = -1
    waits: bool = True

    def __post_init__(self) -> None:
        self._hear_mistakes()
        repositories._known.clear()
        branch_rules._known.clear()
        stage = self.stage = Stage(self.seed)
        self.mood = Mood(Random(self.seed + 1), more=self.rates)
        self.remote = Remote(stage.clock)
        self.hosting = Hosting(REPO, self.remote, self._tell, dict(RIGHTS))
        self.ci = Ci(stage, self.mood, self.hosting)
        self.results = Results(self.remote.objects)
        self.runs = MemoryRuns()
        self.store = MemoryStore(stage.clock, self.runs)
        self.inbox = MemoryInbox(stage.clock)
        self.leases = MemoryLeases(stage.clock)
        self.ledger = MemoryLedger()
        self.office = Office(stage, self.mood, REPO.full_name)
        self._watch()
        self.people = People(
            stage,
            self.hosting,
            self._sick,
            self._halted,
            self.asking.note_rights,
            self._landing,
            self._stale,
        )
        self._found()
        self._staff()

    def _watch(self) -> None:
        """Place everybody who checks what happens."""
        promises = Promises(self.stage)
        self.asking = Asking(self.stage, self.hosting, BOT)
        self.asking.note_rights()
        self.checker = Checker(promises, self.hosting, self.store, LANE, self.results, self.ci)
        self.village = Village(promises, self.hosting, self._over)
        self.landings = Landings(
            promises,
            self.hosting,
            self.results,
            self.asking,
            self.ci,
            lambda pr: self.store.read(LANE).candidate(pr),
        )

    def _hear_mistakes(self) -> None:
        """Take what the services log as an error of their own for a broken promise."""

        def mistake(logger: object, name: str, event: MutableMapping[str, object]) -> str:
            if str(event["event"]).endswith("_failed"):
                what = repr(sys.exc_info()[1])
                self.stage.broken.append(f"I08 no mistake of ours: {event['event']}, {what}")
                self.stage.story.append(traceback.format_exc())
            self.stage.tally[f"told:{event['event']}"] += 1
            raise structlog.DropEvent

        loud = structlog.make_filtering_bound_logger(logging.ERROR)
        structlog.configure(
            processors=[mistake], wrapper_class=loud, cache_logger_on_first_use=False
        )

    def _found(self) -> None:
        self.remote.told.append(self.ci.moved)
        tree = {".mergebot.toml": rules(self.stage.rng), "app": "0", "readme": "0"}
        first = self.remote.commit(tree, "First")
        self.remote.push(BOT, "other", first)
        self.remote.push(BOT, "main", self.remote.commit({**tree, "app": "1"}, "Second", first))
        self.remote.told.append(self.landings.moved)

    def _staff(self) -> None:
        hosts = [MemoryMirrors({REPO.id: self.remote}, BOT) for _ in range(2)]
        names = ("hand-1", "hand-2", "hand-3", "reconciler", "nudger")
        workers = [
            Worker(name, self._parts(place, hosts[place % 2])) for place, name in enumerate(names)
        ]
        self.office.hands, self.office.timers = workers[:3], workers[3:]
        for place in range(3):
            parts = self._parts(10 + place, hosts[place % 2])
            self.office.gates.append(
                GateWorker(f"gate-{place}", self.stage, self.mood, parts, self.results)
            )

    def _parts(self, place: int, mirrors: MemoryMirrors) -> Parts:
        stage, mood = self.stage, self.mood
        store = Faulty(stage, mood, "store", self.store).seen_by(self._stored)
        runs = Faulty(stage, mood, "runs", self.runs).seen_by(self._ran)
        ledger = Faulty(stage, mood, "ledger", self.ledger).seen_by(self._claimed)
        return Parts(
            clock=stage.clock,
            tokens=CountingTokens(f"{place:02x}f"),
            forge=faulty_forge(stage, mood, MemoryForge(self.hosting, BOT), self.people.pushes_to),
            mirrors=faulty_mirrors(stage, mood, mirrors),
            store=cast("Store", store),
            runs=cast("Runs", runs),
            logs=MemoryLogs(),
            inbox=cast("Inbox", Faulty(stage, mood, "inbox", self.inbox)),
            ledger=cast("Ledgers", ledger),
            leases=cast("Leases", Faulty(stage, mood, "leases", self.leases)),
            doorbell=MemoryBell(self.office.ring),
            letters=PlainLetters(),
            notary=MemoryNotary(),
            rules=_Rules(),
            read_news=read_news,
            public_url="https://queue.test",
        )

    def _stored(self, name: str, args: tuple[object, ...], result: object) -> None:
        if name == "commit" and isinstance(result, Snapshot) and isinstance(args[1], Commit):
            self.office.idle = 0
            self.commits += 1
            if self.doomed and self.commits == self.doomed[0]:
                self.stage.later(0.0, self.doomed[1])
            self.checker.committed(result, args[1].candidates)

    def _ran(self, name: str, args: tuple[object, ...], result: object) -> None:
        if name == "finish" and result is True:
            self.office.idle = 0

    def _claimed(self, name: str, args: tuple[object, ...], result: object) -> None:
        if name == "commit" and isinstance(result, Ledger):
            self.village.written(result)

    def _tell(self, news: News) -> None:
        """Send a webhook, as unreliably as the network may."""
        stage, mood = self.stage, self.mood
        self.office.idle = 0
        self.asking.news(news)
        if mood.strikes("webhook_dropped"):
            stage.tally["webhook_dropped"] += 1
            return
        self.deliveries += 1
        guid, body = f"d-{self.deliveries}", news_body(news)
        doubled = mood.strikes("webhook_doubled")
        stage.tally["webhook_doubled"] += doubled
        for copy in range(1 + doubled):
            delay_s = mood.rng.uniform(0.05, 1.0)
            if mood.strikes("webhook_delayed"):
                stage.tally["webhook_delayed"] += 1
                delay_s = mood.rng.uniform(2.0, 120.0)
            again = f"{guid}-again" if copy and mood.rng.random() < 0.5 else guid
            stage.later(delay_s, partial(self._delivered, again, body))

    def _delivered(self, guid: str, body: bytes) -> None:
        self.inbox.put(guid, "event", body)
        self.office.hands[0].parts.doorbell.intake()

    def _plan_losses(self) -> None:
        """Let Redis fall once or twice, with the last commits or with everything."""
        rng = self.mood.rng
        redis = (self.store, self.runs, self.leases, self.inbox, self.ledger)
        nothing = keep(redis)
        if self.mood.strikes("writes_lost"):
            lost = rng.randrange(1, 9)
            self.stage.later(rng.uniform(20.0, 400.0), lambda: self._loses(redis, lost))
        if self.mood.strikes("all_lost"):
            at = rng.uniform(20.0, 400.0)
            self.stage.later(at, lambda: self._fell("all_lost", redis, nothing))

    def _loses(self, redis: tuple[object, ...], lost: int) -> None:
        kept = keep(redis)
        self.doomed = (self.commits + lost, lambda: self._fell("writes_lost", redis, kept))

    def _fell(self, kind: str, redis: tuple[object, ...], kept: Kept) -> None:
        self.doomed = None
        self.stage.tally[kind] += 1
        self.stage.tell(f"REDIS FALLS: {kind}")
        put_back(redis, kept)
        self.judged = -1
        self.office.idle = 0
        self.landings.forgiving = True
        self.village.forget()
        self.checker.forget(self.store.read(LANE))

    def _sick(self) -> bool:
        return isinstance(self.store.read(LANE).state.health, Red)

    def _halted(self) -> bool:
        return self.store.read(LANE).state.halt is not None

    def _landing(self) -> int | None:
        landing = (
            each.pr for each in self.store.read(LANE).candidates if isinstance(each.state, Landing)
        )
        return next(landing, None)

    def _over(self, pr: int) -> bool:
        """Tell whether a pull request landed, or failed in some attempt."""
        return self.checker.given_up(pr) or any(each.pr == pr for each in self.landings.landed)

    def _stale(self) -> list[int]:
        """Return the pull requests that wait for somebody's word on a contract."""
        states = [(each.pr, each.state) for each in self.store.read(LANE).candidates]
        stale = Reason.STALE_CONTRACT
        return [pr for pr, state in states if isinstance(state, Parked) and state.reason is stale]

    def _announce(self) -> None:
        self.runs.announce("host", 3, self.stage.clock.now())
        self.stage.later(40.0, self._announce)

    def _care(self) -> None:
        self.people.care()
        self.ci.care(Sha(str(self.remote.head("main"))))
        self.stage.later(CARE_S, self._care)

    def _calm(self) -> None:
        self.mood.calm = True
        self.stage.tell("no more faults from here on")

    def live(self) -> Ending:
        """Let the seed's whole story happen."""
        stage = self.stage
        self._announce()
        self.people.come(self.acts)
        self._plan_losses()
        self.office.open()
        stage.later(CALM_AT_S, self._calm)
        stage.later(CALM_AT_S * 0.7, self._care)
        broken = stage.broken
        while not broken and stage.step():
            if self.mood.calm and self._rests():
                self._end()
                break
            if stage.clock.now() - START > CALM_AT_S + PATIENCE_S:
                broken.append("I08 everything ends: it did not")
                broken.extend(self._why())
                break
        return self._ending()

    def _rests(self) -> bool:
        """Tell whether all has been at rest for longer than two rounds of the reconciler take."""
        now = self.stage.clock.now()
        if self.stage.aside or works(self.inbox, self.office, self.store, LANE):
            self.restless_at = now
        else:
            # Only a commit moves the record, and it is read again only then.
            if self.judged != self.commits:
                self.judged, self.waits = self.commits, bool(self._why())
            if self.waits:
                self.restless_at = now
        return now - self.restless_at > 2.5 * IDLE_RECONCILE_S

    def _why(self) -> list[str]:
        return unfinished(self.store, self.inbox, self.office, LANE)

    def _end(self) -> None:
        """Judge how it ended."""
        self.stage.broken += ends_badly(
            self.hosting, self.store, LANE, BOT, lossy=self.landings.forgiving
        )

    def _ending(self) -> Ending:
        return Ending(
            seed=self.seed,
            broken=tuple(self.stage.broken),
            tally=self.stage.tally,
            reached=self.checker.reached,
            checks=self.checker.promises.checks,
            story=tuple(self.stage.story),
        )


def live(seed: int, acts: tuple[str, ...] = (), rates: Mapping[str, float] | None = None) -> Ending:
    """Return how a seed ends.

    With `acts`, people meddle in these ways only, and more; `rates` are faults that are at work
    in any case.
    """
    return Town(seed, acts, rates or {}).live()
