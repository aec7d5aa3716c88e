"""Five hundred pull requests are labelled at once, and the forge is not written to any faster."""

from dataclasses import dataclass, field

from mergebot.adapters.memory.clock import ManualClock
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.limits import WRITES_PER_MINUTE, WRITES_WINDOW_S

PULLS = 500
WRITES_EACH = 2
WORKERS = 4
MOMENT_S = 1e-6


@dataclass
class Counting:
    """What the forge counts: when each piece of content was written."""

    times: list[float] = field(default_factory=list)

    def most_in_a_minute(self) -> int:
        return max(
            sum(1 for other in self.times if 0 <= other - start < WRITES_WINDOW_S - MOMENT_S)
            for start in set(self.times)
        )


def test_a_burst_of_five_hundred_is_written_within_the_forges_limit_and_without_delay() -> None:
    clock, forge = ManualClock(0.0), Counting()
    store = MemoryStore(clock, MemoryRuns())
    left = PULLS
    while left:
        waits = []
        for _ in range(WORKERS):
            wait = store.pace("bot", WRITES_EACH) if left else 0.0
            if wait:
                waits.append(wait)
            elif left:
                left -= 1
                forge.times += [clock.now()] * WRITES_EACH
        clock.advance(clock.now() + min(waits, default=0.01))
    least_s = (PULLS * WRITES_EACH / WRITES_PER_MINUTE - 1) * WRITES_WINDOW_S
    assert forge.most_in_a_minute() <= WRITES_PER_MINUTE
    assert len(forge.times) == PULLS * WRITES_EACH
    assert clock.now() <= least_s + 2 * WRITES_WINDOW_S
