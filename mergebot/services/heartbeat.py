"""What goes on beside a gate: its output is stored, its progress reported, its end awaited."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event, Lock, Thread
from typing import Self

from mergebot.domain import limits
from mergebot.domain.ids import Lane
from mergebot.domain.lane import RunProgress
from mergebot.ports.basics import Clock
from mergebot.ports.errors import Unavailable
from mergebot.ports.runs import Logs, Runs
from mergebot.services.gatelog import GateLog

LOOK_S = 0.08
"""How often a gate asks whether it is still wanted: with this its end is seen to within 200 ms."""

FLUSH_S = 0.16
"""How often output is stored: each time is a write to disk."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a worker writes about its gates."""

    runs: Runs
    logs: Logs
    clock: Clock


@dataclass(slots=True)
class Heartbeat:
    """A thread for the whole life of one gate. While the store is away, the gate goes on.

    It ends the gate once nobody wants it, and once it was not heard of for so long that the run
    counts as lost and is run again elsewhere.
    """

    desk: Desk
    lane: Lane
    run: str
    log: GateLog
    progress: RunProgress
    _over: Event = field(default_factory=Event)
    _stopped: Event = field(default_factory=Event)
    _moved: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _running: dict[str, float] = field(default_factory=dict)
    _thread: Thread = field(init=False)

    def __enter__(self) -> Self:
        """Start to beat."""
        self._thread = Thread(target=self._live, daemon=True, name=f"gate-{self.run}")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Store what is left of the output and end."""
        self._over.set()
        self._thread.join()
        self._try(self._flush)

    def wanted(self) -> bool:
        """Tell whether anybody still wants the run; answers at once."""
        return not self._stopped.is_set()

    def pause(self, seconds: float) -> bool:
        """Wait, and tell whether anybody still wants the run then."""
        return not self._stopped.wait(seconds)

    def step(self, name: str) -> None:
        """Note that a step begins, beside those that run."""
        with self._lock:
            self._running[name] = self.desk.clock.now()
            self.progress = replace(self.progress, step=name, step_since=self._running[name])
        self._moved.set()

    def done(self, name: str) -> None:
        """Note that a step is done; of those that still run, the last one to begin is shown."""
        with self._lock:
            self._running.pop(name, None)
            done = (*self.progress.steps_done, name)
            shown = next(reversed(self._running), "")
            since = self._running.get(shown, 0.0)
            self.progress = replace(self.progress, step=shown, step_since=since, steps_done=done)

    def _live(self) -> None:
        heard = self.desk.clock.now()
        beat_at = flush_at = 0.0
        while not self._over.wait(LOOK_S):
            self._try(self._look)
            now = self.desk.clock.now()
            if now >= flush_at:
                flush_at = now + FLUSH_S
                self._try(self._flush)
            if now >= beat_at or self._moved.is_set():
                self._moved.clear()
                beat_at = now + limits.BEAT_S
                heard = now if self._try(self._beat) else heard
            if now - heard > limits.RUN_SILENT_S:
                self._stopped.set()

    def _look(self) -> None:
        if not self.desk.runs.wanted(self.lane, self.run):
            self._stopped.set()

    def _beat(self) -> None:
        with self._lock:
            progress = replace(self.progress, beat=self.desk.clock.now())
        if not self.desk.runs.beat(self.lane, self.run, progress):
            self._stopped.set()

    def _flush(self) -> None:
        if batch := self.log.take():
            self.desk.logs.append(self.lane, self.run, batch)

    @staticmethod
    def _try(write: Callable[[], None]) -> bool:
        with suppress(Unavailable):
            write()
            return True
        return False
