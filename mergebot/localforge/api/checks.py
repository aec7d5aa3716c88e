"""Check runs and check suites: written by Apps alone, read by everybody."""

import json
from http import HTTPStatus
from typing import Any

from mergebot.localforge import checks, news, people
from mergebot.localforge.api.statuses import commit_of
from mergebot.localforge.errors import invalid, not_found, unprocessable
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes import checks as shapes
from mergebot.localforge.store import Row
from mergebot.localforge.times import now

REPO = "/repos/{owner}/{repo}"
CONCLUSIONS = ("success", "failure", "neutral", "cancelled", "skipped", "timed_out",
               "action_required", "stale")  # fmt: skip
STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
OUTPUT_CHARS_MAX, ANNOTATIONS_MAX, ACTIONS_MAX = 65_535, 50, 3


def _checked(body: dict[str, Any], old: Row) -> dict[str, Any]:
    """Return the values of a run after a request, or refuse them."""
    conclusion = body.get("conclusion", None if body.get("status") else old.get("conclusion"))
    status = "completed" if conclusion else body.get("status", old.get("status", "queued"))
    if conclusion is not None and conclusion not in CONCLUSIONS:
        raise invalid("CheckRun", "conclusion")
    if status not in STATUSES:
        raise invalid("CheckRun", "status")
    if status == "completed" and not conclusion:
        raise unprocessable(
            'Invalid request.\n\nNo subschema in "anyOf" matched.\n"conclusion" wasn\'t supplied.'
        )
    if len(body.get("actions") or []) > ACTIONS_MAX:
        raise invalid("CheckRun", "actions")
    started = body.get("started_at") or old.get("started_at") or now()
    done = body.get("completed_at") or old.get("completed_at") or now()
    return {
        "name": body.get("name", old.get("name")),
        "status": status,
        "conclusion": conclusion,
        "external_id": body.get("external_id", old.get("external_id")),
        "details_url": body.get("details_url", old.get("details_url")),
        "output": json.dumps(_output(body.get("output"), json.loads(old.get("output", "{}")))),
        "started_at": started,
        "completed_at": done if status == "completed" else None,
    }


