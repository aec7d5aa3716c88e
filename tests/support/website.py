"""The web application over the memory adapters, with people, an operator and news to steer."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from queue import Empty, Queue

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette

from mergebot.adapters.jinja import HtmlPages
from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.ledger import MemoryLedger
from mergebot.adapters.memory.logs import MemoryLogs
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.signing import KeyNotary
from mergebot.domain.candidate import Candidate
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Green, LaneState, Rules, RunOrder
from mergebot.domain.story import Entry
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.forge import Permission
from mergebot.ports.people import SignIn
from mergebot.ports.store import Commit
from mergebot.services.claim_desk import ClaimDesk
from mergebot.services.hindsight import Aside
from mergebot.web.app import create_app
from mergebot.web.parts import WebParts, WebSettings
from tests.support.sample import BASE, LANE, POLICY
from tests.support.village import Village

NOW = 1_800_000_000.0
SECRET = "hook-secret"
ADMIN_TOKEN = "admin-token"
PEOPLE = {
    "tok-ada": (Actor(11, "ada"), Permission.WRITE),
    "tok-mia": (Actor(12, "mia"), Permission.MAINTAIN),
    "tok-eve": (Actor(13, "eve"), Permission.READ),
}


@dataclass(slots=True)
class StillClock:
    """A clock that stands where it is put."""

    at: float = NOW

    def now(self) -> float:
        return self.at


@dataclass(slots=True)
class KnownPeople:
    """Knows the people above, until it is told to be away."""

    away: bool = False

    def me(self) -> Actor:
        return Actor(99, "mergebot[bot]")

    def caller(self, token: str) -> Actor:
        if self.away:
            raise Unavailable("the forge does not answer")
        if token not in PEOPLE:
            raise Refused("bad credentials")
        return PEOPLE[token][0]

    def permission(self, repo: str, actor: Actor) -> Permission:
        return {who.id: may for who, may in PEOPLE.values()}.get(actor.id, Permission.NONE)


@dataclass(slots=True)
class NotedOperator:
    """Notes what was asked of it; `refusal` is what it says no with, `busy_s` how long it waits."""

    asked: list[tuple[object, ...]] = field(default_factory=list)
    refusal: str = ""
    busy_s: float = 0.0

    def _note(self, *what: object) -> None:
        if self.busy_s:
            raise Unavailable("the forge takes no more writes", self.busy_s)
        if self.refusal:
            raise Refused(self.refusal)
        self.asked.append(what)

    def enqueue(self, lane: Lane, pr: int, by: Actor, *, seen: Sha | None = None) -> None:
        self._note("enqueue", lane.repo, pr, by.login, *filter(None, [seen]))

    def cancel(self, lane: Lane, pr: int, by: Actor) -> None:
        self._note("cancel", lane.repo, pr, by.login)

    def retry(
        self, lane: Lane, pr: int, by: Actor, reason: str, *, seen: Sha | None = None
    ) -> None:
        self._note("retry", lane.repo, pr, by.login, reason, *filter(None, [seen]))

    def hold(self, lane: Lane, pr: int, by: Actor) -> None:
        self._note("hold", lane.repo, pr, by.login)

    def unhold(self, lane: Lane, pr: int, by: Actor) -> None:
        self._note("unhold", lane.repo, pr, by.login)

    def halt(self, lane: Lane, by: Actor, reason: str) -> None:
        self._note("halt", lane.repo, by.login, reason)

    def resume(self, lane: Lane, by: Actor, reason: str) -> None:
        self._note("resume", lane.repo, by.login, reason)


@dataclass(slots=True)
class CountedBell:
    """Counts the rings for the inbox; the others are nobody's business here."""

    rings: int = 0
    broken: bool = False

    def tick(self, lane: Lane) -> None:
        raise AssertionError(f"a page rang for {lane}")

    def gate(self, lane: Lane, run: str) -> None:
        raise AssertionError(f"a page rang for {lane} {run}")

    def publish(self, lane: Lane) -> None:
        raise AssertionError(f"a page rang for {lane}")

    def intake(self) -> None:
        if self.broken:
            raise Unavailable("no broker")
        self.rings += 1


