"""Plain pages to read repositories and pull requests on: no script, no foreign content."""

from collections.abc import Callable
from functools import cache
from html import escape
from http import HTTPStatus
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mergebot.localforge import access, checks, issues, people, pulls_store, repositories
from mergebot.localforge.errors import ApiError, not_found
from mergebot.localforge.forge import Forge
from mergebot.localforge.markdown import rendered
from mergebot.localforge.shapes import commits
from mergebot.localforge.store import Row

LISTED_MAX = 200
DIFF_LINES_MAX = 3000
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_KINDS = {"+": "add", "-": "cut", "@": "hunk", "d": "file"}

Page = Callable[[Forge, Request], Response]


@cache
def templates() -> Environment:
    """Return the pages' templates: everything escaped, everything undefined an error."""
    loader = PackageLoader("mergebot.localforge", "pages")
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    )  # fmt: skip


def diff_lines(text: str) -> list[dict[str, str]]:
    """Return the lines of a diff, each with its kind."""
    return [{"kind": _kind(line), "text": line} for line in text.split("\n")]


def _kind(line: str) -> str:
    names = line.startswith(("+++ ", "--- "))
    return "file" if names else _KINDS.get(line[:1], "same")


def _render(name: str, **values: Any) -> Response:
    text = templates().get_template(name).render(**values)
    return Response(text, headers=HEADERS, media_type="text/html; charset=utf-8")


def _find(forge: Forge, request: Request) -> Row:
    owner, name = request.path_params["owner"], request.path_params["repo"]
    caller = access.authenticate(forge, request.headers.get("authorization", ""))
    repo = repositories.by_name(forge.store, owner, name)
    if repo is None or not access.sees(forge, caller, repo):
        hidden = repo is not None and caller.kind == "anonymous"
        raise ApiError(HTTPStatus.UNAUTHORIZED, "Token required") if hidden else not_found()
    return repo


def _index(forge: Forge, request: Request) -> Response:
    caller = access.authenticate(forge, request.headers.get("authorization", ""))
    rows = forge.store.all(
        "SELECT repos.*, users.login AS owner, (SELECT count(*) FROM issues WHERE repo_id ="
        " repos.id AND is_pull = 1 AND state = 'open') AS open FROM repos"
        " JOIN users ON users.id = owner_id ORDER BY pushed_at DESC, repos.id DESC"
    )
    seen = [row for row in rows if access.sees(forge, caller, row)]
    return _render("repositories.html", repositories=seen)


def _described(forge: Forge, row: Row) -> Row:
    word = "merged" if row["merged"] else row["state"]
    draft = word == "open" and row["draft"]
    labels = issues.labels_of(forge.store, {"id": row["issue_id"]})
    login = people.by_id(forge.store, row["user_id"])["login"]
    return row | {"word": "draft" if draft else word, "labels": labels, "login": login}


def _repository(forge: Forge, request: Request) -> Response:
    repo = _find(forge, request)
    lists = {}
    for state, name in (("open", "opened"), ("closed", "closed")):
        rows = forge.store.all(
            pulls_store.PULL + "WHERE pulls.repo_id = ? AND issues.state = ?"
            " ORDER BY pulls.number DESC LIMIT ?",
            *(repo["id"], state, LISTED_MAX),
        )
        lists[name] = [_described(forge, row) for row in rows]
    return _render("repository.html", repo=repo, url=forge.url, **lists)


def _checks(forge: Forge, repo: Row, sha: str) -> list[dict[str, Any]]:
    statuses = [
        {"state": row["state"], "name": row["context"], "about": row["description"]}
        | {"url": row["target_url"]}
        for row in checks.latest_statuses(forge.store, repo["id"], sha)
    ]
    runs = [
        {"state": row["conclusion"] or row["status"], "name": row["name"], "about": ""}
        | {"url": row["details_url"]}
        for row in checks.latest_runs(forge.store, repo["id"], sha)
    ]
    return [
        check | {"url": check["url"] if str(check["url"]).startswith("http") else None}
        for check in [*statuses, *runs]
    ]


def _comments(forge: Forge, pull: Row) -> list[dict[str, Any]]:
    rows = forge.store.all(
        "SELECT comments.*, login FROM comments JOIN users ON users.id = user_id"
        " WHERE issue_id = ? ORDER BY comments.id",
        pull["issue_id"],
    )
    return [row | {"body": rendered(row["body"])} for row in rows]


