"""What follows when refs have moved, however they moved: events, new heads, merged pull requests."""

from typing import Any

from mergebot.localforge import activity, issues, news, pulls, pulls_store, repositories
from mergebot.localforge.forge import Forge
from mergebot.localforge.git import ZERO, Update
from mergebot.localforge.issues import Place
from mergebot.localforge.shapes import commits
from mergebot.localforge.store import Row

HEADS = "refs/heads/"
TAGS = "refs/tags/"


def follow(forge: Forge, repo: Row, actor: Row, updates: list[Update]) -> None:
    """Bring everything up to date with refs that have already moved together."""
    shown = [u for u in updates if u.ref.startswith((HEADS, TAGS)) and u.old != u.new]
    for update in updates:
        forge.faults.moved(repo["id"], update.ref, update.old)
    if not shown:
        return
    forge.pushed(repo["id"])
    with forge.lock(repo["id"]), forge.store.write():
        repositories.touch(forge.store, repo)
        branches = [u for u in shown if u.ref.startswith(HEADS)]
        if made := [u.ref.removeprefix(HEADS) for u in branches if u.old == ZERO != u.new]:
            repositories.adopt_first_branch(forge, repo, made[0])
        place = Place(forge, repositories.fresh(forge.store, repo), actor)
        bases = {row["base_ref"] for row in _open(place)} if branches else set()
        # Heads before bases: in one atomic push a new head counts before it is found merged.
        ordered = sorted(branches, key=lambda u: u.ref.removeprefix(HEADS) in bases)
        moved = frozenset(u.ref for u in branches)
        for update in ordered:
            _branch_moved(place, update, moved)
        for update in shown:
            if update not in branches:
                _announce(place, update)


def _open(place: Place) -> list[Row]:
    return place.store.all(
        "SELECT DISTINCT base_ref FROM pulls JOIN issues ON issues.id = issue_id"
        " WHERE pulls.repo_id = ? AND state = 'open'",
        place.repo["id"],
    )


def _branch_moved(place: Place, update: Update, moved: frozenset[str]) -> None:
    branch = update.ref.removeprefix(HEADS)
    activity.record(place.forge, place.repo, place.actor, update)
    if update.new != ZERO:
        pulls.base_moved(place, branch, update.old, update.new)
    _announce(place, update)
    for pull in pulls_store.open_from(place.store, place.repo["id"], branch):
        target = repositories.by_id(place.store, pull["repo_id"])
        if target is not None:
            _head_moved(Place(place.forge, target, place.actor), pull, moved)


def _head_moved(place: Place, pull: Row, moved: frozenset[str]) -> None:
    # Two pushes of one branch may be followed in either order: what the branch is now, counts.
    source = place.forge.bare(pull["head_repo_id"])
    new = source.branch(pull["head_ref"]) or ZERO
    if new == pull["head_sha"]:
        return
    if new == ZERO:
        issues.record(place, pulls.issue_of(place, pull), "head_ref_deleted")
        pulls.close(place, pull)
        return
    pulls.synchronize(place, pull, pull["head_sha"], new)
    bare = place.forge.bare(place.repo["id"])
    base = bare.branch(pull["base_ref"])
    # A head that only catches up with its base proposes nothing any more. Where the base moved in
    # the same push, the move of the base decides, right after this, whether it is merged.
    caught_up = HEADS + pull["base_ref"] not in moved and base and bare.contains(base, new)
    current = pulls_store.by_id(place.store, pull["id"])
    if caught_up and current is not None:
        pulls.close(place, current)


def _announce(place: Place, update: Update) -> None:
    """Send `create` or `delete` where a ref appeared or went, and `push` in any case."""
    forge, repo, actor = place.forge, place.repo, place.actor
    branch = update.ref.startswith(HEADS)
    kind = "branch" if branch else "tag"
    name = update.ref.removeprefix(HEADS).removeprefix(TAGS)
    news.tell(forge, repo, "push", actor, lambda: commits.push_payload(forge, repo, actor, update))
    if update.old == ZERO:
        made: dict[str, Any] = {"ref": name, "ref_type": kind, "pusher_type": "user"}
        made |= {"master_branch": repo["default_branch"], "description": repo["description"]}
        news.tell(forge, repo, "create", actor, lambda: made)
    elif update.new == ZERO:
        gone = {"ref": name, "ref_type": kind, "pusher_type": "user"}
        news.tell(forge, repo, "delete", actor, lambda: gone)
