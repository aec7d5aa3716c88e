"""Commits, comparisons, file contents, and the objects of the git database."""

import base64
from http import HTTPStatus
from typing import Any

from mergebot.localforge import merger, pulls_store
from mergebot.localforge.errors import ApiError, not_found, unprocessable
from mergebot.localforge.routing import Call, Reply, created, endpoint, ok
from mergebot.localforge.shapes import commits, pulls
from mergebot.localforge.shapes.issues import repo_url

REPO = "/repos/{owner}/{repo}"
COMPARED_COMMITS_MAX = 250
LISTED_COMMITS_MAX = 5000


def _commit(call: Call, sha: str) -> commits.Commit:
    if not call.bare.has(sha):
        raise not_found()
    return commits.log(call.bare, "-1", sha)[0]


@endpoint("GET", f"{REPO}/commits", "read", "contents:read")
def listing(call: Call) -> Reply:
    """List commits that are reachable from a branch, newest first."""
    name = call.query.get("sha") or call.repo["default_branch"]
    sha = call.bare.resolve(name)
    if sha is None:
        if not call.bare.refs("refs/heads/"):
            raise ApiError(HTTPStatus.CONFLICT, "Git Repository is empty.")
        raise not_found()
    found = commits.log(call.bare, f"--max-count={LISTED_COMMITS_MAX}", sha)
    return ok([commits.commit(call.forge, call.repo, c) for c in call.page(found)])


@endpoint("GET", f"{REPO}/commits/{{ref:path}}/pulls", "read", "pull_requests:read")
def pulls_of(call: Call) -> Reply:
    """List the pull requests whose head or merge a commit is."""
    sha = call.bare.resolve(call.params["ref"])
    rows = call.store.all(
        pulls_store.PULL + "WHERE pulls.repo_id = ? AND (head_sha = ? OR merge_commit_sha = ?)",
        *(call.repo["id"], sha, sha),
    )
    return ok([pulls.brief(call.forge, call.repo, row) for row in call.page(rows)])


@endpoint("GET", f"{REPO}/commits/{{ref:path}}", "read", "contents:read")
def get(call: Call) -> Reply:
    """Return a commit with its files, by branch, tag or SHA."""
    name = call.params["ref"]
    sha = call.bare.resolve(name)
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {name}")
    found = _commit(call, sha)
    empty_tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    parent = found.parents[0] if found.parents else empty_tree
    changed = commits.files(call.forge, call.repo, parent, sha)
    total = [sum(f[name] for f in changed) for name in ("additions", "deletions")]
    stats = {"additions": total[0], "deletions": total[1], "total": sum(total)}
    return ok({**commits.commit(call.forge, call.repo, found), "stats": stats, "files": changed})


@endpoint("GET", f"{REPO}/compare/{{span:path}}", "read", "contents:read")
def compare(call: Call) -> Reply:
    """Compare two branches, tags or commits, written `base...head`."""
    base_name, dots, head_name = call.params["span"].partition("...")
    base = call.bare.resolve(base_name.rpartition(":")[2])
    head = call.bare.resolve(head_name.rpartition(":")[2])
    if not dots or base is None or head is None:
        raise not_found()
    common = call.bare.merge_base(base, head)
    if common is None:
        raise ApiError(HTTPStatus.NOT_FOUND, f"No common ancestor between {base} and {head}.")
    ahead = commits.log(call.bare, "--reverse", f"{base}..{head}")
    behind = int(call.bare.run("rev-list", "--count", f"{head}..{base}"))
    words = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}
    page = f"{call.forge.url}/{call.repo['owner']}/{call.repo['name']}/compare/{base}...{head}"

    def shown(sha: str) -> dict[str, Any]:
        return commits.commit(call.forge, call.repo, _commit(call, sha))

    return ok(
        {
            "url": f"{repo_url(call.forge, call.repo)}/compare/{call.params['span']}",
            "html_url": page,
            "permalink_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "base_commit": shown(base),
            "merge_base_commit": shown(common),
            "status": words.get((bool(ahead), bool(behind)), "identical"),
            "ahead_by": len(ahead),
            "behind_by": behind,
            "total_commits": len(ahead),
            "commits": [
                commits.commit(call.forge, call.repo, c)
                for c in call.page(ahead[:COMPARED_COMMITS_MAX])
            ],
            "files": commits.files(call.forge, call.repo, common, head),
        }
    )


