"""A gate of others' checks, while nobody can tell what they said."""

from collections.abc import Sequence
from dataclasses import replace

from mergebot.adapters.memory.forge import MemoryForge
from mergebot.domain.external import CheckSeen
from mergebot.domain.gate import ExternalChecks, GateSpec, NoVerdict
from mergebot.domain.ids import Sha
from mergebot.domain.lane import RunOrder
from mergebot.ports.errors import Unavailable
from mergebot.services.external import SILENT_MAX, Trial, Watch
from mergebot.services.repositories import git_of
from tests.support.world import BOT, LANE, World

SPEC = GateSpec((), 600.0, external=ExternalChecks(("ci / test",), timeout_s=60.0))


class Unheard(MemoryForge):
    """A forge that does not answer who asks for checks."""

    def checks(self, repo: str, sha: Sha) -> Sequence[CheckSeen]:
        raise Unavailable("the forge does not answer")


def waits(world: World, pr: int) -> NoVerdict:
    head = world.pull(pr).head
    order = RunOrder("r1", pr, head, world.tip, head, SPEC, world.clock.now(), 1)

    def pause(seconds: float) -> bool:
        world.clock.advance(world.clock.now() + seconds)
        return True

    git = git_of(world.parts, LANE)
    git.fetch(LANE.trunk, [pr])
    trial = Trial(world.parts, git, LANE, order)
    found = trial.run(Watch(pause, lambda _: None))
    assert isinstance(found, NoVerdict)
    return found


def test_what_nobody_reported_three_times_halts_and_is_named() -> None:
    world = World()
    pr = world.opens_pr()
    for _ in range(SILENT_MAX):
        assert waits(world, pr).why == "nobody reported the check `ci / test` in time"
    assert world.lane.halt is not None
    assert "`ci / test` was not reported" in world.lane.halt.reason


def test_a_forge_that_does_not_answer_makes_nobody_silent() -> None:
    world = World()
    pr = world.opens_pr()
    world.parts = replace(world.parts, forge=Unheard(world.hosting, BOT))
    for _ in range(SILENT_MAX):
        assert waits(world, pr).why == "the forge did not say in time what others reported"
    assert world.lane.halt is None
