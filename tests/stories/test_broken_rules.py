"""Rules on the trunk that cannot be used."""

from mergebot.domain.views import halted_view
from tests.support.world import KIM, LANE, RULES, World


def test_while_the_rules_are_broken_everybody_who_waits_is_told_once_and_since_when() -> None:
    world = World()
    pr = world.opens_pr()
    world.says(pr, "@mergebot halt a freeze", KIM)
    world.labels(pr)
    world.runs_until_quiet()
    world.pushes_to_trunk({".mergebot.toml": "trunk = 1"})
    world.runs_until_quiet()
    world.says(pr, "@mergebot resume it is over", KIM)
    world.runs_until_quiet()
    halted = halted_view(world.store.read(LANE))
    assert halted is not None
    assert halted["since"] is not None
    assert [".mergebot.toml" in body for body in bodies(world, pr)] == [True]

    world.pushes_to_trunk({".mergebot.toml": RULES})
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert halted_view(world.store.read(LANE)) is None


def bodies(world: World, pr: int) -> list[str]:
    """Return the texts of the bot's comments that speak of a candidate."""
    written = world.hosting.comments.values()
    return [each.body for each in written if each.pr == pr and "mergebot:v1" in each.body]
