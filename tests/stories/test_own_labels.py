"""Labels that the bot sets and takes off by itself, with its processes dying or pausing between."""

from mergebot.domain.candidate import Cancelled, Kind, Landed, Parked
from mergebot.domain.lane import Asked
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.services.admitting import want_label
from mergebot.services.operating import Operating
from mergebot.services.own_labels import remember
from tests.simulation.loss import keep, put_back
from tests.support.world import BO, BOT, LANE, QUEUE, World


def asks_and_dies(world: World, pr: int, *, pushed: bool = False, why: str = "") -> None:
    """Let the bot hear a wish and set its label, and die before it makes a candidate of it."""
    world.loses_webhooks()
    pull = world.pull(pr)
    remember(world.parts, LANE, Asked(pr, pull.head, BO, world.clock.now(), why))
    if pushed:
        world.pushes(pr, {"sneaked": "1"})
    world.clock.advance(world.clock.now() + 5)
    want_label(world.parts, LANE, pull, Kind.NORMAL)
    world.clock.advance(world.clock.now() + 60)


def fails(world: World) -> int:
    """Let a change end as ejected, its label gone, and return its number."""
    world.gates.red = {"red"}
    pr = world.opens_pr({"red": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert QUEUE not in world.pull(pr).labels
    return pr


def test_what_was_asked_for_is_admitted_for_whoever_asked_though_the_bot_died() -> None:
    world = World()
    pr = world.opens_pr()
    asks_and_dies(world, pr)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.candidate(pr).enqueued_by == BO
    assert world.lane.asked == ()


def test_a_head_pushed_before_the_bots_own_label_is_not_what_somebody_asked_for() -> None:
    world = World()
    pr = world.opens_pr()
    asks_and_dies(world, pr, pushed=True)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == []
    state = world.candidate(pr).state
    assert isinstance(state, Cancelled)
    assert state.reason is Reason.HEAD_CHANGED


def test_the_bots_own_label_speaks_for_no_head_once_redis_lost_for_whom_it_was_set() -> None:
    world = World()
    pr = world.opens_pr()
    redis = (world.store, world.runs)
    before = keep(redis)
    asks_and_dies(world, pr, pushed=True)
    put_back(redis, before)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == []
    assert world.ended(pr) == ("cancelled", Reason.HEAD_CHANGED)


def test_a_retry_whose_bot_died_is_a_retry() -> None:
    world = World()
    pr = fails(world)
    world.gates.red = set()
    asks_and_dies(world, pr, why="it was the weather")
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.candidate(pr).attempt == 2


def test_the_bots_own_label_gives_nobody_more_than_write() -> None:
    world = World()
    world.hosting.people[BOT.id] = Permission.ADMIN
    pr = world.opens_pr({".github/workflow": "1"})
    world.loses_webhooks()
    world.clock.advance(world.clock.now() + 5)
    world.labels(pr, who=BOT)
    world.clock.advance(world.clock.now() + 60)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == []
    assert world.candidate(pr).authority is Permission.WRITE


def test_after_a_loss_the_bots_own_label_stands_for_the_head_that_it_told_of() -> None:
    world = World()
    told, untold = world.opens_pr(), world.opens_pr()
    world.says(told, "@mergebot hold")
    world.says(told, "@mergebot queue")
    world.runs_until_quiet()
    asks_and_dies(world, untold)
    world.loses_redis()
    world.reconciles()
    world.runs_until_quiet()
    assert isinstance(world.candidate(told).state, Parked)
    state = world.candidate(untold).state
    assert isinstance(state, Cancelled)
    assert state.reason is Reason.HEAD_CHANGED


def test_a_label_that_is_taken_off_late_for_the_last_attempt_is_set_again() -> None:
    world = World()
    pr = fails(world)
    world.gates.red = set()
    world.says(pr, "@mergebot hold")
    world.says(pr, "@mergebot retry it was the weather")
    world.runs_until_quiet()
    world.hosting.remove_label(BOT, pr, QUEUE)
    world.runs_until_quiet()
    assert QUEUE in world.pull(pr).labels
    world.says(pr, "@mergebot unhold")
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_label_that_a_person_takes_off_stays_off() -> None:
    world = World()
    pr = fails(world)
    world.says(pr, "@mergebot hold")
    world.says(pr, "@mergebot retry it was the weather")
    world.runs_until_quiet()
    world.unlabels(pr)
    world.runs_until_quiet()
    state = world.candidate(pr).state
    assert isinstance(state, Cancelled)
    assert state.reason is Reason.LABEL_REMOVED
    assert QUEUE not in world.pull(pr).labels


def test_a_cancelled_pull_request_loses_its_label() -> None:
    world = World()
    pr = world.opens_pr()
    world.says(pr, "@mergebot hold")
    world.labels(pr)
    world.runs_until_quiet()
    Operating(world.parts).cancel(LANE, pr, BO)
    world.runs_until_quiet()
    assert not isinstance(world.candidate(pr).state, Landed)
    assert QUEUE not in world.pull(pr).labels
