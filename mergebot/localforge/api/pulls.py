"""Pull requests: listed, read, opened, changed."""

from typing import Any

from mergebot.localforge import merging, pulls, pulls_store, repositories
from mergebot.localforge.errors import forbidden, invalid
from mergebot.localforge.issues import Place
from mergebot.localforge.pulls import Proposal
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes import commits
from mergebot.localforge.shapes import pulls as shapes
from mergebot.localforge.store import Row

REPO = "/repos/{owner}/{repo}"
ONE = f"{REPO}/pulls/{{number:int}}"
FILES_MAX, COMMITS_MAX = 3000, 250


def place_of(call: Call) -> Place:
    """Return where and by whom a call acts."""
    return Place(call.forge, call.repo, call.user)


def pull_of(call: Call) -> Row:
    """Return the pull request that the path names."""
    return pulls_store.get(call.store, call.repo, call.number())


@endpoint("GET", f"{REPO}/pulls", "read", "pull_requests:read")
def listing(call: Call) -> Reply:
    """List pull requests by state, base, head, in the asked order."""
    state = call.query.get("state", "open")
    rows = call.store.all(
        pulls_store.PULL + "WHERE pulls.repo_id = ? AND issues.state LIKE ?",
        *(call.repo["id"], "%" if state == "all" else state),
    )
    if base := call.query.get("base"):
        rows = [row for row in rows if row["base_ref"] == base]
    if ":" in (head := call.query.get("head", "")):
        owner, _, branch = head.partition(":")
        found = call.store.one("SELECT id FROM users WHERE login_key = ?", owner.lower())
        wanted = (found["id"] if found else 0, branch)
        rows = [row for row in rows if (row["head_owner_id"], row["head_ref"]) == wanted]
    key = {"updated": "updated_at"}.get(call.query.get("sort", ""), "number")
    default = "desc" if call.query.get("sort", "created") == "created" else "asc"
    rows.sort(
        key=lambda row: (row[key], row["number"]),
        reverse=call.query.get("direction", default) == "desc",
    )
    return ok([shapes.brief(call.forge, call.repo, row) for row in call.page(rows)])


@endpoint("GET", ONE, "read", "pull_requests:read")
def get(call: Call) -> Reply:
    """Return a pull request; its diff or patch where the client accepts only that."""
    row = pull_of(call)
    accept = call.request.headers.get("accept", "")
    for kind, command in (("diff", ("diff",)), ("patch", ("format-patch", "--stdout"))):
        if f".{kind}" in accept:
            dots = "..." if kind == "diff" else ".."
            span = f"{row['base_sha']}{dots}{row['head_sha']}"
            text = call.bare.run(*command, span).encode("utf-8", "replace")
            return Reply(200, text, media_type=f"application/vnd.github.{kind}; charset=utf-8")
    found = merging.mergeability(call.forge, call.repo, row)
    return ok(shapes.pull(call.forge, call.repo, row, found))


@endpoint("POST", f"{REPO}/pulls", "user", "pull_requests:write")
def create(call: Call) -> Reply:
    """Open a pull request from a branch here or in a fork."""
    body, place = call.body, place_of(call)
    head_name, base = call.text("PullRequest", "head"), call.text("PullRequest", "base")
    title = call.text("PullRequest", "title")
    head_repo, branch = pulls.head_repository(place, head_name, body.get("head_repo"))
    _check_may_propose(call, head_repo)
    asked = Proposal(
        title=title,
        body=body.get("body"),
        base=base,
        head_repo=head_repo,
        head_ref=branch,
        draft=int(bool(body.get("draft"))),
        maintainer_can_modify=int(
            head_repo["id"] != call.repo["id"] and bool(body.get("maintainer_can_modify", True))
        ),
    )
    row = pulls.open_pull(place, asked)
    return created(shapes.pull(call.forge, call.repo, row))


def _check_may_propose(call: Call, head_repo: Row) -> None:
    if call.caller.kind == "installation":
        return
    held = repositories.role(call.store, head_repo, call.user)
    if not repositories.allows(held, "write"):
        raise forbidden("Must have push access to repository.")


@endpoint("PATCH", ONE, "user", "pull_requests:write")
def edit(call: Call) -> Reply:
    """Change title, body, base or state."""
    wanted: dict[str, Any] = call.body
    place = place_of(call)
    with call.forge.lock(call.repo["id"]), call.store.write():
        row = pull_of(call)
        held = repositories.role(call.store, call.repo, call.user)
        mine = row["user_id"] == call.user["id"] or call.caller.kind == "installation"
        if not mine and not repositories.allows(held, "triage"):
            raise forbidden("Must have push access to repository.")
        pulls.edit(place, row, wanted)
        state = wanted.get("state")
        if state not in {None, "open", "closed"}:
            raise invalid("PullRequest", "state")
        if state and state != row["state"]:
            (pulls.close if state == "closed" else pulls.reopen)(place, pull_of(call))
    return ok(shapes.pull(call.forge, call.repo, pull_of(call)))


@endpoint("GET", f"{ONE}/files", "read", "pull_requests:read")
def files(call: Call) -> Reply:
    """List the files that a pull request changes."""
    row = pull_of(call)
    base = call.bare.merge_base(row["base_sha"], row["head_sha"]) or row["base_sha"]
    found = commits.files(call.forge, call.repo, base, row["head_sha"])
    return ok(call.page(found[:FILES_MAX]))


@endpoint("GET", f"{ONE}/commits", "read", "pull_requests:read")
def commits_of(call: Call) -> Reply:
    """List the commits of a pull request, oldest first."""
    row = pull_of(call)
    span = f"{row['base_sha']}..{row['head_sha']}"
    found = commits.log(call.bare, "--reverse", span)[:COMMITS_MAX]
    return ok([commits.commit(call.forge, call.repo, c) for c in call.page(found)])
