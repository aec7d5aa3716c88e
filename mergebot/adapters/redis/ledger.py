"""The claims ledger on Redis: read by what changed, written by compare-and-set on its revision."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from secrets import token_hex

from redis import Redis

from mergebot.adapters.record import (
    COSTS_MAX,
    DECISIONS_MAX,
    LEDGER_ENDED_MAX,
    NOTES_MAX,
    SAYINGS_KEEP_S,
)
from mergebot.adapters.redis.codec import decode, decoder, encode
from mergebot.adapters.redis.keys import EVENTS
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.domain.audit import Decided
from mergebot.domain.contracts import Said
from mergebot.domain.costs import Cost
from mergebot.domain.early import Early
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import ASKED, Change, Collision, Ledger, LedgerClaim, Note
from mergebot.ports.ledger import HostReport
from mergebot.ports.store import Stale

_READ = Script("ledger_read")
_COMMIT = Script("ledger_commit")
_SPEND = Script("ledger_spend")


@dataclass(frozen=True, slots=True)
class LedgerKeys:
    """The keys of one repository's ledger, whatever its trunk is called."""

    lane: Lane

    def __call__(self, name: str) -> str:
        """Name one of its records: state, live, order, ended, past, notes, hosts, ..."""
        return f"mb:{{ledger:{self.lane.repo_id}}}:{name}"


