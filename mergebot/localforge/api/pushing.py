"""What the hooks of a push under way ask: may a ref move, and what becomes of refs/for.

`git push origin HEAD:refs/for/main -o title=...` opens a pull request, or updates the one that the
option `pr` or an equal `branch` names.
"""

import re
from dataclasses import dataclass, field

from mergebot.localforge import issues, people, protection, pulls, pulls_store, pushes, repositories
from mergebot.localforge.errors import ApiError, not_found
from mergebot.localforge.git import ZERO, GitError, Update, valid_ref
from mergebot.localforge.issues import Place
from mergebot.localforge.pulls import Proposal
from mergebot.localforge.routing import Call, Reply, endpoint, ok
from mergebot.localforge.shapes import commits
from mergebot.localforge.shapes.issues import html_url
from mergebot.localforge.store import Row

FOR = "refs/for/"
SLUG_CHARS_MAX = 40
OPTIONS = ("title", "body", "label", "draft", "branch", "pr")


@dataclass(slots=True)
class Options:
    """The push options of a proposal."""

    title: str = ""
    body: str | None = None
    labels: list[str] = field(default_factory=list)
    draft: int = 0
    branch: str = ""
    pr: int = 0


class RefusedError(Exception):
    """A proposal is refused; carries the short reason that git shows beside the ref."""


def parse(given: list[str]) -> Options:
    """Read push options; refuse an unknown name or a broken value."""
    options = Options()
    for option in given:
        name, _, value = option.partition("=")
        match name:
            case "title":
                options.title = value
            case "body":
                options.body = value.replace("\\n", "\n")
            case "label":
                options.labels += [part.strip() for part in value.split(",") if part.strip()]
            case "draft" if value.lower() in {"", "true", "1", "yes"}:
                options.draft = 1
            case "draft":
                options.draft = 0
            case "branch":
                options.branch = value
            case "pr" if value.lstrip("#").isdigit():
                options.pr = int(value.lstrip("#"))
            case _:
                allowed = ", ".join(OPTIONS)
                raise RefusedError(f"push option {name!r} is not understood; allowed: {allowed}")
    return options


def _ticket(call: Call) -> Place:
    repo_id, user_id = call.forge.tickets.get(str(call.body.get("ticket")), (0, 0))
    repo = repositories.by_id(call.store, repo_id)
    if repo is None:
        raise not_found()
    return Place(call.forge, repo, people.by_id(call.store, user_id))


@endpoint("POST", "/_forge/hook/update", "anyone")
def update(call: Call) -> Reply:
    """Tell the update hook why a ref may not move, or null."""
    place, body = _ticket(call), call.body
    moved = Update(str(body["ref"]), str(body["old"]), str(body["new"]))
    return ok({"refusal": protection.refusal(place.forge, place.repo, place.actor, moved)})


@endpoint("POST", "/_forge/hook/propose", "anyone")
def propose(call: Call) -> Reply:
    """Make a pull request of a push to refs/for/BRANCH, or bring one up to date."""
    place, body = _ticket(call), call.body
    try:
        options = parse([str(option) for option in body.get("options", [])])
        message = _propose(place, str(body["ref"]), str(body["new"]), options)
    except RefusedError as refused:
        return ok({"accepted": False, "reason": str(refused), "message": f"error: {refused}"})
    except ApiError as error:
        reason = error.message
        if error.errors and isinstance(error.errors[0], dict):
            about = error.errors[0]
            reason = about.get("message") or f"{about.get('field')} is {about.get('code')}"
        return ok({"accepted": False, "reason": reason, "message": f"error: {reason}"})
    return ok({"accepted": True, "message": message})


def _propose(place: Place, ref: str, new: str, options: Options) -> str:
    base = ref.removeprefix(FOR)
    if new == ZERO or not ref.startswith(FOR):
        raise RefusedError(f"push a commit to {FOR}BRANCH")
    bare = place.forge.bare(place.repo["id"])
    if bare.branch(base) is None:
        raise RefusedError(f"there is no branch {base!r} to propose a change for")
    existing = _existing(place, base, options)
    if existing is not None:
        return _bring_up_to_date(place, existing, new, options)
    if not options.title:
        options.title = commits.log(bare, "-1", new)[0].message.split("\n", 1)[0] or "Untitled"
    # Nothing to propose is refused before a branch is made for it.
    if bare.contains(bare.branch(base) or base, new):
        raise RefusedError(f"no commits between {base} and the pushed commit")
    branch = options.branch or _free_branch(place, options.title)
    if not valid_ref(f"refs/heads/{branch}"):
        raise RefusedError(f"{branch!r} is not a valid branch name")
    _move(place, branch, new)
    asked = Proposal(
        title=options.title,
        body=options.body,
        base=base,
        head_repo=place.repo,
        head_ref=branch,
        draft=options.draft,
        labels=options.labels,
    )
    pull = pulls.open_pull(place, asked)
    return f"PR #{pull['number']} opened: {_page(place, pull)}"


def _page(place: Place, pull: Row) -> str:
    return html_url(place.forge, place.repo, pull["number"], "pull")


def _existing(place: Place, base: str, options: Options) -> Row | None:
    if options.pr:
        pull = pulls_store.find(place.store, place.repo, options.pr)
        if pull is None or pull["state"] != "open":
            raise RefusedError(f"there is no open PR #{options.pr}")
        if pull["head_repo_id"] != place.repo["id"]:
            raise RefusedError(f"PR #{options.pr} comes from a fork; push to its branch there")
        return pull
    if not options.branch:
        return None
    mine = pulls_store.open_from(place.store, place.repo["id"], options.branch)
    return next((pull for pull in mine if pull["base_ref"] == base), None)


def _bring_up_to_date(place: Place, pull: Row, new: str, options: Options) -> str:
    _move(place, pull["head_ref"], new)
    wanted = {"title": options.title or pull["title"]}
    if options.body is not None:
        wanted["body"] = options.body
    with place.store.write():
        current = pulls_store.get(place.store, place.repo, pull["number"])
        pulls.edit(place, current, wanted)
        issues.add_labels(place, pulls.issue_of(place, current), options.labels)
    return f"PR #{pull['number']} updated: {_page(place, pull)}"


def _move(place: Place, branch: str, new: str) -> None:
    """Point a branch at the pushed commit and let everything follow."""
    bare = place.forge.bare(place.repo["id"])
    ref = f"refs/heads/{branch}"
    moved = Update(ref, bare.ref(ref) or ZERO, new)
    refusal = protection.refusal(place.forge, place.repo, place.actor, moved)
    if refusal:
        raise RefusedError(refusal)
    try:
        bare.move([moved])
    except GitError as error:
        raise RefusedError(f"the branch {branch!r} could not be moved") from error
    pushes.follow(place.forge, place.repo, place.actor, [moved])


def _free_branch(place: Place, title: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:SLUG_CHARS_MAX].strip("-")
    login = re.sub(r"[^A-Za-z0-9-]", "", place.actor["login"])
    name = f"{login}/{slug or 'change'}"
    bare = place.forge.bare(place.repo["id"])
    taken = {ref for ref, _, _ in bare.refs(f"refs/heads/{name}")}
    free = (name if n == 1 else f"{name}-{n}" for n in range(1, len(taken) + 3))
    return next(n for n in free if f"refs/heads/{n}" not in taken)
