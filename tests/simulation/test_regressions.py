"""Seeds that once broke a promise, and the worst of their stories told without chance."""

import pytest

from mergebot.adapters.memory.git import MemoryGit
from mergebot.domain.reasons import Reason
from mergebot.ports.git import Push, PushOutcome
from tests.simulation.campaign import story
from tests.simulation.town import live
from tests.support.world import World

SEEDS = {
    5: "a replica that lagged made a landing look as if it had not happened",
    7: "the host that ticked had never fetched the tip that another one saw",
    19: "a receipt was chained to one that the record did not know",
    43: "a publisher paused past its lease wrote old news over newer",
    51: "two candidates shared an attempt, one of them admitted an hour late",
    81: "a landing that the record lost was cancelled as closed",
    94: "a repair that failed on a red trunk was never judged",
    163: "the host that landed did not hold the head",
    276: "an interrupted rebuild told nobody what it had found",
    370: "a failed commit was to be kept by a host that did not hold it",
    408: "a merged pull request was admitted from an old delivery",
    423: "a merged pull request waited for approvals for ever",
    58: "a paused worker overwrote a record that had come to the same revision again",
    537: "whoever published late left old news behind and went",
    2412: "a landing that the record lost was taken off the trunk by somebody",
    2947: "a pull request was judged by what it was an hour ago",
    4375: "a pull request was ejected for rules that nobody had read yet",
    5728: "a merged pull request was admitted from a command of an hour ago",
    920: "a comment queued a head that was pushed after it",
}


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
