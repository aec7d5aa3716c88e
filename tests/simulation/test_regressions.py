"""Seeds that broke a promise, and the worst of their stories told without chance."""

import pytest

from mergebot.adapters.memory.git import MemoryGit
from mergebot.domain.reasons import Reason
from mergebot.ports.git import Push, PushOutcome
from tests.simulation.campaign import story
from tests.simulation.town import live
from tests.support.world import World

SEEDS = {
    1: "a gate of others' checks alone called a red trunk green",
    56: "the same, after a direct push",
    63: "somebody pushed while the bot died over the label that it set for an older head",
    70: "a landing that an admin took off the trunk, and that Redis lost then, was made again",
    219: "the bot's own label authorised a head that nobody had asked for",
    221: "the same, with a push right after the label",
    2046: "a comment kept old news, since the record took what it had lost for what stands there",
    10039: "a landing moved its author's branch, and was taken off and forgotten: it waited for ever",
    2391: "the same label, found by the reconciler alone",
}
"""A seed tells the same story only to the same code: what each of these once showed is told without
chance below, in tests/stories, or by the guards."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_that_broke_a_promise_keeps_it_now(seed: int) -> None:
    ending = live(seed)
    assert not ending.broken, f"{SEEDS[seed]}\n{story(ending)}"


def test_a_worker_paused_before_its_push_does_not_land_what_was_cancelled_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    pr = world.opens_pr()
    outcomes: list[PushOutcome] = []
    real = MemoryGit.push_landing

    def paused(self: MemoryGit, push: Push) -> PushOutcome:
        monkeypatch.setattr(MemoryGit, "push_landing", real)
        world.clock.advance(world.clock.now() + 3600)
        world.unlabels(pr)
        world.reconciles()
        world.runs_until_quiet()
        outcomes.append(real(self, push))
        return outcomes[-1]

    monkeypatch.setattr(MemoryGit, "push_landing", paused)
    world.labels(pr)
    world.runs_until_quiet()
    assert outcomes == [PushOutcome.FENCED]
    assert world.ended(pr) == ("cancelled", Reason.LABEL_REMOVED)
    assert f"file-{pr}" not in world.trunk
