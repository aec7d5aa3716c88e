"""Gathers what the chunks of a run met, whichever worker ran them, and prints it at the end."""

import json
import shutil
from pathlib import Path

import pytest

from tests.simulation.campaign import Tally

KEY = "simulation"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Forget what an earlier run met; workers share the directory of their controller."""
    if not hasattr(session.config, "workerinput"):
        shutil.rmtree(_place(session.config), ignore_errors=True)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what the simulation met."""
    tally = gathered(_place(config))
    if tally.seeds:
        terminalreporter.section("simulation")
        for line in tally.report():
            terminalreporter.write_line(line)


@pytest.fixture
def chunks(request: pytest.FixtureRequest) -> Path:
    """Return where chunks leave what they met."""
    place = _place(request.config)
    place.mkdir(parents=True, exist_ok=True)
    return place


def gathered(place: Path) -> Tally:
    """Return what all chunks met so far."""
    tally = Tally()
    for file in sorted(place.glob("*.json")):
        tally.add_document(json.loads(file.read_text()))
    return tally


def _place(config: pytest.Config) -> Path:
    return config.rootpath / ".pytest_cache" / "d" / KEY
