"""Lanes that cannot go on: why, and when they are tried again."""

import structlog

from mergebot.domain.decision import Decision
from mergebot.domain.ids import Lane
from mergebot.domain.limits import FORGE_WAIT_S, UNREACHABLE_WAIT_S_MAX
from mergebot.ports.errors import Unavailable
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts
from mergebot.services.repositories import forget, git_of

log = structlog.get_logger()


def waits(parts: Parts, lane: Lane, why: str) -> None:
    """Say why the lane waits; it is tried again with the next light round."""
    _note(parts, lane, why, refused=False)


def is_refused(parts: Parts, lane: Lane, why: str) -> None:
    """Say that the lane cannot go on; it is tried again more and more seldom."""
    _note(parts, lane, why, refused=True)


def goes_on(decision: Decision) -> Decision:
    """Say that the lane goes on."""
    return decision.lane(waiting="", refused_since=0.0, retry_at=0.0)


def look_whether_it_is_back(parts: Parts, lane: Lane) -> None:
    """Ask for a repository that was not to be had; raises Unavailable, Refused while it is not."""
    if parts.store.read(lane).state.refused_since:
        forget(parts, lane.repo)
        git_of(parts, lane).fetch(lane.trunk, [])


def _note(parts: Parts, lane: Lane, why: str, *, refused: bool) -> None:
    log.warning("lane_waits", lane=lane.repo, why=why)

    def rule(decision: Decision) -> Decision:
        state, now = decision.snapshot.state, decision.snapshot.now
        since = (state.refused_since or now) if refused else 0.0
        wait_s = min(max(FORGE_WAIT_S, now - since), UNREACHABLE_WAIT_S_MAX) if refused else 0.0
        if state.waiting == why and not refused:
            return decision
        decision = decision.lane(waiting=why, refused_since=since, retry_at=now + wait_s)
        return decision if state.waiting == why else decision.tell("waiting", why)

    try:
        decide(parts, lane, rule)
    except Unavailable as error:
        log.warning("lane_unwritten", lane=lane.repo, why=str(error))
