from dataclasses import replace

from mergebot.adapters.memory.bell import Ring
from mergebot.domain.news import CheckAsked, RepositoryChanged
from mergebot.domain.reasons import Reason
from mergebot.services.repositories import PRIVATE_S, repository_of
from tests.support.world import BO, BOT, RAY, REPO, RULES, World

OUTSIDE = RULES + '[gate.external]\nchecks = ["ci / test"]\n'


def until_gated(world: World) -> None:
    """Let everything happen up to the first gate, which waits."""
    while world.rings[0].task != "gate":
        world.answers(world.rings.popleft())


def test_a_dependency_that_was_declared_while_it_was_gated_keeps_it_from_landing() -> None:
    world = World()
    first, second = world.opens_pr(), world.opens_pr()
    world.labels(second)
    until_gated(world)
    world.webhooks = False
    world.changes(second, "edited", body=f"Depends-On: #{first}\n")
    world.runs_until_quiet()
    assert (world.state(second), world.landed) == ("parked", [])
    world.webhooks = True
    world.labels(first)
    world.runs_until_quiet()
    assert world.landed == [first, second]


def test_the_cancel_button_takes_a_change_out_of_the_queue_for_those_who_may() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr)
    until_gated(world)
    head = world.pull(pr).head
    for who in (RAY, BO):
        world.hosting.tell(CheckAsked(REPO.full_name, REPO.id, pr, "cancel", who, head, 1))
    gate = world.rings.popleft()
    while world.rings:
        world.answers(world.rings.popleft())
    assert world.ended(pr) == ("cancelled", Reason.LABEL_REMOVED)
    world.rings.append(gate)
    world.runs_until_quiet()
    assert world.landed == []


def test_a_transferred_repository_keeps_its_queue_under_its_new_name() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr)
    until_gated(world)
    world.hosting.repository = replace(REPO, full_name="elsewhere/r")
    world.hosting.tell(RepositoryChanged(REPO.id, "elsewhere/r", "transferred"))
    world.answers(Ring("intake"))
    (lane,) = world.store.lanes()
    assert (lane.repo_id, lane.repo) == (REPO.id, "elsewhere/r")
    assert [each.pr for each in world.store.read(lane).candidates] == [pr]


def test_a_deleted_repository_is_served_no_more() -> None:
    world = World()
    world.hosting.tell(RepositoryChanged(REPO.id, REPO.full_name, "deleted"))
    world.answers(Ring("intake"))
    assert list(world.store.lanes()) == []


def test_a_trial_branch_whose_run_is_gone_is_removed_and_one_that_is_awaited_stays() -> None:
    world = World(OUTSIDE)
    pr = world.opens_pr()
    world.labels(pr)
    until_gated(world)
    for branch in (f"mergebot/trial/{pr}", "mergebot/trial/70", "mergebot/trial/notes"):
        world.remote.push(BOT, branch, world.tip)
    world.reconciles()
    kept = [name for name in world.remote.now.heads if name.startswith("refs/heads/mergebot/")]
    assert kept == [f"refs/heads/mergebot/trial/{pr}", "refs/heads/mergebot/trial/notes"]
    world.runs_until_quiet()
    world.reconciles()
    assert f"refs/heads/mergebot/trial/{pr}" not in world.remote.now.heads


def test_a_repository_that_is_made_private_is_hidden_within_a_minute() -> None:
    world = World()
    parts, name = world.parts, world.hosting.repository.full_name
    assert not repository_of(parts, name).private
    world.hosting.repository = replace(world.hosting.repository, private=True)
    world._passes(PRIVATE_S)
    assert repository_of(parts, name, keep_s=PRIVATE_S).private
