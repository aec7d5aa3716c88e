"""Workspaces whose worker died are removed; those of gates that may still run are not."""

import os
from pathlib import Path

from mergebot.adapters.clock import SystemClock
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.adapters.sandbox.plain import Plain
from mergebot.adapters.workspaces import DirectoryWorkspaces
from mergebot.domain.lane import Checking, LaneState
from mergebot.ports.store import Commit
from mergebot.services.gating import sweep
from tests.support.builders import LANE, TIP, run


def test_a_sweep_leaves_what_runs_and_what_is_new(tmp_path: Path) -> None:
    store = MemoryStore(SystemClock(), MemoryRuns())
    store.open_lane(LANE)
    state = LaneState(health=Checking(TIP, "running"))
    store.commit(store.read(LANE), Commit(state=state, orders=(run("running").order,)))
    workspaces = DirectoryWorkspaces(tmp_path)
    kept, lost, new = (workspaces.create(name) for name in ("running", "lost", "new"))
    Path(lost, "left").write_text("by a killed worker")
    for old in (kept, lost):
        os.utime(old, (0, 0))

    sweep(store, workspaces, sandbox=Plain())

    assert sorted(tmp_path.iterdir()) == sorted([Path(kept), Path(new)])
