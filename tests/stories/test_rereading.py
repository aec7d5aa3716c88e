"""Comments that a paused publisher writes over newer ones, or twice, when it goes on and dies."""

from dataclasses import replace

from mergebot.domain.limits import LOOKS_AGAIN_S
from tests.support.world import BOT, LANE, World


def somebody_is_paused_over(world: World, pr: int) -> None:
    """Let a publisher begin on the PR's comment, and never come to its end."""
    world.store.begin(LANE, f"notice:{pr}")


def time_passes(world: World) -> None:
    """Let all the looks come due."""
    for wait_s in LOOKS_AGAIN_S:
        world.clock.advance(world.clock.now() + wait_s + 1)
        world.runs_until_quiet()


def test_old_news_that_were_written_over_newer_ones_are_put_right() -> None:
    world = World()
    pr = world.opens_pr()
    somebody_is_paused_over(world, pr)
    world.labels(pr)
    world.runs_until_quiet()
    (comment,) = (each for each in world.hosting.comments.values() if each.pr == pr)
    world.hosting.comments[comment.id] = replace(comment, body="<!-- old news -->")
    time_passes(world)
    assert [each["state"] for each in world.told(pr)] == ["landed"]
    assert world.lane.unsure == ()


def test_a_comment_that_was_written_twice_says_so_the_second_time() -> None:
    world = World()
    pr = world.opens_pr()
    somebody_is_paused_over(world, pr)
    world.labels(pr)
    world.runs_until_quiet()
    (comment,) = (each for each in world.hosting.comments.values() if each.pr == pr)
    world.hosting.comment(BOT, pr, comment.body)
    time_passes(world)
    assert [each["state"] for each in world.told(pr)] == ["landed"]


def test_nobody_looks_again_where_nobody_was_paused() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.lane.unsure == ()
