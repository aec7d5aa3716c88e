"""Five hundred pull requests are queued within a moment: what the forge sees of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mergebot.adapters.memory.forge import MemoryForge
from mergebot.domain.limits import WRITES_PER_MINUTE
from mergebot.services.reconciling import nudge
from tests.support.world import BO, BOT, QUEUE, World

pytestmark = pytest.mark.slow

PULLS = 500
WRITES = (
    *("add_comment", "edit_comment", "react", "retarget", "close", "add_label", "remove_label"),
    "report",
)
MINUTE_S = 60.0


@dataclass
class Counted:
    """A forge that counts what is written to it, and when."""

    world: World
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        forge = MemoryForge(self.world.hosting, BOT)
        for name in WRITES:
            setattr(forge, name, self._counting(getattr(forge, name)))
        self.world.parts = replace(self.world.parts, forge=forge)

    def _counting(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.times.append(self.world.clock.now())
            return write(*arguments)

        return counted

    def most_in_a_minute(self) -> int:
        """Return the most writes that any minute saw."""
        most = start = 0
        for end, at in enumerate(self.times):
            while self.times[start] <= at - MINUTE_S:
                start += 1
            most = max(most, end - start + 1)
        return most


def labelled(world: World, pr: int) -> None:
    world.hosting.add_label(BO, pr, QUEUE)


def asked_for(world: World, pr: int) -> None:
    world.hosting.comment(BO, pr, "@mergebot queue")


@pytest.mark.parametrize("queues", [labelled, asked_for])
def test_a_burst_is_queued_and_told_within_what_the_forge_allows(
    queues: Callable[[World, int], None],
) -> None:
    world = World()
    prs = [world.opens_pr() for _ in range(PULLS)]
    world.runs_until_quiet()
    world._passes()
    forge = Counted(world)
    for pr in prs:
        queues(world, pr)

    while told(world) < PULLS:
        world._answers()
        nudge(world.parts)
        world._passes()

    assert forge.most_in_a_minute() <= WRITES_PER_MINUTE
    assert {world.state(pr) for pr in prs} <= {"queued", "gating", "verified", "landing", "landed"}


def told(world: World) -> int:
    return len({each.pr for each in world.hosting.comments.values() if each.author == BOT})
