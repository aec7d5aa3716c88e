"""Showing the check `mergebot` on a commit: a check run where an App may, else a commit status."""

import threading
from collections import OrderedDict
from typing import Any, Protocol

from mergebot.adapters.github import values
from mergebot.adapters.github.client import Client
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.paths import at
from mergebot.adapters.github.shelf import Shelf
from mergebot.ports.errors import Missing
from mergebot.ports.forge import CheckReport, CheckState

WAITING_S = 1800.0
"""How long a waiting check is taken for shown; a longer queue shows it again."""

REMEMBERED_MAX = 2000
"""Check runs whose ids are kept, so that most reports are one request; a forgotten one costs two."""


class Reporter(Protocol):
    """Shows a report on a commit; showing it twice is showing it once."""

    def report(self, repo: str, check: CheckReport) -> None:
        """Show `check`."""
        ...


class Sparing:
    """Shows a check that waits only once: what it waits for is told in the comment."""

    def __init__(self, reporter: Reporter, shelf: Shelf) -> None:
        self._reporter = reporter
        self._shelf = shelf

    def report(self, repo: str, check: CheckReport) -> None:
        """Show `check`, unless it waits and is shown as waiting already."""
        name = f"shown:{repo}:{check.sha}"
        waits = check.state is CheckState.PENDING
        if waits and self._shelf.get(name) == "waiting":
            return
        self._reporter.report(repo, check)
        self._shelf.put(name, "waiting" if waits else "told", WAITING_S)


class Statuses:
    """Commit statuses: all that a personal access token may write. The newest one counts."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def report(self, repo: str, check: CheckReport) -> None:
        """Set the status."""
        path = at(repo, "statuses", check.sha)
        aim = f"set the status of {check.sha[:7]} in {repo}"
        self._client.send(Ask("POST", path, aim, repo, body=values.status(check)))


class CheckRuns:
    """Check runs: one per commit, written anew only when a finished one has to wait again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._guard = threading.Lock()
        self._open: OrderedDict[tuple[str, str], int] = OrderedDict()

    def report(self, repo: str, check: CheckReport) -> None:
        """Create or update the check run."""
        aim = f"report the check of {check.sha[:7]} in {repo}"
        body = values.check_run(check)
        run, remarked = self._find(repo, check)
        if remarked:
            # The forge would add them to those that are there.
            body["output"].pop("annotations", None)
        if run:
            try:
                path = at(repo, "check-runs", run)
                changed = {key: value for key, value in body.items() if key != "head_sha"}
                self._client.send(Ask("PATCH", path, aim, repo, body=changed))
            except Missing:
                run = 0
        if not run:
            ask = Ask("POST", at(repo, "check-runs"), aim, repo, body=body)
            made = self._client.send(ask)
            with values.reading(ask):
                run = int(made["id"])
        self._remember(repo, check, run)

    def _find(self, repo: str, check: CheckReport) -> tuple[int, bool]:
        """Return the run to update, 0 where a new one is needed, and whether it has remarks."""
        with self._guard:
            known = self._open.get((repo, check.sha))
        if known is not None:
            return known, False
        path = at(repo, "commits", check.sha, "check-runs")
        query = {"check_name": values.CHECK, "filter": "latest"}
        ask = Ask("GET", path, f"read the checks of {check.sha[:7]} in {repo}", repo, query)
        with values.reading(ask):
            runs: list[dict[str, Any]] = self._client.send(ask)["check_runs"]
            fitting = [each for each in runs if self._may_become(each, check)]
            found = max(fitting, key=lambda each: int(each["id"]), default=None)
            if found is None:
                return 0, False
            return int(found["id"]), bool(found["output"]["annotations_count"])

    def _may_become(self, run: dict[str, Any], check: CheckReport) -> bool:
        waits = check.state is CheckState.PENDING
        return run["name"] == values.CHECK and not (waits and run["status"] == "completed")

    def _remember(self, repo: str, check: CheckReport, run: int) -> None:
        with self._guard:
            if check.state is CheckState.PENDING:
                self._open[repo, check.sha] = run
            else:
                self._open.pop((repo, check.sha), None)
            while len(self._open) > REMEMBERED_MAX:
                self._open.popitem(last=False)
