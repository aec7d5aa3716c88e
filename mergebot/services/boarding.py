"""The board of claims: the pool at a glance, who holds what, what is contended, and advice."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mergebot.domain.advice import Telemetry, advise
from mergebot.domain.audit import Pool, pool_of
from mergebot.domain.candidate import Candidate, Claim, Landed
from mergebot.domain.costs import Cost, Spent
from mergebot.domain.early import Early
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import (
    Collision,
    Ended,
    Ledger,
    LedgerClaim,
    Parked,
    Suspect,
    parsed,
)
from mergebot.domain.markdown import plain
from mergebot.domain.names import render_path
from mergebot.domain.policy import ClaimPolicy
from mergebot.domain.status import Document
from mergebot.domain.views import seconds_in_queue
from mergebot.domain.wording import HOUR_S, iso
from mergebot.ports.basics import Clock
from mergebot.ports.ledger import Ledgers
from mergebot.ports.store import Store
from mergebot.services.costing import spent_in
from mergebot.services.statistics import percentile

HOURS = 24.0
WINDOW_S = 2 * HOUR_S
WINDOWS = 4
ENDED_SHOWN = 20
ENDED_READ = 1000
COLLISIONS_READ = 500
HEAT_SHOWN = 24
NOTES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Board:
    """Reads the ledger, the queue and what is known of open pull requests."""

    store: Store
    ledger: Ledgers
    clock: Clock

    def of(self, lane: Lane) -> Document:
        """Return everything that the page and the API show."""
        snapshot, ledger = self.store.read(lane), self.ledger.read(lane)
        early = self.ledger.early(lane)
        collisions = self.ledger.collisions(lane, limit=COLLISIONS_READ)
        claims = snapshot.policy.claims if snapshot.policy else ClaimPolicy()
        pool = pool_of(ledger, claims.pool)
        heat = heat_of(early, ledger, collisions)
        seen = self._telemetry(snapshot, pool, collisions, heat)
        return {
            "repo": lane.repo,
            "at": iso(snapshot.now),
            "revision": ledger.revision,
            "pool": pool_view(pool),
            "claims": [*_rows(ledger), *_queued_rows(snapshot, ledger)],
            "overlaps": list(_overlaps(early)),
            "heat": heat,
            "telemetry": telemetry_view(seen),
            "cost": spent_view(spent_in(self.ledger, snapshot)),
            "advice": [{"text": each.text, "evidence": each.evidence} for each in advise(seen)],
            "ended": [claim_view(each) for each in self.ledger.ended(lane, limit=ENDED_SHOWN)],
            "story": [
                {"at": iso(note.at), "claim": note.claim, "by": plain(note.by), "what": note.what,
                 "text": plain(note.text), "generation": note.generation}
                for note in self.ledger.notes(lane, limit=NOTES_SHOWN)
            ],
        }  # fmt: skip

    def _telemetry(
        self,
        snapshot: Snapshot,
        pool: Pool,
        collisions: Sequence[Collision],
        heat: Sequence[Document],
    ) -> Telemetry:
        now = self.clock.now()
        since = now - HOURS * HOUR_S
        ended = self.store.ended(snapshot.lane, limit=ENDED_READ)
        landed = [each for each in ended if _landed_at(each) >= since]
        notes = self.ledger.notes(snapshot.lane, limit=ENDED_READ)
        arrived = [each for each in (*ended, *snapshot.candidates) if each.enqueued_at >= since]
        return Telemetry(
            hours=HOURS,
            arrived=len(arrived),
            landed=len(landed),
            queued=len(snapshot.candidates),
            claimed=sum(note.what == "claimed" and note.at >= since for note in notes),
            collisions=sum(each.at >= since for each in collisions),
            p95_s=tuple(_windows(landed, now)),
            hottest=tuple(str(each["path"]) for each in heat[:3]),
            free=pool.free,
            crowded=_crowded(heat),
        )


def claim_view(claim: LedgerClaim) -> Document:
    """Return a claim as the API shows it; its session's token is nowhere in it."""
    state = claim.state
    return {
        "id": claim.id,
        "task": claim.task,
        "owner": claim.owner,
        "claims": list(claim.every),
        "assumes": list(claim.assumes),
        "branch": claim.branch or None,
        "pr": claim.pr or None,
        "generation": claim.generation,
        "state": type(state).__name__.lower(),
        "since": iso(claim.claimed_at),
        "heard_at": iso(claim.heard_at),
        "parked": {
            "owner": state.owner,
            "reason": plain(state.reason),
            "review_at": iso(state.review_at),
        }
        if isinstance(state, Parked)
        else None,
        "why": plain(state.why) if isinstance(state, Suspect) else None,
        "evidence": plain(state.evidence) if isinstance(state, Ended) else None,
        "ended_at": iso(state.at) if isinstance(state, Ended) else None,
        "how": state.how if isinstance(state, Ended) else None,
    }


