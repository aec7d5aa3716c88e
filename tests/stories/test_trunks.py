"""A trunk that is renamed, or that the rules name anew: followed, or halted for with a sentence."""

from dataclasses import replace

from mergebot.adapters.memory.bell import Ring
from mergebot.domain.candidate import Landed
from mergebot.domain.ids import Lane, Sha
from mergebot.services.tick import tick
from tests.support.world import ADA, LANE, REPO, RULES, World

RELEASE = Lane(REPO.id, REPO.full_name, "release")


def names_trunk(world: World, branch: str) -> None:
    """Let the rules on the trunk name another one."""
    world.pushes_to_trunk({".mergebot.toml": f'trunk = "{branch}"\n{RULES}'})
    world.runs_until_quiet()
    world.reconciles()


def lands_there(world: World, lane: Lane) -> None:
    """Let everything happen in a lane that is not the first one."""
    for _ in range(6):
        while world.rings:
            ring = world.rings.popleft()
            if ring.task == "tick":
                tick(world.parts, lane)
            elif ring.task == "gate":
                world.gates.gate(lane, ring.run, None)  # type: ignore[arg-type]  # it has its own
                world.rings.append(Ring("tick"))
        world.reconciles()


def renamed(world: World, branch: str) -> Sha:
    """Rename the default branch, as a forge does: its pull requests aim at the new name."""
    tip = world.tip
    world.remote.push(ADA, branch, tip)
    world.remote.move(ADA, {"refs/heads/main": None}, {})
    world.hosting.repository = replace(REPO, default_branch=branch)
    for pr in world.hosting.pulls:
        world.changes(pr, "edited", base=branch)
    return tip


def test_a_trunk_that_the_rules_name_anew_is_followed() -> None:
    world = World()
    world.remote.push(ADA, "release", world.tip)
    names_trunk(world, "release")
    assert list(world.store.lanes()) == [RELEASE]
    assert world.store.read(LANE).state.recovering
    world.reconciles()
    assert [each.trunk for each in world.store.lanes()] == ["release"]


def test_a_trunk_that_is_no_branch_halts_with_the_sentence() -> None:
    world = World()
    names_trunk(world, "release")
    assert [each.trunk for each in world.store.lanes()] == ["main"]
    halt = world.lane.halt
    assert halt is not None
    assert "name release as the trunk, and there is no such branch" in halt.reason
    since = halt.since
    world.reconciles()
    assert world.lane.halt == replace(halt, since=since)


def test_a_renamed_default_branch_is_followed_with_what_is_queued() -> None:
    world = World()
    pr = world.opens_pr()
    world.loses_webhooks()
    world.labels(pr)
    tip = renamed(world, "release")
    world.reconciles()
    assert list(world.store.lanes()) == [RELEASE]
    lands_there(world, RELEASE)
    assert world.remote.head("release") != tip
    landed = world.store.latest(RELEASE, pr)
    assert landed is not None
    assert isinstance(landed.state, Landed)
