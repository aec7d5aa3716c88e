"""Comparing what the local forge said in tests with GitHub's description, and the sum of it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import described, octokit

JOURNAL = "answers.jsonl"
TALLY = described.Tally()
_NEW = described.distinct(str)
_WEBHOOK_PREFIX = b"payload="
_GATHERED = described.Tally()


def compare(root: Path) -> list[str]:
    """Compare everything that the forge at `root` said; return the faults, one sentence each."""
    if octokit.trouble():
        return []
    before = len(TALLY.faults)
    for entry in _answers(root / JOURNAL):
        if _NEW(f"{entry.method} {described.route_of(entry.path)} {described.shape(entry.body)}"):
            described.compare_exchange(entry, TALLY)
    for event, payload in _webhooks(root / "forge.sqlite3"):
        if _NEW(f"{event} {described.shape(payload)}"):
            described.compare_webhook(event, payload, TALLY)
    return sorted(set(TALLY.faults[before:]))


def _answers(journal: Path) -> Iterator[described.Exchange]:
    lines = journal.read_text().splitlines() if journal.exists() else []
    for line in lines:
        method, path, status, body = json.loads(line)
        yield described.Exchange(method, path, status, body)


def _webhooks(store: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not store.exists():
        return
    with sqlite3.connect(store) as rows:
        found = rows.execute("SELECT event, payload FROM deliveries").fetchall()
    rows.close()
    for event, payload in found:
        if not payload.startswith(_WEBHOOK_PREFIX):
            yield event, json.loads(payload)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand this worker's sums to whoever prints them."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["github"] = [sorted(TALLY.routes), dict(TALLY.counts)]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add a worker's sums up."""
    routes, counts = getattr(node, "workeroutput", {}).get("github", ((), {}))
    _GATHERED.routes.update(routes)
    _GATHERED.counts.update(counts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was compared."""
    routes, counts = TALLY.routes | _GATHERED.routes, Counter(TALLY.counts) + _GATHERED.counts
    if not counts:
        return
    terminalreporter.section("the local forge against GitHub's description")
    if sentence := octokit.trouble():
        terminalreporter.write_line(sentence)
        return
    for line in _lines(len(routes), counts):
        terminalreporter.write_line(line)


def _lines(routes: int, counts: Counter[str]) -> Iterator[str]:
    yield f"{routes} routes, {_share(counts['valid'], counts['answers'])} distinct answers valid"
    yield f"{counts['error bodies']} error bodies compared"
    yield f"{_share(counts['valid webhooks'], counts['webhooks'])} distinct webhooks valid"
    if requests := counts["requests for one landing"]:
        yield f"{requests} requests for one landing"
    if counts["examples"]:
        played, ignored = counts["examples"], counts["examples ignored"]
        yield f"{played} example payloads played, {ignored} of them ignored with a reason"


def _share(good: int, every: int) -> str:
    return f"{good} of {every} ({100 * good // max(every, 1)} %)"