def _output(given: Any, old: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(given, dict):
        return old
    for name in ("summary", "text"):
        if len(given.get(name) or "") > OUTPUT_CHARS_MAX:
            message = f"Only {OUTPUT_CHARS_MAX} characters are allowed; {len(given[name])} were"
            raise unprocessable(f"Invalid request.\n\n{message} supplied.")
    if given.get("summary") is None and "summary" not in old:
        raise unprocessable('Invalid request.\n\n"summary" wasn\'t supplied.')
    fresh = given.get("annotations") or []
    if len(fresh) > ANNOTATIONS_MAX:
        raise unprocessable(
            f"Invalid request.\n\nNo more than {ANNOTATIONS_MAX} items are allowed; {len(fresh)}"
            " were supplied."
        )
    merged = old | {k: given[k] for k in ("title", "summary", "text") if k in given}
    return merged | {"annotations": [*old.get("annotations", []), *fresh]}


def _suite(call: Call, sha: str) -> int:
    """Return the App's suite on a commit, made where missing."""
    key = (call.repo["id"], sha, call.caller.app_id)
    found = call.store.one(
        "SELECT id FROM check_suites WHERE repo_id = ? AND sha = ? AND app_id = ?", *key
    )
    if found:
        return int(found["id"])
    heads = [ref for ref, tip, _ in call.bare.refs("refs/heads/") if tip == sha]
    branch = heads[0].removeprefix("refs/heads/") if heads else None
    return call.store.run(
        "INSERT INTO check_suites (repo_id, sha, app_id, branch, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        *(*key, branch, now(), now()),
    )


def _tell(call: Call, row: Row, action: str) -> None:
    _say(call, row, {"action": action})


def _say(call: Call, row: Row, about: dict[str, Any], who: Row | None = None) -> None:
    def make() -> dict[str, Any]:
        shown = shapes.run(call.forge, call.repo, row)
        suite = call.store.one("SELECT * FROM check_suites WHERE id = ?", row["suite_id"])
        if suite:
            shown["check_suite"] = shapes.suite(call.forge, call.repo, suite)
        return about | {"check_run": shown}

    news.tell(call.forge, call.repo, "check_run", who or call.user, make)


def _run(call: Call, run_id: int) -> Row:
    row = call.store.one(
        "SELECT * FROM check_runs WHERE id = ? AND repo_id = ?", run_id, call.repo["id"]
    )
    if row is None:
        raise not_found()
    return row


@endpoint("POST", f"{REPO}/check-runs", "write", "checks:write")
def create(call: Call) -> Reply:
    """Create a check run on a commit."""
    sha = call.text("CheckRun", "head_sha")
    call.text("CheckRun", "name")
    if not call.bare.has(sha):
        raise unprocessable(f"No commit found for SHA: {sha}")
    values = _checked(call.body, {})
    with call.store.write():
        made = call.store.run(
            "INSERT INTO check_runs (suite_id, repo_id, sha, app_id, name, status, conclusion,"
            " external_id, details_url, output, started_at, completed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(_suite(call, sha), call.repo["id"], sha, call.caller.app_id, *values.values()),
        )
        row = _run(call, made)
        _tell(call, row, "created")
        if row["status"] == "completed":
            _tell(call, row, "completed")
    return created(shapes.run(call.forge, call.repo, row))


@endpoint("PATCH", f"{REPO}/check-runs/{{id:int}}", "write", "checks:write")
def edit(call: Call) -> Reply:
    """Change a check run; annotations are added to those already there."""
    with call.store.write():
        old = _run(call, int(call.params["id"]))
        if old["app_id"] != call.caller.app_id:
            raise not_found()
        values = _checked(call.body, old)
        call.store.run(
            "UPDATE check_runs SET name = ?, status = ?, conclusion = ?, external_id = ?,"
            " details_url = ?, output = ?, started_at = ?, completed_at = ? WHERE id = ?",
            *(*values.values(), old["id"]),
        )
        row = _run(call, old["id"])
        if row["status"] == "completed" and old["status"] != "completed":
            _tell(call, row, "completed")
    return ok(shapes.run(call.forge, call.repo, row))


@endpoint("GET", f"{REPO}/check-runs/{{id:int}}", "read", "checks:read")
def get(call: Call) -> Reply:
    """Return a check run."""
    return ok(shapes.run(call.forge, call.repo, _run(call, int(call.params["id"]))))


@endpoint("POST", f"{REPO}/check-runs/{{id:int}}/rerequest", "write", "checks:write")
def rerequest(call: Call) -> Reply:
    """Ask the App of a check run to do it again."""
    row = _run(call, int(call.params["id"]))
    with call.store.write():
        _say(call, row, {"action": "rerequested"})
    return created({})


@endpoint("GET", f"{REPO}/check-runs/{{id:int}}/annotations", "read", "checks:read")
def annotations(call: Call) -> Reply:
    """List the annotations of a check run."""
    row = _run(call, int(call.params["id"]))
    unset = dict.fromkeys(("start_column", "end_column", "title", "raw_details"))
    blob = f"{call.forge.url}/{call.repo['owner']}/{call.repo['name']}/blob/{row['sha']}"
    shown = [
        {**unset, **each, "blob_href": f"{blob}/{each.get('path', '')}"}
        for each in json.loads(row["output"]).get("annotations", [])
    ]
    return ok(call.page(shown))


@endpoint("GET", f"{REPO}/commits/{{ref:path}}/check-runs", "read", "checks:read")
def listing(call: Call) -> Reply:
    """List the check runs of a commit: the latest of each name, or all."""
    sha = commit_of(call)
    if call.query.get("filter", "latest") == "latest":
        rows = checks.latest_runs(call.store, call.repo["id"], sha)
    else:
        rows = call.store.all(
            "SELECT * FROM check_runs WHERE repo_id = ? AND sha = ? ORDER BY id DESC",
            *(call.repo["id"], sha),
        )
    if name := call.query.get("check_name"):
        rows = [row for row in rows if row["name"] == name]
    if status := call.query.get("status"):
        rows = [row for row in rows if row["status"] == status]
    shown = [shapes.run(call.forge, call.repo, row) for row in call.page(rows)]
    return ok({"total_count": len(rows), "check_runs": shown})


@endpoint("GET", f"{REPO}/commits/{{ref:path}}/check-suites", "read", "checks:read")
def suites(call: Call) -> Reply:
    """List the check suites of a commit."""
    rows = call.store.all(
        "SELECT * FROM check_suites WHERE repo_id = ? AND sha = ? ORDER BY id",
        *(call.repo["id"], commit_of(call)),
    )
    shown = [shapes.suite(call.forge, call.repo, row) for row in call.page(rows)]
    return ok({"total_count": len(rows), "check_suites": shown})


@endpoint("GET", f"{REPO}/check-suites/{{id:int}}", "read", "checks:read")
def suite(call: Call) -> Reply:
    """Return a check suite."""
    row = call.store.one(
        "SELECT * FROM check_suites WHERE id = ? AND repo_id = ?",
        *(int(call.params["id"]), call.repo["id"]),
    )
    if row is None:
        raise not_found()
    return Reply(HTTPStatus.OK, shapes.suite(call.forge, call.repo, row))


@endpoint("POST", "/_forge/repos/{owner}/{repo}/check-runs/{id:int}/actions", "operator")
def press(call: Call) -> Reply:
    """Press a button on a check run, as the person `login`: only the forge's pages do, on GitHub."""
    row = _run(call, int(call.params["id"]))
    who = people.by_login(call.store, call.text("Action", "login"))
    if who is None:
        raise not_found()
    wanted = {"identifier": call.text("Action", "identifier")}
    about = {"action": "requested_action", "requested_action": wanted}
    with call.store.write():
        _say(call, row, about, who)
    return created({})
