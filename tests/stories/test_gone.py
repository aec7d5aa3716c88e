"""A repository that is gone, or that the bot may not see any more."""

from collections import Counter
from dataclasses import replace

from mergebot.domain.views import trunk_view
from mergebot.services.reconciling import nudge
from tests.support.world import LANE, REPO, World


def goes_away(world: World) -> None:
    """Let the forge not know the repository any more."""
    world.hosting.repository = replace(REPO, full_name="somebody/else")


def test_a_repository_that_is_gone_is_asked_for_more_and_more_seldom_and_shown_so() -> None:
    world = World()
    goes_away(world)
    world.reconciles()
    assert trunk_view(world.store.read(LANE))["health"] == "unknown"
    assert "o/r" in world.lane.waiting
    rung: Counter[int] = Counter()
    for second in range(1200):
        nudge(world.parts)
        while world.rings:
            ring = world.rings.popleft()
            rung[second // 600] += ring.task == "tick"
            world.answers(ring)
        world.clock.advance(world.clock.now() + 1)
    assert 2 <= rung[1] < rung[0] <= 10


def test_a_repository_that_is_back_is_served_again_by_itself() -> None:
    world = World()
    pr = world.opens_pr()
    goes_away(world)
    world.reconciles()
    world.hosting.repository = REPO
    world.labels(pr)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert (world.lane.waiting, world.lane.refused_since) == ("", 0.0)
    assert trunk_view(world.store.read(LANE))["health"] == "green"
