"""Read once, decide, commit once: the loop that every change of a lane goes through."""

from collections.abc import Callable

from mergebot.domain.decision import Decision
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Snapshot
from mergebot.ports.errors import Unavailable
from mergebot.ports.store import Commit, Stale
from mergebot.services.parts import Parts

TRIES = 20

Rule = Callable[[Decision], Decision]


def decide(parts: Parts, lane: Lane, rule: Rule) -> Snapshot:
    """Apply `rule` to the lane's newest record, again until nobody else commits in between.

    `rule` must only decide; it may be called several times. Raises Unavailable.
    """
    for _ in range(TRIES):
        decision = rule(Decision(parts.store.read(lane)))
        if not decision.touched:
            return decision.snapshot
        try:
            return commit(parts, decision)
        except Stale:
            continue
    raise Unavailable(f"the record of {lane.repo} kept changing; nothing was written")


def commit(parts: Parts, decision: Decision) -> Snapshot:
    """Write a decision and ring for what follows from it; raises Stale, Unavailable."""
    lane = decision.snapshot.lane
    written = Commit(
        state=decision.snapshot.state,
        candidates=decision.candidates,
        orders=decision.orders,
        stops=decision.stops,
        effects=decision.effects,
        entries=decision.entries,
        landed=decision.landed,
    )
    snapshot = parts.store.commit(decision.snapshot, written)
    for order in decision.orders:
        parts.doorbell.gate(lane, order.run)
    if decision.effects:
        parts.doorbell.publish(lane)
    return snapshot
