"""Making it right without any webhook: the queue against the forge and git, again and again."""

from collections.abc import Sequence

import structlog

from mergebot.domain.candidate import Gating, Landing, Parked, Verified
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Checking, Red, Snapshot, UnknownHealth
from mergebot.domain.limits import IDLE_ALARM_S, RUN_SILENT_S, RUN_UNTAKEN_S
from mergebot.domain.pulls import PullRequest
from mergebot.domain.views import idle_s
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.services.admitting import follow
from mergebot.services.external import sweep_trials
from mergebot.services.keeping_up import keep_up
from mergebot.services.labelling import admit_labelled
from mergebot.services.opening import open_lane
from mergebot.services.parts import Parts
from mergebot.services.recovering import recover
from mergebot.services.repositories import forget, git_of
from mergebot.services.rereading import look_where_unsure
from mergebot.services.tick import look
from mergebot.services.trunk import consult
from mergebot.services.waiting import is_refused

log = structlog.get_logger()

STUCK_LOG_S = 2.0
"""Of every minute in which a lane is stuck, the part in which that is logged: once or twice."""


def reconcile(parts: Parts, repos: Sequence[str]) -> None:
    """Compare every lane with the forge and git, and repair what differs.

    One repository's odd state never stops another's lane; a mistake of ours is raised at the end.
    """
    mistakes: list[Exception] = []
    parts.doorbell.intake()
    for repo in repos:
        try:
            forget(parts, repo)
            _lane(parts, open_lane(parts, repo))
        except (Unavailable, Refused) as error:
            log.warning("lane_not_reconciled", lane=repo, why=str(error))
            known = parts.store.lane(repo)
            if known is not None and isinstance(error, Missing):
                is_refused(parts, known, str(error))
        except Exception as error:
            log.exception("lane_failed", lane=repo)
            mistakes.append(error)
    if mistakes:
        raise mistakes[0]


def nudge(parts: Parts) -> bool:
    """Ring for whatever is due by time alone, from the store, without asking the forge.

    Tells whether a full round is wanted at once: a lane waits to be rebuilt, or none is known.
    """
    if parts.inbox.depth():
        parts.doorbell.intake()
    lanes = parts.store.lanes()
    waiting = [lane for lane in lanes if _nudge(parts, lane)]
    return bool(waiting) or not lanes


def _nudge(parts: Parts, lane: Lane) -> bool:
    """Ring for one lane, and tell whether it waits to be rebuilt; a lane in odd shape is told."""
    try:
        snapshot = parts.store.read(lane)
        if parts.store.due_effects(lane, snapshot.now, limit=1):
            parts.doorbell.publish(lane)
    except Refused as error:
        log.warning("lane_unreadable", lane=lane.repo, why=str(error))
        return False
    look_where_unsure(parts, snapshot)
    for run in _untaken(snapshot):
        parts.doorbell.gate(lane, run)
    if snapshot.state.refused_since and snapshot.now < snapshot.state.retry_at:
        return snapshot.state.recovering
    if _due(snapshot) or _stuck(parts, snapshot):
        parts.doorbell.tick(lane)
    return snapshot.state.recovering


def _stuck(parts: Parts, snapshot: Snapshot) -> bool:
    """Tell whether the queue could move and did not for too long, and say so in the log."""
    story = parts.store.story(snapshot.lane, 0, limit=1)
    idle = idle_s(snapshot, story[-1].at if story else 0.0)
    if idle <= IDLE_ALARM_S:
        return False
    if idle % IDLE_ALARM_S < STUCK_LOG_S:
        log.error("lane_stuck", lane=snapshot.lane.repo, idle_s=round(idle), slots=snapshot.slots)
    return True


def _lane(parts: Parts, lane: Lane) -> None:
    if recover(parts, lane):
        return
    look(parts, lane, git_of(parts, lane))
    if recover(parts, lane):
        return
    consult(parts, lane)
    pulls = {pull.number: pull for pull in parts.forge.open_pulls(lane.repo)}
    for candidate in parts.store.read(lane).candidates:
        _follow(parts, lane, candidate.pr, pulls.get(candidate.pr))
    admit_labelled(parts, lane, list(pulls.values()))
    parts.doorbell.tick(lane)
    sweep_trials(parts, git_of(parts, lane), lane)
    keep_up(parts, lane, pulls)


def _follow(parts: Parts, lane: Lane, number: int, pull: PullRequest | None) -> None:
    try:
        follow(parts, lane, pull or parts.forge.pull(lane.repo, number))
    except Missing:
        log.info("pull_missing", lane=lane.repo, pr=number)


def _untaken(snapshot: Snapshot) -> list[str]:
    """Return the runs to ring for again: nobody took them, although a slot is free."""
    open_runs = {name: run for name, run in snapshot.runs.items() if run.result is None}
    waiting = [
        name
        for name, run in open_runs.items()
        if not run.progress.beat and snapshot.now - run.order.ordered_at > RUN_UNTAKEN_S
    ]
    busy = len([run for run in open_runs.values() if run.progress.beat])
    return waiting[: max(snapshot.slots - busy, 0)]


def _due(snapshot: Snapshot) -> bool:
    """Tell whether time alone gives this lane something to decide."""
    now, health = snapshot.now, snapshot.state.health
    # What made the trunk red has been decided on, however long it stays red.
    known = {health.run} if isinstance(health, Red) else set()
    if snapshot.state.halt is not None:
        # What is green lands when somebody resumes, and not by time.
        states = [each.state for each in snapshot.candidates]
        known |= {each.verdict.run for each in states if isinstance(each, Verified)}
    ended = any(run.result for name, run in snapshot.runs.items() if name not in known)
    if snapshot.state.waiting or ended:
        return True
    match health:
        case UnknownHealth(retry_at=retry_at) if 0.0 < retry_at <= now:
            return True
        case Checking() | Red() if _silent(snapshot):
            return True
    return _silent(snapshot) or any(
        isinstance(each.state, Landing)
        or (isinstance(each.state, Parked) and 0.0 < each.state.until <= now)
        for each in snapshot.candidates
    )


def _silent(snapshot: Snapshot) -> bool:
    gated = [each for each in snapshot.candidates if isinstance(each.state, Gating)]
    lost = any(
        each.state.run not in snapshot.runs for each in gated if isinstance(each.state, Gating)
    )
    beats = [run.progress.beat for run in snapshot.runs.values() if run.result is None]
    return lost or any(beat and snapshot.now - beat > RUN_SILENT_S for beat in beats)
