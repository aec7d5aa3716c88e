"""Stacks: changes that propose to the branch of another change."""

import pytest

from mergebot.adapters.memory.hosting import Draft
from mergebot.domain.reasons import Reason
from tests.support.world import BO, RULES, World


def on_top_of(world: World, lower: int, name: str) -> int:
    """Open a PR on another's branch, with one more commit."""
    below = world.pull(lower)
    head = world.commits({f"{name}.txt": "1"}, on=below.head)
    draft = Draft(f"Change {name}", name, below.head_branch, "", "")
    world.clock.advance(world.clock.now() + 1)
    return world.hosting.open(BO, head, draft)


@pytest.fixture(params=["rebase", "squash", "merge"])
def world(request: pytest.FixtureRequest) -> World:
    return World(f'[queue]\nmethod = "{request.param}"\n{RULES}')


def test_a_stack_of_three_lands_from_below_each_with_its_own_change_alone(world: World) -> None:
    first = world.opens_pr()
    second = on_top_of(world, first, "second")
    third = on_top_of(world, second, "third")
    for pr in (third, second, first):
        world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [first, second, third]
    assert [world.candidate(pr).attempt for pr in (first, second, third)] == [1, 1, 1]
    assert {world.pull(pr).base for pr in (second, third)} == {"main"}


def test_a_retarget_by_the_forge_itself_keeps_the_place_of_what_stood_on_the_landed_one(
    world: World,
) -> None:
    first = world.opens_pr()
    second = on_top_of(world, first, "second")
    world.labels(second)
    world.runs_until_quiet()
    assert world.ended(second) == ("parked", Reason.NOT_READY)
    world.labels(first)
    while first not in world.landed:
        world.answers(world.rings.popleft())
    assert world.pull(second).base != "main"
    # GitHub does this where the branch of a merged pull request is deleted.
    world.changes(second, "edited", base="main")
    world.runs_until_quiet()
    assert world.landed == [first, second]
    assert world.candidate(second).attempt == 1


def test_a_retarget_to_a_branch_that_nobody_proposed_takes_it_out(world: World) -> None:
    first = world.opens_pr()
    second = on_top_of(world, first, "second")
    world.labels(second)
    world.runs_until_quiet()
    world.changes(second, "edited", base="release")
    world.runs_until_quiet()
    assert world.ended(second) == ("cancelled", Reason.BASE_CHANGED)
