import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mergebot.domain.candidate import Parked
from mergebot.domain.decision import Decision
from mergebot.domain.gate import Lack, NoVerdict
from mergebot.domain.reasons import Reason
from mergebot.domain.settling import settle
from tests.support.builders import TIP, gating, run, snapshot
from tests.support.stack import RULES, stack
from tests.support.waiting import eventually

NOTHING_STARTS = "#!/bin/sh\necho 'bwrap: No permissions to make a namespace' >&2\nexit 1\n"


def test_a_gate_without_a_sandbox_halts_the_lane_and_costs_nobody_anything() -> None:
    result = NoVerdict("bubblewrap cannot start here", Lack.SANDBOX)
    decision = settle(Decision(snapshot(gating(1, TIP), runs=(run("run1", result),))))
    halt = decision.snapshot.state.halt
    assert halt is not None
    assert "the sandbox cannot start: bubblewrap cannot start here" in halt.reason
    (parked,) = decision.candidates
    assert isinstance(parked.state, Parked)
    assert parked.state.reason is Reason.INFRA
    assert parked.budget.infra == 0


def test_other_infrastructure_halts_nothing() -> None:
    result = NoVerdict("the worker went silent")
    decision = settle(Decision(snapshot(gating(1, TIP), runs=(run("run1", result),))))
    assert decision.snapshot.state.halt is None


IN_AN_IMAGE = f'[gate]\nimage = "acme/nonesuch:1"\n{RULES}'


@pytest.mark.slow
def test_where_no_engine_answers_nothing_runs(tmp_path: Path) -> None:
    nowhere = {"MERGEBOT_SANDBOX": "docker", "DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    with stack(tmp_path, nowhere, rules=IN_AN_IMAGE) as bot:
        eventually(lambda: bot.queue().get("halted"), within_s=60, what="the lane is halted")
        assert "the sandbox cannot start: docker " in bot.queue()["halted"]["reason"]
        assert bot.landing("waits")
        assert bot.trunk() == ["Begin"]


@pytest.mark.slow
def test_where_bubblewrap_cannot_start_nothing_runs_and_one_sentence_says_why(
    tmp_path: Path,
) -> None:
    with TemporaryDirectory(dir="/var/tmp") as programs:
        fake = Path(programs, "bwrap")
        fake.write_text(NOTHING_STARTS)
        fake.chmod(0o755)
        Path(programs).chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        with stack(tmp_path, {"MERGEBOT_SANDBOX": "bubblewrap", "PATH": path}) as bot:
            eventually(lambda: bot.queue().get("halted"), within_s=60, what="the lane is halted")
            halted = bot.queue()["halted"]
            assert "No permissions to make a namespace" in halted["reason"]
            assert "compose.yaml" in halted["reason"]
            assert bot.landing("waits")
            assert bot.trunk() == ["Begin"]
