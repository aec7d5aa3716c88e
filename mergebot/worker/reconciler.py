"""The reconciler's process: a full round every so many seconds, and a light one every second.

The light round runs in a thread of its own, so that a forge that is slow to answer delays nothing
that is due by time alone. It never asks the forge.
"""

import signal
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic
from typing import Any

import structlog

from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.reconciling import nudge, reconcile
from mergebot.settings import Settings
from mergebot.wiring.desk import Desk, desk, start_logging

log = structlog.get_logger()

NUDGE_S = 1.0


def run_reconciler(settings: Settings) -> None:
    """Go round until SIGTERM or SIGINT."""
    start_logging(settings)
    stopping = Event()

    def stop(*_: Any) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    made = desk(settings)
    light = Thread(
        target=_every,
        args=(NUDGE_S, stopping, lambda: nudge(made.parts)),
        name="nudge",
        daemon=True,
    )
    light.start()
    _every(settings.reconcile_seconds, stopping, lambda: _round(made, settings))
    light.join(timeout=5.0)


def _round(made: Desk, settings: Settings) -> None:
    reconcile(made.parts, settings.repos)
    made.pulse.beat(made.parts.clock.now())


def _every(seconds: float, stopping: Event, work: Callable[[], None]) -> None:
    while not stopping.is_set():
        begun = monotonic()
        try:
            work()
        except (Unavailable, Refused) as error:
            log.warning("round_cut_short", why=str(error))
        except Exception:
            # A fault of ours in one round must not end the rounds that repair everything else.
            log.exception("round_failed")
        stopping.wait(max(0.05, seconds - (monotonic() - begun)))
