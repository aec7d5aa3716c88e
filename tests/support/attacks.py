"""The table of attacks in docs/security.md, and how many of them a test run tried."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

TABLE = Path(__file__).parents[2] / "docs" / "security.md"
CLASSES = {
    "A0": "webhooks",
    "A1": "people and agents",
    "A2": "git",
    "A3": "git",
    "E0": "claims",
    "E1": "claims",
    "A4": "gates",
    "A5": "what leaves and who enters",
}
_ROW = re.compile(r"^\| ([AE]\d\d) \| ([^|]+) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`([a-z0-9_/]+\.py)(?:::(test_\w+))?`")

_TRIED: Counter[tuple[str, str]] = Counter()


@cache
def table() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return each attack's tests as file and name; the name is empty for a whole file."""
    rows = _ROW.findall(TABLE.read_text("utf-8"))
    return {number: tuple(_TEST.findall(tests)) for number, _, tests in rows}


def attacks_of(nodeid: str) -> list[str]:
    """Return the attacks that a test tries."""
    path, _, name = nodeid.partition("::")
    place, name = path.removeprefix("tests/"), name.partition("[")[0]
    return [
        number
        for number, tests in table().items()
        if any(place == file and wanted in {"", name} for file, wanted in tests)
    ]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count an attack that was tried."""
    if report.when == "call":
        for kind in {CLASSES[number[:2]] for number in attacks_of(report.nodeid)}:
            _TRIED[kind, "tried"] += 1
            _TRIED[kind, "succeeded"] += report.failed


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many attacks were tried, by class, and how many succeeded."""
    if not _TRIED:
        return
    terminalreporter.section("attacks")
    for kind in dict.fromkeys(CLASSES.values()):
        tried, won = _TRIED[kind, "tried"], _TRIED[kind, "succeeded"]
        if tried:
            terminalreporter.write_line(f"{kind}: {tried} tried, {won or 'none'} succeeded")