@dataclass(frozen=True, slots=True)
class Moved:
    """A lane moved."""

    lane_key: str
    revision: int


@dataclass(slots=True)
class SpokenNews:
    """Passes on what `say` says."""

    queue: Queue[Moved] = field(default_factory=Queue)

    def say(self, lane: Lane, revision: int) -> None:
        self.queue.put(Moved(lane.key, revision))

    def listen(self, *, timeout_s: float) -> Iterator[Moved | None]:
        while True:
            try:
                yield self.queue.get(timeout=timeout_s)
            except Empty:
                yield None


class Website:
    """The application and everything behind it."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.runs = MemoryRuns()
        self.store = MemoryStore(self.clock, self.runs)
        self.logs = MemoryLogs()
        self.inbox = MemoryInbox(self.clock)
        self.bell = CountedBell()
        self.people = KnownPeople()
        self.operator = NotedOperator()
        self.news = SpokenNews()
        self.ledger = MemoryLedger()
        village = Village()
        parts = village.parts
        self.hosting = village.hosting
        self.claims = ClaimDesk(
            replace(parts, store=self.store, clock=self.clock, ledger=self.ledger)
        )
        self.notary = KeyNotary(Ed25519PrivateKey.generate())
        self.sign_in: SignIn | None = None
        self.private: set[str] = set()
        self.reconciled_at: float | None = NOW
        self.aside = Aside(lambda work: work(), lambda work: work())
        self.settings = WebSettings(
            public_url="http://127.0.0.1:8420",
            forge_url="http://127.0.0.1:3000",
            admin_token=ADMIN_TOKEN,
        )

    def app(self) -> Starlette:
        """Return the application over these parts."""
        return create_app(
            WebParts(
                store=self.store,
                runs=self.runs,
                logs=self.logs,
                inbox=self.inbox,
                doorbell=self.bell,
                clock=self.clock,
                forge=self.people,
                operator=self.operator,
                claims=self.claims,
                pages=HtmlPages(),
                changes=self.news,
                verify=verify,
                seals=self.notary,
                sign_in=self.sign_in,
                private=lambda lane: lane.repo in self.private,
                reconciled_at=lambda: self.reconciled_at,
                settings=self.settings,
                aside=self.aside,
            )
        )

    def put(self, *candidates: Candidate, lane: Lane = LANE, **more: object) -> None:
        """Commit candidates to a lane whose trunk is green, or in the state given as `state`."""
        self.store.open_lane(lane)
        entries = more.get("entries", ())
        orders = more.get("orders", ())
        state = more.get("state", healthy(self.clock.now()))
        assert isinstance(state, LaneState)
        assert isinstance(entries, tuple)
        assert isinstance(orders, tuple)
        landed = more.get("landed", ())
        assert isinstance(landed, tuple)
        commit = Commit(state, candidates, orders, entries=entries, landed=landed)
        after = self.store.commit(self.store.read(lane), commit)
        self.news.say(lane, after.revision)


def healthy(now: float) -> LaneState:
    """Return the state of a lane with rules and a green trunk."""
    return LaneState(known_tip=BASE, health=Green(BASE, now - 725), rules=Rules(BASE, POLICY))


def order(run: str, candidate: Candidate, at: float) -> RunOrder:
    """Return the order of a gate run."""
    return RunOrder(run, candidate.pr, candidate.head, BASE, BASE, POLICY.gate, at, 1)


def entry(at: float, pr: int, kind: str, text: str) -> Entry:
    """Return a line of a story."""
    return Entry(at, pr, kind, text)


def verify(body: bytes, signature: str) -> bool:
    """Tell whether the signature is that of the body."""
    return hmac.compare_digest(signature.encode(), sign(body).encode())


def sign(body: bytes) -> str:
    """Return the signature of a body."""
    return "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()


def hook_headers(body: bytes, guid: str = "g-1", event: str = "pull_request") -> dict[str, str]:
    """Return the headers of a genuine delivery."""
    return {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": guid,
        "X-Hub-Signature-256": sign(body),
        "Content-Type": "application/json",
    }


def payload(**fields: object) -> bytes:
    """Return a body."""
    return json.dumps(fields).encode()
