"""Replaying a head on a base, over commits as values, with the outcomes that real git has."""

from dataclasses import dataclass

from mergebot.adapters.memory.objects import Clash, Commit, Objects, Tree, merge, tree_id
from mergebot.domain.candidate import Merge
from mergebot.domain.ids import Sha
from mergebot.domain.policy import Method
from mergebot.ports.git import (
    Conflicted,
    EmptyReplay,
    LosesContent,
    Replay,
    Replayed,
    ReplayRequest,
)


@dataclass(frozen=True, slots=True)
class _Branch:
    """What a head adds to a base, and the newest commit that both contain."""

    base: Commit
    head: Commit
    fork: Commit
    commits: tuple[Commit, ...]


def replay(objects: Objects, request: ReplayRequest) -> Replay:
    """Replay a head on a base; both are known."""
    since = _since(objects, request)
    ids = objects.between(since or request.base, request.head)
    if not ids:
        return EmptyReplay(on_base=True)
    fork = since or objects.fork(request.base, request.head)
    if fork is None:
        return Conflicted(())
    if not objects.changes(fork, request.head):
        return EmptyReplay(on_base=False)
    base, head, start = (objects.commit(sha) for sha in (request.base, request.head, fork))
    branch = _Branch(base, head, start, tuple(objects.commit(sha) for sha in ids))
    whole = merge(start.tree, base.tree, head.tree)
    if request.method is Method.REBASE:
        return _rebase(objects, branch, whole)
    if isinstance(whole, Clash):
        return Conflicted(whole.paths)
    if whole == base.tree:
        return EmptyReplay(on_base=True)
    parents = [base.id] if request.method is Method.SQUASH else [base.id, head.id]
    return _replayed(objects, branch, objects.write(whole, parents, request.subject))


def _since(objects: Objects, request: ReplayRequest) -> Sha | None:
    """Return where the replay begins, None for where head and base part."""
    since = Sha(request.since)
    within = bool(since) and since in objects.ancestors(request.head)
    return since if within and since not in objects.ancestors(request.base) else None


def _rebase(objects: Objects, branch: _Branch, whole: Tree | Clash) -> Replay:
    merges = any(len(commit.parents) > 1 for commit in branch.commits)
    if branch.fork == branch.base and not merges:
        return _replayed(objects, branch, branch.head.id)
    if isinstance(whole, Clash):
        return Conflicted(whole.paths)
    tip = _pick_all(objects, branch)
    if merges and (isinstance(tip, Clash) or objects.commit(tip).tree != whole):
        return LosesContent()
    if isinstance(tip, Clash):
        return Conflicted(tip.paths)
    if objects.commit(tip).tree == branch.base.tree:
        return EmptyReplay(on_base=True)
    return _replayed(objects, branch, tip)


def _pick_all(objects: Objects, branch: _Branch) -> Sha | Clash:
    tip = branch.base
    for commit in branch.commits:
        if len(commit.parents) != 1:
            continue
        picked = merge(objects.commit(commit.parents[0]).tree, tip.tree, commit.tree)
        if isinstance(picked, Clash):
            return picked
        if picked != tip.tree:
            tip = objects.commit(objects.write(picked, [tip.id], commit.subject))
    return tip.id


def _replayed(objects: Objects, branch: _Branch, merged: Sha) -> Replayed:
    records = objects.changes(branch.base.id, merged)
    paths = tuple(record.path for record in records)
    tree = tree_id(objects.commit(merged).tree)
    return Replayed(
        merge=Merge(branch.base.id, merged, tree, paths),
        changes=records,
        author_changes=objects.changes(branch.fork.id, branch.head.id),
        commits=len(objects.first_parents(branch.base.id, merged)),
    )
