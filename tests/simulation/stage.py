"""The stage: simulated time, jobs that take turns, and every choice from one seed.

A job runs until it ends, dies, or is set aside at one of its port calls; then others have their
turn, and it goes on later from where it stood. Only one runs at any moment, so a seed gives the
same story every time. A job that is never set aside needs no thread of its own.
"""

import heapq
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from threading import Lock, Thread
from typing import NoReturn

from mergebot.adapters.memory.clock import ManualClock

START = 1_800_000_000.0
CALL_S = 0.0005
"""Half of what a call on a port takes, so that no two effects have one time."""


class Crash(BaseException):
    """The actor's process died here: nothing below this line of its code ever ran."""


class Hand:
    """A thread that runs one job at a time, and only while it was given the baton."""

    def __init__(self) -> None:
        self._go, self._back = Lock(), Lock()
        self._go.acquire()
        self._back.acquire()
        self.work: Callable[[], None] = lambda: None
        self.idle = True
        Thread(target=self._loop, daemon=True).start()

    def _loop(self) -> None:
        while True:
            self._go.acquire()
            self.work()
            self.idle = True
            self._back.release()

    def resume(self) -> None:
        """Give the baton, and wait until it comes back: the job ended or was set aside."""
        self._go.release()
        self._back.acquire()

    def hold(self) -> None:
        """Give the baton back, from within the job, until it is resumed."""
        self._back.release()
        self._go.acquire()


_hands: list[Hand] = []


def _idle_hand() -> Hand:
    hand = next((each for each in _hands if each.idle), None)
    if hand is None:
        hand = Hand()
        _hands.append(hand)
    hand.idle = False
    return hand


@dataclass(slots=True)
class Plan:
    """What befalls a job: after how many port calls it is set aside, for how long, or dies."""

    pauses: list[tuple[int, float, str]] = field(default_factory=list)
    dies_at: int = -1


@dataclass(slots=True)
class Job:
    """One piece of an actor's work; `ended` hears whether it lived."""

    actor: str
    name: str
    work: Callable[[], None]
    ended: Callable[[bool], None]
    plan: Plan = field(default_factory=Plan)
    sleeps: bool = False
    calls: int = 0
    lived: bool = True
    over: bool = False
    held_s: float = 0.0
    hand: Hand | None = None
    notes: dict[str, object] = field(default_factory=dict)


class Stage:
    """Time, turns and chance for one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.clock = ManualClock(START)
        self.tally: Counter[str] = Counter()
        self.story: list[str] = []
        self.current: Job | None = None
        self.aside = 0
        self.broken: list[str] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def later(self, delay_s: float, what: Callable[[], None]) -> None:
        """Let something happen after `delay_s` simulated seconds."""
        at = self.clock.now() + max(0.0, delay_s)
        heapq.heappush(self._events, (at, next(self._order), what))

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        who = f"{self.current.actor}: " if self.current else ""
        self.story.append(f"{self.clock.now() - START:9.2f}  {who}{line}")

    def step(self) -> bool:
        """Let the next thing happen; False when nothing is left."""
        if not self._events:
            return False
        at, _, what = heapq.heappop(self._events)
        self.clock.advance(at)
        what()
        return True

    def start(self, job: Job) -> None:
        """Begin a job, as its plan has it."""
        if job.plan.pauses or job.sleeps:
            job.hand = _idle_hand()
            job.hand.work = lambda: self._perform(job)
            self._resume(job, job.hand)
        else:
            self.current = job
            self._perform(job)
            self.current = None
            job.ended(job.lived)

    def point(self) -> None:
        """Mark a place between two effects: here the running job may be set aside or die."""
        job = self.current
        if job is None:
            return
        if not job.lived:
            # Whatever its code still does on the way out never happened.
            raise Crash
        job.calls += 1
        self.clock.at += CALL_S
        plan = job.plan
        if job.calls == plan.dies_at:
            self.tally["crash"] += 1
            self.dies(job)
        if plan.pauses and job.hand and job.calls >= plan.pauses[0][0]:
            _, job.held_s, kind = plan.pauses.pop(0)
            self.tally[kind] += 1
            self.tell(f"is set aside in {job.name} for {job.held_s:.2f} s")
            job.hand.hold()

    def dies(self, job: Job) -> NoReturn:
        """Let the running job die here."""
        self.tell(f"dies in {job.name}")
        job.lived = False
        raise Crash

    def sleep(self, seconds: float) -> None:
        """Let the running job, one that sleeps, wait while others have their turn."""
        job = self.current
        if job is None or job.hand is None:
            raise RuntimeError("only a job with a hand of its own can wait")
        job.held_s = seconds
        job.hand.hold()

    def _perform(self, job: Job) -> None:
        try:
            job.work()
        except Crash:
            job.lived = False
        except Exception as error:  # noqa: BLE001 - any fault of ours breaks the seed
            self.broken.append(f"a fault of ours in {job.name}: {error!r}")
            self.story.append(traceback.format_exc())
        job.over = True

    def _resume(self, job: Job, hand: Hand) -> None:
        self.current = job
        hand.resume()
        self.current = None
        if job.over:
            job.ended(job.lived)
            return
        self.aside += 1

        def again() -> None:
            self.aside -= 1
            self._resume(job, hand)

        self.later(job.held_s, again)