class RedisLedger:
    """The ledger. Its errors are Unavailable, Stale, and Unreadable for a record it cannot read.

    What was read is kept, so that the next reading brings only what changed since.
    """

    def __init__(self, client: Redis) -> None:
        self._server = Server(client)
        self._known: dict[int, Ledger] = {}

    def read(self, lane: Lane) -> Ledger:
        """Return every live claim of a repository, as of one moment."""
        keys = LedgerKeys(lane)
        known = self._known.get(lane.repo_id, Ledger(lane))
        answer = self._server.run(
            _READ, [keys("state"), keys("live"), keys("order")], [known.epoch, known.revision]
        )
        epoch, revision, generation, whole, texts, gone = answer
        base = Ledger(lane) if whole else replace(known, lane=lane)
        read = decoder(LedgerClaim, where=keys("live"))
        ledger = base.without([name.decode() for name in gone]).with_claims(
            [read(text) for text in texts]
        )
        ledger = replace(
            ledger, epoch=epoch.decode(), revision=int(revision), generation=int(generation)
        )
        self._known[lane.repo_id] = ledger
        return ledger

    def commit(self, ledger: Ledger, change: Change) -> Ledger:
        """Write a change; raises Stale, and changes nothing, if the ledger moved since."""
        lane = ledger.lane
        keys = LedgerKeys(lane)
        names = ("state", "live", "order", "ended", "past", "notes", "asked")
        words: list[Word] = [ledger.epoch, ledger.revision, token_hex(8), token_hex(8)]
        words += [change.generation, LEDGER_ENDED_MAX, NOTES_MAX, EVENTS, lane.key]
        words.append(len(change.claims))
        for claim in change.claims:
            words += [claim.id, int(claim.live), encode(LedgerClaim, claim)]
        for note in change.notes:
            words += [int(note.what == ASKED), encode(Note, note)]
        epoch = self._server.run(_COMMIT, [keys(name) for name in names], words)
        if epoch is None:
            raise Stale(f"the ledger of {lane.repo} moved on since revision {ledger.revision}")
        after = replace(
            ledger.with_claims(change.claims),
            epoch=epoch.decode(),
            revision=ledger.revision + 1,
            generation=max(ledger.generation, change.generation),
        )
        self._known[lane.repo_id] = after
        return after

    def find(self, lane: Lane, name: str) -> LedgerClaim | None:
        """Return a claim by its id, live or ended."""
        keys = LedgerKeys(lane)
        live, ended = self._server.ask(
            lambda client: (
                client.pipeline().hget(keys("live"), name).hget(keys("ended"), name).execute()
            )
        )
        text = live or ended
        return decode(LedgerClaim, text, where=keys("live")) if text else None

    def ended(self, lane: Lane, *, limit: int) -> Sequence[LedgerClaim]:
        """Return the newest ended claims, newest first."""
        keys = LedgerKeys(lane)
        if limit < 1:
            return []
        names = self._server.ask(lambda client: client.zrevrange(keys("past"), 0, limit - 1))
        if not names:
            return []
        texts = self._server.ask(lambda client: client.hmget(keys("ended"), names))
        return [decode(LedgerClaim, text, where=keys("ended")) for text in texts if text]

    def notes(self, lane: Lane, *, limit: int) -> Sequence[Note]:
        """Return the newest lines of the ledger's story, newest first."""
        key = LedgerKeys(lane)("notes")
        texts = self._server.ask(lambda client: client.lrange(key, 0, max(limit, 1) - 1))
        return [decode(Note, text, where=key) for text in texts]

    def asked(self, lane: Lane) -> Sequence[Note]:
        """Return the lines that record a question to a person, newest first, however old."""
        key = LedgerKeys(lane)("asked")
        texts = self._server.ask(lambda client: client.lrange(key, 0, -1))
        return [decode(Note, text, where=key) for text in texts]

    def report(self, lane: Lane, report: HostReport) -> None:
        """Keep what a host says of its worktrees, instead of what it said before."""
        key, text = LedgerKeys(lane)("hosts"), encode(HostReport, report)
        self._server.ask(lambda client: client.hset(key, report.host, text))

    def reports(self, lane: Lane) -> Sequence[HostReport]:
        """Return what every host said last, by name."""
        key = LedgerKeys(lane)("hosts")
        texts = self._server.ask(lambda client: client.hvals(key))
        found = [decode(HostReport, text, where=key) for text in texts]
        return sorted(found, key=lambda each: each.host)

    def decided(self, lane: Lane, decided: Decided) -> None:
        """Record what a person decided about work that only one machine has."""
        self._append(LedgerKeys(lane)("decisions"), encode(Decided, decided))

    def decisions(self, lane: Lane) -> Sequence[Decided]:
        """Return the recorded decisions, oldest first."""
        key = LedgerKeys(lane)("decisions")
        texts = self._server.ask(lambda client: client.lrange(key, 0, -1))
        return [decode(Decided, text, where=key) for text in texts]

    def say(self, lane: Lane, said: Said) -> None:
        """Record somebody's word on a contract."""
        key = LedgerKeys(lane)(f"said:{said.pr:d}")
        self._append(key, encode(Said, said))
        self._server.ask(lambda client: client.expire(key, SAYINGS_KEEP_S))

    def sayings(self, lane: Lane, pr: int) -> Sequence[Said]:
        """Return what was said of contracts on a pull request, oldest first."""
        key = LedgerKeys(lane)(f"said:{pr:d}")
        texts = self._server.ask(lambda client: client.lrange(key, 0, -1))
        return [decode(Said, text, where=key) for text in texts]

    def collide(self, lane: Lane, collision: Collision) -> None:
        """Count that somebody was refused a claim."""
        self._append(LedgerKeys(lane)("collisions"), encode(Collision, collision))

    def collisions(self, lane: Lane, *, limit: int) -> Sequence[Collision]:
        """Return the newest refusals, newest first."""
        key = LedgerKeys(lane)("collisions")
        texts = self._server.ask(lambda client: client.lrange(key, -max(limit, 1), -1))
        return [decode(Collision, text, where=key) for text in reversed(texts)]

    def spend(self, lane: Lane, cost: Cost) -> Cost:
        """Record a cost, and return what stands under its claim and reference: the first report."""
        keys = LedgerKeys(lane)
        words: list[Word] = [f"{cost.claim} {cost.reference}", encode(Cost, cost), cost.at]
        known = self._server.run(_SPEND, [keys("costs"), keys("cost-order")], [*words, COSTS_MAX])
        return decode(Cost, known, where=keys("costs"))

    def costs(self, lane: Lane, *, limit: int) -> Sequence[Cost]:
        """Return the newest reported costs, newest first."""
        keys = LedgerKeys(lane)
        if limit < 1:
            return []
        names = self._server.ask(lambda client: client.zrevrange(keys("cost-order"), 0, limit - 1))
        if not names:
            return []
        texts = self._server.ask(lambda client: client.hmget(keys("costs"), names))
        return [decode(Cost, text, where=keys("costs")) for text in texts if text]

    def keep_early(self, lane: Lane, early: Early) -> None:
        """Keep what is known of a pull request before it is queued."""
        key, text = LedgerKeys(lane)("early"), encode(Early, early)
        self._server.ask(lambda client: client.hset(key, str(early.pr), text))

    def drop_early(self, lane: Lane, pr: int) -> None:
        """Forget what was known of a pull request that is closed."""
        key = LedgerKeys(lane)("early")
        self._server.ask(lambda client: client.hdel(key, str(pr)))

    def early(self, lane: Lane) -> Sequence[Early]:
        """Return what is known of every open pull request, by number."""
        key = LedgerKeys(lane)("early")
        texts = self._server.ask(lambda client: client.hvals(key))
        return sorted((decode(Early, text, where=key) for text in texts), key=lambda e: e.pr)

    def _append(self, key: str, text: str) -> None:
        """Put a line at the end of a list, once, however often the same line is sent."""
        self._server.ask(
            lambda client: (
                client.pipeline()
                .lrem(key, 0, text)
                .rpush(key, text)
                .ltrim(key, -DECISIONS_MAX, -1)
                .execute()
            )
        )
