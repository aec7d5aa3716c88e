"""The reconciler's process: a full round every so many seconds, and a light one every second.

The light round runs in a thread of its own, so that a forge that is slow to answer delays nothing
that is due by time alone. It never asks the forge. Notifications, too, go out in a thread of their own.
"""

import signal
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic
from typing import Any

import structlog

from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.reconciling import nudge, reconcile
from mergebot.services.tenancy import served
from mergebot.settings import Settings
from mergebot.wiring.desk import Desk, announcer, desk, start_logging

log = structlog.get_logger()

NUDGE_S = 1.0
ANNOUNCE_S = 5.0

EARLY_S = 3.0
"""Between two full rounds at least, however much a lane waits to be rebuilt."""


def run_reconciler(settings: Settings) -> None:
    """Go round until SIGTERM or SIGINT."""
    start_logging(settings)
    stopping = Event()

    def stop(*_: Any) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    made = desk(settings)
    early = Event()

    def light_round() -> None:
        if nudge(made.parts):
            early.set()

    light = Thread(target=_every, args=(NUDGE_S, stopping, light_round), name="nudge", daemon=True)
    light.start()
    speaker = announcer(settings, made.parts)
    if speaker is not None:
        turns = (ANNOUNCE_S, stopping, speaker.go_round)
        Thread(target=_every, args=turns, name="announce", daemon=True).start()
    _every(settings.reconcile_seconds, stopping, lambda: _round(made), early)
    light.join(timeout=5.0)


def _round(made: Desk) -> None:
    try:
        reconcile(made.parts, served(made.parts))
    finally:
        # A round that the forge cut short is a round: who goes round is alive.
        made.pulse.beat(made.parts.clock.now())


def _every(
    seconds: float, stopping: Event, work: Callable[[], None], early: Event | None = None
) -> None:
    """Do the work every so many seconds, and as soon as `early` is set, but not without pause."""
    while not stopping.is_set():
        begun = monotonic()
        if early is not None:
            early.clear()
        try:
            work()
        except (Unavailable, Refused) as error:
            log.warning("round_cut_short", why=str(error))
        except Exception:
            # A fault of ours in one round must not end the rounds that repair everything else.
            log.exception("round_failed")
        stopping.wait(0.05)
        while (left := begun + seconds - monotonic()) > 0 and not stopping.wait(min(0.2, left)):
            if early is not None and early.is_set() and monotonic() - begun > EARLY_S:
                break