def pool_view(pool: Pool) -> Document:
    """Return the pool; its four kinds add up to its size."""
    return {
        "size": pool.size,
        "active": pool.active,
        "parked": pool.parked,
        "suspect": pool.suspect,
        "free": pool.free,
    }


def telemetry_view(seen: Telemetry) -> Document:
    """Return the numbers that the advice rests on."""
    return {
        "hours": seen.hours,
        "arrivals_per_hour": round(seen.arrived / seen.hours, 2),
        "landings_per_hour": round(seen.landed / seen.hours, 2),
        "queued": seen.queued,
        "claims_made": seen.claimed,
        "collisions": seen.collisions,
        "collision_rate": round(seen.collision_rate, 3),
        "queue_age_p95_s": [round(each, 1) for each in seen.p95_s],
    }


def spent_view(spent: Spent) -> Document:
    """Return what agents reported within a day; `ceiling` is null where the rules set none."""
    return {
        "amount": spent.amount,
        "unit": spent.unit,
        "ceiling": spent.ceiling or None,
        "spent": spent.over,
        "tasks_reported": spent.reported,
        "tasks": spent.tasks,
        "text": spent.text,
    }


def cost_view(cost: Cost) -> Document:
    """Return one report as the API shows it."""
    return {
        "at": iso(cost.at),
        "by": plain(cost.by),
        "amount": cost.amount,
        "unit": cost.unit,
        "reference": plain(cost.reference),
    }


def heat_of(
    early: Sequence[Early], ledger: Ledger, collisions: Sequence[Collision]
) -> list[Document]:
    """Return the most contended paths: how many pull requests change each, and who was refused it."""
    changed = Counter(path for each in early for path in set(each.paths))
    refused = Counter(pattern for each in collisions for pattern in set(each.patterns))
    hot = {path for path, number in changed.items() if number > 1} | set(refused)
    ranked = sorted(hot, key=lambda path: (-(changed[path] + refused[path]), path))[:HEAT_SHOWN]
    most = max((changed[path] + refused[path] for path in ranked), default=1)
    return [
        {
            "path": render_path(path),
            "pulls": changed[path],
            "refused": refused[path],
            "claims": len(ledger.rivals([path], but="")) if parsed([path]) else 0,
            "heat": round((changed[path] + refused[path]) / most, 2),
        }
        for path in ranked
    ]


def _rows(ledger: Ledger) -> list[Document]:
    claims = sorted(ledger.claims.values(), key=lambda each: (each.claimed_at, each.id))
    return [claim_view(claim) | {"title": None} for claim in claims]


def _queued_rows(snapshot: Snapshot, ledger: Ledger) -> Iterator[Document]:
    """Yield the open candidates whose claim is not in the ledger: most of them claim nothing."""
    for candidate in snapshot.candidates:
        if ledger.of_pull(candidate.pr) is not None:
            continue
        claim = candidate.claim if isinstance(candidate.claim, Claim) else None
        yield {
            "id": claim.id if claim else None,
            "task": claim.task if claim else None,
            "owner": candidate.proposal.author.login,
            "claims": list(claim.patterns) if claim else [],
            "assumes": list(claim.assumes) if claim else [],
            "branch": candidate.proposal.head_branch,
            "pr": candidate.pr,
            "title": candidate.proposal.title,
            "generation": claim.generation if claim else None,
            "state": "queued",
            "since": iso(candidate.enqueued_at),
            "heard_at": iso(candidate.enqueued_at),
            "parked": None,
            "why": None,
        }


def _overlaps(early: Sequence[Early]) -> Iterator[Document]:
    """Yield each pair of open pull requests that change some of the same files, once."""
    for each in early:
        for other in each.shared:
            if each.pr > other.pr:
                yield {"prs": [other.pr, each.pr], "paths": list(other.paths)}


def _crowded(heat: Sequence[Document]) -> tuple[str, int]:
    shared = [(str(each["path"]), int(str(each["pulls"]))) for each in heat]
    return max(shared, key=lambda spot: spot[1], default=("", 0))


def _landed_at(candidate: Candidate) -> float:
    return candidate.state.at if isinstance(candidate.state, Landed) else 0.0


def _windows(landed: Sequence[Candidate], now: float) -> Iterator[float]:
    """Yield the 95th percentile of seconds in the queue, of each window in which enough landed."""
    for place in range(WINDOWS, 0, -1):
        start, end = now - place * WINDOW_S, now - (place - 1) * WINDOW_S
        waits = [seconds_in_queue(each) for each in landed if start <= _landed_at(each) < end]
        found = percentile([wait for wait in waits if wait is not None], 95)
        if found is not None:
            yield found
