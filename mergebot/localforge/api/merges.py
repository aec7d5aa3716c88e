"""The merge button, bringing a branch up to date, and merging one branch into another."""

from http import HTTPStatus
from typing import Any

from mergebot.localforge import checks, merger, protection, pulls, pushes, repositories
from mergebot.localforge.api.pulls import ONE, REPO, place_of, pull_of
from mergebot.localforge.errors import ApiError, not_found, unprocessable
from mergebot.localforge.git import GitError, Update
from mergebot.localforge.routing import Call, Reply, created, endpoint, no_content, ok
from mergebot.localforge.shapes import commits
from mergebot.localforge.store import Row

METHODS = ("merge", "squash", "rebase")
BASE_MODIFIED = "Base branch was modified. Review and try the merge again."
HEAD_MODIFIED = "Head branch was modified. Review and try the merge again."


def _author(call: Call) -> merger.Author:
    login = call.user["login"]
    email = f"{call.user['id']}+{login}@users.noreply.localhost"
    return merger.Author(call.user["name"] or login, email)


def _not_allowed(message: str) -> ApiError:
    return ApiError(HTTPStatus.METHOD_NOT_ALLOWED, message)


@endpoint("GET", f"{ONE}/merge", "read", "pull_requests:read")
def is_merged(call: Call) -> Reply:
    """Answer 204 when a pull request is merged, 404 otherwise."""
    if not pull_of(call)["merged"]:
        raise not_found()
    return no_content()


@endpoint("PUT", f"{ONE}/merge", "write", "contents:write")
def merge(call: Call) -> Reply:
    """Merge a pull request by one of the three methods."""
    with call.forge.lock(call.repo["id"]):
        pull = pull_of(call)
        base = call.bare.branch(pull["base_ref"])
        _check_mergeable(call, pull, base)
        try:
            sha = _merged(call, pull, str(base))
        except merger.ConflictError as conflict:
            raise _not_allowed("Pull Request is not mergeable") from conflict
        update = Update(f"refs/heads/{pull['base_ref']}", str(base), sha)
        try:
            call.bare.move([update])
        except GitError as error:
            raise _not_allowed(BASE_MODIFIED) from error
        with call.store.write():
            pulls.mark_merged(place_of(call), pull, sha)
            pushes.follow(call.forge, call.repo, call.user, [update])
    return ok({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def _check_mergeable(call: Call, pull: Row, base: str | None) -> None:
    wanted = call.body.get("sha")
    if pull["state"] == "closed" or base is None:
        raise _not_allowed("Pull Request is not mergeable")
    if pull["draft"]:
        raise _not_allowed("Pull Request is still a draft")
    if wanted is not None and wanted != pull["head_sha"]:
        raise ApiError(HTTPStatus.CONFLICT, HEAD_MODIFIED)
    rules = protection.of_branch(call.store, call.repo["id"], pull["base_ref"])
    required = protection.demanded_checks(rules)
    for name in checks.missing(call.store, call.repo["id"], pull["head_sha"], required):
        raise _not_allowed(f'Required status check "{name}" is expected.')


def _merged(call: Call, pull: Row, base: str) -> str:
    method = call.body.get("merge_method", "merge")
    if method not in METHODS:
        raise unprocessable("Invalid request.\n\nNo enum constant for merge_method.")
    head, number = pull["head_sha"], pull["number"]
    if method == "rebase":
        return merger.rebase(call.bare, base, head)
    if method == "squash":
        title = call.body.get("commit_title") or f"{pull['title']} (#{number})"
        run = merger.squash
    else:
        source = f"{call.repo['owner']}/{pull['head_ref']}"
        title = call.body.get("commit_title") or f"Merge pull request #{number} from {source}"
        run = merger.merge
    text = call.body.get("commit_message") or (pull["title"] if method == "merge" else "")
    message = f"{title}\n\n{text}".rstrip() + "\n"
    return run(call.bare, base, head, message=message, author=_author(call))


@endpoint("PUT", f"{ONE}/update-branch", "write", "pull_requests:write")
def update_branch(call: Call) -> Reply:
    """Merge the base into the head branch."""
    pull = pull_of(call)
    expected = call.body.get("expected_head_sha", pull["head_sha"])
    base = call.bare.branch(pull["base_ref"])
    if expected != pull["head_sha"]:
        raise unprocessable("expected head sha didn\u2019t match current head ref.")
    if base is None or pull["head_repo_id"] is None:
        raise unprocessable("The head branch is gone.")
    head = pull["head_sha"]
    if call.bare.contains(head, base):
        raise unprocessable("There are no new commits on the base branch.")
    message = f"Merge branch '{pull['base_ref']}' into {pull['head_ref']}\n"
    source = call.forge.bare(pull["head_repo_id"])
    try:
        sha = merger.merge(call.bare, head, base, message=message, author=_author(call))
    except merger.ConflictError as conflict:
        raise unprocessable("merge conflict between base and head") from conflict
    if source.path != call.bare.path:
        call.bare.set_ref("refs/forge/outgoing", sha)
        source.fetch(call.bare.path, sha, "refs/forge/incoming")
    update = Update(f"refs/heads/{pull['head_ref']}", head, sha)
    source.move([update])
    pushes.follow(call.forge, _head_repo(call, pull), call.user, [update])
    return Reply(HTTPStatus.ACCEPTED, {"message": "Updating pull request branch.", "url": ""})


def _head_repo(call: Call, pull: Row) -> Row:
    from_fork = repositories.by_id(call.store, pull["head_repo_id"])
    return from_fork or call.repo


@endpoint("POST", f"{REPO}/merges", "write", "contents:write")
def merge_branches(call: Call) -> Reply:
    """Merge a branch or commit into a branch: 201, or 204 where there is nothing to do."""
    body: dict[str, Any] = call.body
    base_name, head_name = call.text("Merge", "base"), call.text("Merge", "head")
    base, head = call.bare.branch(base_name), call.bare.resolve(head_name)
    if base is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "Base does not exist")
    if head is None:
        raise ApiError(HTTPStatus.NOT_FOUND, "Head does not exist")
    if call.bare.contains(base, head):
        return no_content()
    message = body.get("commit_message") or f"Merge {head_name} into {base_name}"
    try:
        sha = merger.merge(call.bare, base, head, message=message, author=_author(call))
        update = Update(f"refs/heads/{base_name}", base, sha)
        call.bare.move([update])
    except (merger.ConflictError, GitError) as conflict:
        raise ApiError(HTTPStatus.CONFLICT, "Merge conflict") from conflict
    pushes.follow(call.forge, call.repo, call.user, [update])
    found = commits.log(call.bare, "-1", sha)[0]
    return created(commits.commit(call.forge, call.repo, found))
