"""Halts that outlive Redis, because git remembers them beside the receipts."""

from mergebot.services.operating import Operating
from mergebot.services.publishing import publish
from tests.support.world import KIM, LANE, World


def halted(world: World) -> None:
    """Let somebody halt the queue by hand, and git hear of it."""
    Operating(world.parts).halt(LANE, KIM, "a freeze")
    world.runs_until_quiet()


def test_a_hand_made_halt_outlives_the_loss_of_redis() -> None:
    world = World()
    halted(world)
    world.loses_redis()
    pr = world.opens_pr()
    world.labels(pr)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == []
    assert world.lane.halt is not None
    assert (world.lane.halt.reason, world.lane.halt.by) == ("a freeze", KIM.login)


def test_a_queue_that_somebody_resumed_stays_so_when_redis_is_lost() -> None:
    world = World()
    halted(world)
    Operating(world.parts).resume(LANE, KIM, "it is over")
    world.runs_until_quiet()
    world.loses_redis()
    pr = world.opens_pr()
    world.labels(pr)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_halt_that_only_the_last_writes_knew_stops_the_landing_at_its_push() -> None:
    world = World()
    world.remote.halt('{"v":1,"reason":"a freeze","since":1800000100,"by":"kim","ends_when":"x"}')
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == []
    assert world.lane.halt is not None
    Operating(world.parts).resume(LANE, KIM, "it is over")
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.remote.now.halt == ""


def test_a_resume_that_git_has_not_heard_of_yet_is_no_lost_halt() -> None:
    world = World()
    halted(world)
    Operating(world.parts).resume(LANE, KIM, "it is over")
    before = world.remote.now.halt
    publish(world.parts, LANE)
    world.remote.halt(before)
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_halt_that_nobody_can_read_halts() -> None:
    world = World()
    world.remote.halt("?")
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == []
    assert world.lane.halt is not None
