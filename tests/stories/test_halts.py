"""Halts that outlive Redis, because git remembers them beside the receipts."""

from mergebot.domain.status import Setting, status_document
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


def test_a_halt_by_hand_beside_another_one_takes_over_with_both_reasons() -> None:
    world = World()
    first = world.tip
    world.pushes_to_trunk({"meanwhile": "1"})
    world.runs_until_quiet()
    world.rewinds_trunk_to(world.commits({"else": "1"}, on=first))
    world.runs_until_quiet()
    halted(world)
    halted(world)
    halt = world.lane.halt
    assert halt is not None
    assert halt.by == KIM.login
    assert halt.reason.startswith("a freeze; besides: the trunk's tip")
    assert halt.reason.count("a freeze") == 1
    assert halt.ends_when == "somebody resumes after looking at it"


def test_a_trunk_that_is_rewritten_does_not_lift_a_halt_by_hand() -> None:
    world = World()
    first = world.tip
    world.pushes_to_trunk({"meanwhile": "1"})
    world.runs_until_quiet()
    halted(world)
    world.rewinds_trunk_to(world.commits({"else": "1"}, on=first))
    world.runs_until_quiet()
    halt = world.lane.halt
    assert halt is not None
    assert (halt.by, halt.reason.split(";")[0]) == (KIM.login, "a freeze")
    assert "it was rewritten" in halt.reason


def test_what_waits_behind_a_halt_says_so_to_whoever_looks() -> None:
    world = World()
    halted(world)
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    setting = Setting(LANE, world.lane.rules.policy, "https://queue.test", halt=world.lane.halt)
    document = status_document(world.candidate(pr), setting)
    assert "halted by kim: a freeze" in str(document["text"])
    assert document["next_action"] == "nothing; it goes on once somebody resumes"
