"""The checks and statuses that others report on a commit, as one list."""

from collections.abc import Mapping
from typing import Any

from mergebot.adapters.github.client import Client
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.paths import at
from mergebot.adapters.github.values import reading
from mergebot.domain.branch_rules import OWN_CHECK
from mergebot.domain.external import CheckSeen, Outcome
from mergebot.domain.ids import Sha

_CONCLUSIONS = {
    "success": Outcome.PASSED,
    "failure": Outcome.FAILED,
    "action_required": Outcome.FAILED,
    "timed_out": Outcome.TIMED_OUT,
    "neutral": Outcome.SKIPPED,
    "skipped": Outcome.SKIPPED,
    "cancelled": Outcome.CANCELLED,
    "stale": Outcome.CANCELLED,
    "startup_failure": Outcome.CANCELLED,
}
_STATES = {"success": Outcome.PASSED, "failure": Outcome.FAILED, "error": Outcome.FAILED}


def read_reports(client: Client, repo: str, sha: Sha) -> list[CheckSeen]:
    """Return what everybody but the bot reports on a commit."""
    aim = f"read the checks of {sha[:7]} in {repo}"
    runs = Ask("GET", at(repo, "commits", sha, "check-runs"), aim, repo, {"filter": "latest"})
    statuses = Ask("GET", at(repo, "commits", sha, "statuses"), aim, repo)
    with reading(runs):
        seen = [_run(each) for each in client.pages_of(runs, "check_runs")]
    with reading(statuses):
        seen += [_status(each) for each in client.pages(statuses)]
    return [each for each in seen if each.name != OWN_CHECK]


def _run(run: Mapping[str, Any]) -> CheckSeen:
    done = run["status"] == "completed"
    outcome = _CONCLUSIONS.get(run["conclusion"], Outcome.CANCELLED) if done else Outcome.WAITING
    app = (run.get("app") or {}).get("slug") or "an unknown App"
    # One App may run several workflows that have a job of one name: each has a suite of its own.
    producer = f"{app} (suite {(run.get('check_suite') or {}).get('id', 0)})"
    return CheckSeen(producer, run["name"], int(run["id"]), outcome, _url(run.get("html_url")))


def _status(status: Mapping[str, Any]) -> CheckSeen:
    outcome = _STATES.get(status["state"], Outcome.WAITING)
    creator = (status.get("creator") or {}).get("login") or "nobody known"
    url = _url(status.get("target_url"))
    return CheckSeen(creator, status["context"], int(status["id"]), outcome, url)


def _url(value: object) -> str:
    return value if isinstance(value, str) and value.startswith(("https://", "http://")) else ""
