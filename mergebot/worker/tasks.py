"""What a worker does when the doorbell rings: look up the lane, call one service.

Messages carry ids and may come twice, late or never; every service looks at the record first.
"""

from collections.abc import Callable
from time import monotonic

import structlog
from celery import Celery

from mergebot.adapters.celery_app import HARD_LIMIT_S, INTAKE, PUBLISH, RUN_GATE, SOFT_LIMIT_S, TICK
from mergebot.adapters.pulse import HANDS
from mergebot.domain.ids import Lane
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.gating import gate, sweep
from mergebot.services.intake import drain
from mergebot.services.publishing import publish
from mergebot.services.tick import tick
from mergebot.wiring.desk import Desk

log = structlog.get_logger()

SWEEP_S = 3600.0


def register(app: Celery, desk_of: Callable[[], Desk]) -> None:
    """Make the tasks known to `app`; `desk_of` gives the pool child its own desk."""
    sweeping = _Sweeping()

    @app.task(name=TICK, soft_time_limit=SOFT_LIMIT_S, time_limit=HARD_LIMIT_S)
    def tick_lane(lane_key: str) -> None:
        _with_lane(desk_of(), TICK, lane_key, lambda desk, lane: tick(desk.parts, lane))

    @app.task(name=PUBLISH, soft_time_limit=SOFT_LIMIT_S, time_limit=HARD_LIMIT_S)
    def publish_lane(lane_key: str) -> None:
        _with_lane(desk_of(), PUBLISH, lane_key, lambda desk, lane: publish(desk.parts, lane))

    @app.task(name=INTAKE, soft_time_limit=SOFT_LIMIT_S, time_limit=HARD_LIMIT_S)
    def take_in() -> None:
        desk = desk_of()
        desk.bell.answered(INTAKE)
        _told(lambda: _take_in(desk))

    # No time limit: the gate's own supervisor enforces time and watches for cancellation.
    @app.task(name=RUN_GATE)
    def run_gate(lane_key: str, run: str) -> None:
        def work(desk: Desk, lane: Lane) -> None:
            with structlog.contextvars.bound_contextvars(run=run):
                gate(desk.parts, desk.gatekeeper, lane, run)
            sweeping.after_gate(desk)

        _with_lane(desk_of(), RUN_GATE, lane_key, work)


class _Sweeping:
    """Now and then removes what died with its worker: after a pool child's first gate, then hourly."""

    def __init__(self) -> None:
        self._next = 0.0

    def after_gate(self, desk: Desk) -> None:
        """Sweep where it is time."""
        if monotonic() >= self._next:
            self._next = monotonic() + SWEEP_S
            sweep(desk.parts.store, desk.workspaces, sandbox=desk.gatekeeper.sandbox)


def _take_in(desk: Desk) -> None:
    # The reconciler rings for this in every round, so it shows that rings are answered at all.
    desk.pulse.beat(desk.parts.clock.now(), HANDS)
    drain(desk.parts)


def _with_lane(desk: Desk, task: str, key: str, work: Callable[[Desk, Lane], None]) -> None:
    def found() -> None:
        lane = next((each for each in desk.parts.store.lanes() if each.key == key), None)
        if lane is None:
            log.info("ring_for_unknown_lane", task=task, lane=key)
            return
        with structlog.contextvars.bound_contextvars(lane=lane.repo):
            work(desk, lane)

    if task != RUN_GATE:
        desk.bell.answered(task, key)
    _told(found)


def _told(work: Callable[[], None]) -> None:
    """Do the work; what the world refuses is logged, and the reconciler rings again."""
    try:
        work()
    except (Unavailable, Refused) as error:
        log.warning("ring_unanswered", why=str(error))