@endpoint("GET", f"{REPO}/contents/{{path:path}}", "read", "contents:read")
def contents(call: Call) -> Reply:
    """Return a file, or the list of a folder, at a ref."""
    name = call.query.get("ref") or call.repo["default_branch"]
    sha = call.bare.resolve(name)
    if sha is None:
        raise ApiError(HTTPStatus.NOT_FOUND, f"No commit found for the ref {name}")
    path = call.params["path"].strip("/")
    spec = f"{sha}:{path}"
    kind = call.bare.ask("cat-file", "-t", "--end-of-options", spec).text.strip()
    if kind == "tree":
        rows = call.bare.run("ls-tree", "-z", "-l", "--end-of-options", spec).split("\0")
        return ok([_entry(call, sha, path, row) for row in rows if row])
    if kind != "blob":
        raise not_found()
    data = call.bare.ask("cat-file", "blob", "--end-of-options", spec).out
    if "raw" in call.request.headers.get("accept", ""):
        return Reply(HTTPStatus.OK, data, media_type="application/vnd.github.raw; charset=utf-8")
    blob = call.bare.run("rev-parse", "--end-of-options", spec).split()[-1]
    about = _about(call, sha, path, blob) | {"type": "file", "size": len(data)}
    encoded = base64.encodebytes(data).decode()
    return ok({**about, "encoding": "base64", "content": encoded})


@endpoint("GET", f"{REPO}/contents", "read", "contents:read")
def root_contents(call: Call) -> Reply:
    """List the top folder."""
    call.params["path"] = ""
    return contents(call)


def _entry(call: Call, sha: str, folder: str, row: str) -> dict[str, Any]:
    head, _, name = row.partition("\t")
    _, kind, blob, size = head.split()
    word = {"tree": "dir", "blob": "file", "commit": "submodule"}[kind]
    path = f"{folder}/{name}" if folder else name
    sized = int(size) if size.isdigit() else 0
    return _about(call, sha, path, blob) | {"type": word, "size": sized}


def _about(call: Call, sha: str, path: str, blob: str) -> dict[str, Any]:
    base = repo_url(call.forge, call.repo)
    page = f"{call.forge.url}/{call.repo['owner']}/{call.repo['name']}/blob/{sha}/{path}"
    url = f"{base}/contents/{path}?ref={sha}"
    git_url = f"{base}/git/blobs/{blob}"
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": blob,
        "url": url,
        "git_url": git_url,
        "html_url": page,
        "download_url": None,
        "_links": {"self": url, "git": git_url, "html": page},
    }


@endpoint("GET", f"{REPO}/git/commits/{{sha}}", "read", "contents:read")
def git_commit(call: Call) -> Reply:
    """Return a commit object."""
    return ok(commits.git_commit(call.forge, call.repo, _commit(call, call.params["sha"])))


@endpoint("POST", f"{REPO}/git/commits", "write", "contents:write")
def create_commit(call: Call) -> Reply:
    """Write a commit object."""
    message, tree = call.text("Commit", "message"), call.text("Commit", "tree")
    parents = [str(sha) for sha in call.body.get("parents") or []]
    for sha in parents:
        if not call.bare.has(sha):
            raise unprocessable("Parent SHA does not exist or is not a commit object")
    if call.bare.ask("cat-file", "-e", "--end-of-options", f"{tree}^{{tree}}").code:
        raise unprocessable("Tree SHA does not exist")
    login = call.user["login"]
    email = f"{login}@users.noreply.localhost"
    author = {"name": login, "email": email} | (call.body.get("author") or {})
    env = merger.Author(str(author["name"]), str(author["email"])).env()
    if "date" in author:
        env["GIT_AUTHOR_DATE"] = str(author["date"])
    sha = merger.commit_tree(call.bare, tree, parents, message, env)
    return created(commits.git_commit(call.forge, call.repo, _commit(call, sha)))


@endpoint("GET", f"{REPO}/git/trees/{{sha:path}}", "read", "contents:read")
def git_tree(call: Call) -> Reply:
    """Return a tree object, with everything below it when `recursive` is given."""
    name = call.params["sha"]
    found = call.bare.resolve(name) or name
    answer = call.bare.ask("rev-parse", "-q", "--verify", "--end-of-options", f"{found}^{{tree}}")
    tree = answer.text.strip()
    if answer.code or not tree:
        raise not_found()
    deep = ("-r", "-t") if call.query.get("recursive") else ()
    rows = call.bare.run("ls-tree", "-z", "-l", *deep, tree).split("\0")
    base = f"{repo_url(call.forge, call.repo)}/git"
    listed = []
    for row in filter(None, rows):
        head, _, path = row.partition("\t")
        mode, kind, sha, size = head.split()
        item: dict[str, Any] = {"path": path, "mode": mode, "type": kind, "sha": sha}
        if kind == "blob":
            item["size"] = int(size)
        listed.append(item | {"url": f"{base}/{kind}s/{sha}"})
    return ok({"sha": tree, "url": f"{base}/trees/{tree}", "tree": listed, "truncated": False})


@endpoint("GET", f"{REPO}/git/blobs/{{sha}}", "read", "contents:read")
def git_blob(call: Call) -> Reply:
    """Return a blob object."""
    sha = call.params["sha"]
    answer = call.bare.ask("cat-file", "blob", "--end-of-options", sha)
    if answer.code:
        raise not_found()
    return ok(
        {
            "sha": sha,
            "node_id": f"B_{sha}",
            "size": len(answer.out),
            "url": f"{repo_url(call.forge, call.repo)}/git/blobs/{sha}",
            "content": base64.encodebytes(answer.out).decode(),
            "encoding": "base64",
        }
    )
