"""The record changes under the planner's hands: people go on labelling while it replays."""

import pytest

from mergebot.adapters.memory.git import MemoryGit
from mergebot.ports.git import Replay, ReplayRequest
from mergebot.services.intake import drain
from mergebot.services.publishing import TURN_S, publish
from tests.support.world import LANE, World

PULLS = 60


def test_the_first_gate_does_not_wait_until_everybody_has_labelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    first, *others = [world.opens_pr() for _ in range(PULLS)]
    world.runs_until_quiet()
    waiting, asked, states = list(others), set[ReplayRequest](), list[str]()
    replay = MemoryGit.replay

    def while_somebody_labels(git: MemoryGit, request: ReplayRequest) -> Replay:
        if request not in asked and waiting:
            asked.add(request)
            states.append(world.state(first))
            world.labels(waiting.pop(0))
            drain(world.parts)
        return replay(git, request)

    monkeypatch.setattr(MemoryGit, "replay", while_somebody_labels)
    world.labels(first)
    world.runs_until_quiet()
    assert states[:2] == ["queued", "gating"]
    assert world.landed == [first, *others]
    assert not world.lane.waiting


def test_whoever_has_much_to_write_lets_others_have_the_worker_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    prs = [world.opens_pr() for _ in range(6)]
    for pr in prs:
        world.labels(pr)
    drain(world.parts)
    comment = world.parts.forge.add_comment

    def slowly(repo: str, number: int, body: str) -> int:
        world.clock.advance(world.clock.now() + TURN_S / 2)
        return comment(repo, number, body)

    monkeypatch.setattr(type(world.parts.forge), "add_comment", lambda _, *a: slowly(*a))
    world.rings.clear()
    publish(world.parts, LANE)
    assert "publish" in [each.task for each in world.rings]
    assert 0 < sum(bool(world.told(pr)) for pr in prs) < len(prs)
    world.runs_until_quiet()
    assert world.landed == prs
