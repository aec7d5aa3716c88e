"""The checks and statuses that others report on a commit, as one list."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from mergebot.adapters.github.client import Client
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.paths import at
from mergebot.adapters.github.values import reading
from mergebot.domain.branch_rules import OWN_CHECK
from mergebot.domain.external import Account, App, CheckSeen, Outcome
from mergebot.domain.ids import Sha
from mergebot.ports.errors import Refused

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
_BOT = "[bot]"
_STATES = {"success": Outcome.PASSED, "failure": Outcome.FAILED, "error": Outcome.FAILED}


def read_reports(client: Client, repo: str, sha: Sha) -> list[CheckSeen]:
    """Return what everybody but the bot reports on a commit."""
    aim = f"read the checks of {sha[:7]} in {repo}"
    runs = Ask("GET", at(repo, "commits", sha, "check-runs"), aim, repo, {"filter": "latest"})
    statuses = Ask("GET", at(repo, "commits", sha, "statuses"), aim, repo)
    with reading(runs):
        seen = [_run(each) for each in client.pages_of(runs, "check_runs")]
    with reading(statuses):
        told = [each for each in client.pages(statuses) if each["context"] != OWN_CHECK]
        numbers = _numbers(client, repo, told)
        seen += [_status(each, numbers) for each in told]
    return [each for each in seen if each.name != OWN_CHECK]


def _run(run: Mapping[str, Any]) -> CheckSeen:
    done = run["status"] == "completed"
    outcome = _CONCLUSIONS.get(run["conclusion"], Outcome.CANCELLED) if done else Outcome.WAITING
    app = run.get("app") or {}
    by = App(str(app["slug"]), int(app["id"])) if app.get("slug") else None
    # One App may run several workflows that have a job of one name: each has a suite of its own.
    suite = (run.get("check_suite") or {}).get("id", 0)
    producer = f"{by.slug if by else 'an unknown App'} (suite {suite})"
    return CheckSeen(producer, run["name"], int(run["id"]), outcome, _url(run.get("html_url")), by)


def _status(status: Mapping[str, Any], numbers: Mapping[str, int]) -> CheckSeen:
    outcome = _STATES.get(status["state"], Outcome.WAITING)
    by = _creator(status, numbers)
    producer = str(status["creator"]["login"]) if by else "nobody known"
    url = _url(status.get("target_url"))
    return CheckSeen(producer, status["context"], int(status["id"]), outcome, url, by)


def _creator(status: Mapping[str, Any], numbers: Mapping[str, int]) -> App | Account | None:
    creator = status.get("creator")
    if not creator:
        return None
    slug = _slug(creator)
    return App(slug, numbers[slug]) if slug else Account(str(creator["login"]), int(creator["id"]))


def _slug(creator: Mapping[str, Any]) -> str:
    """Return the slug of the App whose account this is, "" for anybody else's."""
    login = str(creator["login"])
    return login.removesuffix(_BOT) if creator.get("type") == "Bot" else ""


def _numbers(client: Client, repo: str, told: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    """Return the numbers of the Apps that set statuses, which only tell of an App's account."""
    slugs = {_slug(each["creator"]) for each in told if each.get("creator")} - {""}
    return {slug: _number(client, repo, slug) for slug in sorted(slugs)}


def _number(client: Client, repo: str, slug: str) -> int:
    ask = Ask("GET", f"/apps/{quote(slug, safe='')}", f"learn the number of the App {slug}", repo)
    try:
        with reading(ask):
            return int(client.send(ask)["id"])
    except Refused:
        # A private App's number is told to nobody; a pin on its slug still holds.
        return 0


def _url(value: object) -> str:
    return value if isinstance(value, str) and value.startswith(("https://", "http://")) else ""