def _pull(forge: Forge, request: Request) -> Response:
    repo = _find(forge, request)
    pull = pulls_store.get(forge.store, repo, int(request.path_params["number"]))
    bare = forge.bare(repo["id"])
    found = commits.log(
        bare, f"--max-count={LISTED_MAX}", f"{pull['base_sha']}..{pull['head_sha']}"
    )
    listed = [
        {"sha": c.sha, "title": c.message.split("\n", 1)[0], "author": c.author["name"]}
        for c in reversed(found)
    ]
    lines = diff_lines(_diff(forge, repo, pull, "diff"))
    return _render(
        "pull.html",
        repo=repo,
        pull=_described(forge, pull),
        body=rendered(pull["body"]),
        checks=_checks(forge, repo, pull["head_sha"]),
        commits=listed,
        comments=_comments(forge, pull),
        diff=lines[:DIFF_LINES_MAX],
        cut=len(lines) > DIFF_LINES_MAX,
    )


def _diff(forge: Forge, repo: Row, pull: Row, kind: str) -> str:
    bare = forge.bare(repo["id"])
    if kind == "patch":
        return bare.run("format-patch", "--stdout", f"{pull['base_sha']}..{pull['head_sha']}")
    return bare.run("diff", "-M", "--no-color", f"{pull['base_sha']}...{pull['head_sha']}")


def _as_text(kind: str) -> Page:
    def show(forge: Forge, request: Request) -> Response:
        repo = _find(forge, request)
        pull = pulls_store.get(forge.store, repo, int(request.path_params["number"]))
        text = _diff(forge, repo, pull, kind)
        return Response(text, headers=HEADERS, media_type="text/plain; charset=utf-8")

    return show


def _issue(forge: Forge, request: Request) -> Response:
    """Lead from an issue's address to its pull request; plain issues have no page of their own."""
    repo = _find(forge, request)
    number = int(request.path_params["number"])
    pulls_store.get(forge.store, repo, number)
    return RedirectResponse(f"/{repositories.full_name(repo)}/pull/{number}")


def _style(_: Forge, __: Request) -> Response:
    text = files(__package__).joinpath("pages/style.css").read_text("utf-8")
    return Response(text, headers={"Cache-Control": "max-age=300"}, media_type="text/css")


def _icon(_: Forge, __: Request) -> Response:
    icon = files(__package__).joinpath("pages/icon.svg").read_bytes()
    return Response(icon, headers=HEADERS, media_type="image/svg+xml")


def _avatar(forge: Forge, request: Request) -> Response:
    user = people.by_id(forge.store, int(request.path_params["id"]))
    hue, letter = user["id"] * 47 % 360, escape(user["login"][:1].upper())
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><circle cx="20" cy="20"'
        f' r="20" fill="hsl({hue} 45% 45%)"/><text x="20" y="27" font-family="sans-serif"'
        f' font-size="20" fill="#fff" text-anchor="middle">{letter}</text></svg>'
    )
    return Response(svg, headers=HEADERS, media_type="image/svg+xml")


def routes(forge: Forge) -> list[Route]:
    """Return the routes of the pages."""
    pages: dict[str, Page] = {
        "/": _index,
        "/_forge/style.css": _style,
        "/favicon.ico": _icon,
        "/_forge/avatars/{id:int}": _avatar,
        "/{owner}/{repo}": _repository,
        "/{owner}/{repo}/pull/{number:int}": _pull,
        "/{owner}/{repo}/issues/{number:int}": _issue,
    }
    found = [Route(path, _page(forge, run), methods=["GET"]) for path, run in pages.items()]
    for kind in ("diff", "patch"):
        path = f"/{{owner}}/{{repo}}/pull/{{number:int}}.{kind}"
        found.append(Route(path, _page(forge, _as_text(kind)), methods=["GET"]))
    return found


def _page(forge: Forge, run: Page) -> Any:
    async def show(request: Request) -> Response:
        try:
            return await run_in_threadpool(run, forge, request)
        except ApiError as error:
            headers = dict(HEADERS)
            if error.status == HTTPStatus.UNAUTHORIZED:
                headers["WWW-Authenticate"] = 'Basic realm="Local forge"'
            return Response(error.message, error.status, headers, "text/plain")

    return show
