"""Replaying a head on a base, in memory: no work tree, no index, the same result on every host.

A commit is picked onto a tip by merging it with a stand-in: the tip's tree as a sibling of the
commit, whose parent is then the merge base. That is what `git rebase` does, without its work tree.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from mergebot.adapters.git.command import GitDir, one_line
from mergebot.adapters.git.committer import Committer
from mergebot.adapters.git.messages import joined, made_by, rebased, squashed, stand_in
from mergebot.adapters.git.objects import (
    Commit,
    changes,
    path_text,
    raw_commit,
    read_commits,
    write_commit,
)
from mergebot.domain.candidate import Merge
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.policy import Method
from mergebot.domain.scope import Change
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import (
    Conflicted,
    EmptyReplay,
    LosesContent,
    Replay,
    Replayed,
    ReplayRequest,
)

REBASE_COMMITS_MAX = 1000
"""Of one PR: each costs about 10 ms, and a longer branch is better squashed."""


@dataclass(frozen=True, slots=True)
class Branch:
    """What a head adds to a base: its commits in topological order, the head last.

    `side` is what the head is merged with: the base, or, where the replay begins behind a commit
    that landed in another form, the base's tree as a child of that commit. `by` is who makes what
    has to be made anew.
    """

    base: Commit
    fork: Sha
    commits: tuple[Commit, ...]
    author_changes: tuple[Change, ...]
    side: Sha
    by: Committer

    @property
    def head(self) -> Commit:
        """Return the commit that the author proposes."""
        return self.commits[-1]

    @property
    def committer(self) -> bytes:
        """Return the committer of all that is made of it."""
        return made_by(self.by, self.head)

    @property
    def linear(self) -> bool:
        """Tell whether no commit is a merge."""
        return not any(commit.merges for commit in self.commits)


@dataclass(frozen=True, slots=True)
class Clash:
    """Two trees that do not merge."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Commits picked onto a base: the last one, its tree, and how many it took.

    `landed` is how many commits, counted from the first, the base contained already.
    """

    tip: Sha
    tree: str
    commits: int
    landed: int


def replay(git: GitDir, request: ReplayRequest, by: Committer) -> Replay:
    """Replay a head on a base; raises Unavailable when this host lacks what it needs."""
    branch = _branch(git, request, by)
    if not isinstance(branch, Branch):
        return branch
    if request.method is Method.REBASE:
        return _rebase(git, branch)
    whole = merge_trees(git, branch.side, request.head)
    if isinstance(whole, Clash):
        return Conflicted(whole.paths)
    if whole == branch.base.tree:
        return EmptyReplay(on_base=True)
    if request.method is Method.SQUASH:
        who = branch.committer
        made = squashed(request, tree=whole, commits=branch.commits, committer=who)
    else:
        made = joined(request, tree=whole, head=branch.head, committer=branch.committer)
    return _written(git, branch, made, tree=whole)


def merge_trees(git: GitDir, ours: str, theirs: str) -> str | Clash:
    """Return the tree of merging two commits, or where they clash."""
    answer = git.ask(
        "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs
    )
    tree, *names = answer.out.split(b"\0")
    if answer.code == 0 and not answer.cut:
        return tree.decode("ascii")
    if answer.code == 1 and not answer.cut:
        return Clash(tuple(sorted({path_text(name) for name in names if name})))
    raise Unavailable(f"git merge-tree failed here: {one_line(answer.err)}")


def _branch(git: GitDir, request: ReplayRequest, by: Committer) -> Branch | Replay:
    since = _since(git, request)
    span = f"{since or request.base}..{request.head}"
    options = ("--topo-order", "--reverse", "--boundary")
    listed = git.run("rev-list", *options, "--end-of-options", span).text.split()
    ids = [each for each in listed if not each.startswith("-")]
    if not ids:
        return EmptyReplay(on_base=True)
    # Each way from the head into the base's history leads through a boundary: where there is but
    # one, it is where they part.
    forks = [since] if since else [each[1:] for each in listed if each.startswith("-")]
    if len(forks) > 1:
        forks = git.ask("merge-base", "--end-of-options", request.base, request.head).text.split()
    if not forks:
        return Conflicted(())
    with ThreadPoolExecutor(1) as aside:
        changed = aside.submit(changes, git, forks[0], request.head)
        base, *commits = read_commits(git, [request.base, *ids])
    author_changes = changed.result()
    if not author_changes:
        return EmptyReplay(on_base=False)
    side = _write_stand_in(git, base.tree, since) if since else base.id
    return Branch(base, parse_sha(forks[0]), tuple(commits), author_changes, side, by)


def _since(git: GitDir, request: ReplayRequest) -> Sha | None:
    """Return where the replay begins, None for where head and base part."""
    if not request.since:
        return None
    since = parse_sha(request.since)

    def within(commit: Sha) -> bool:
        asked = ("merge-base", "--is-ancestor", "--end-of-options", since, commit)
        return git.ask(*asked).code == 0

    return since if within(request.head) and not within(request.base) else None


def _rebase(git: GitDir, branch: Branch) -> Replay:
    forward = branch.linear and branch.fork == branch.base.id
    if forward and branch.by.keeps(branch.commits):
        count = len(branch.commits)
        line = Line(branch.head.id, branch.head.tree, count, landed=0)
        return _replayed(branch, line, changes(git, branch.base.tree, line.tree))
    if len(branch.commits) > REBASE_COMMITS_MAX:
        raise Refused(
            f"The branch has {len(branch.commits)} commits and at most {REBASE_COMMITS_MAX} are "
            "replayed one by one; squash it first"
        )
    whole = merge_trees(git, branch.side, branch.head.id)
    if len(branch.commits) == 1:
        return _rebase_single(git, branch, whole)
    if branch.linear:
        return _rebase_linear(git, branch, whole)
    if isinstance(whole, Clash):
        return Conflicted(whole.paths)
    picked = _pick_all(git, branch, skip=0)
    if isinstance(picked, Clash) or picked.tree != whole:
        return LosesContent()
    return _landable(git, branch, picked)


def _rebase_single(git: GitDir, branch: Branch, whole: str | Clash) -> Replay:
    """One commit: merging it with the base is picking it, since the fork is its parent."""
    if isinstance(whole, Clash):
        return Conflicted(whole.paths)
    if whole == branch.base.tree:
        return EmptyReplay(on_base=True)
    who = branch.committer
    made = rebased(branch.head, tree=whole, parent=branch.base.id, committer=who)
    return _written(git, branch, made, tree=whole)


def _rebase_linear(git: GitDir, branch: Branch, whole: str | Clash) -> Replay:
    """Pick every commit; the result must be the merge of what the base did not contain already."""
    picked = _pick_all(git, branch, skip=0)
    if isinstance(picked, Clash) and (skip := _landed_before(git, branch)):
        picked = _pick_all(git, branch, skip=skip)
    if isinstance(picked, Clash):
        return Conflicted(whole.paths if isinstance(whole, Clash) else picked.paths)
    if picked.landed and picked.landed < len(branch.commits):
        last = branch.commits[picked.landed - 1]
        side = _write_stand_in(git, branch.base.tree, last.id)
        whole = merge_trees(git, side, branch.head.id)
    if isinstance(whole, Clash) and picked.landed < len(branch.commits):
        return Conflicted(whole.paths)
    if isinstance(whole, str) and picked.tree != whole:
        return Conflicted(tuple(change.path for change in changes(git, whole, picked.tree)))
    return _landable(git, branch, picked)


def _landable(git: GitDir, branch: Branch, line: Line) -> Replay:
    if line.tree == branch.base.tree:
        return EmptyReplay(on_base=True)
    return _replayed(branch, line, changes(git, branch.base.tree, line.tree))


def _pick_all(git: GitDir, branch: Branch, *, skip: int) -> Line | Clash:
    """Pick the commits after the first `skip` onto the base, without those that become empty."""
    parents = _parent_trees(git, branch)
    line = Line(branch.base.id, branch.base.tree, commits=0, landed=skip)
    for place, commit in enumerate(branch.commits[skip:], skip):
        if commit.merges:
            continue
        if not commit.parents:
            return Clash(())
        tree = _pick(git, commit, line)
        if isinstance(tree, Clash):
            return tree
        if tree == line.tree and commit.tree != parents[commit.parents[0]]:
            landed = place + 1 if line.landed == place else line.landed
            line = Line(line.tip, line.tree, line.commits, landed)
            continue
        made = rebased(commit, tree=tree, parent=line.tip, committer=branch.committer)
        line = Line(_write(git, branch, made), tree, line.commits + 1, line.landed)
    return line


def _pick(git: GitDir, commit: Commit, line: Line) -> str | Clash:
    side = _write_stand_in(git, line.tree, commit.parents[0])
    return merge_trees(git, side, commit.id)


def _parent_trees(git: GitDir, branch: Branch) -> dict[Sha, str]:
    trees = {commit.id: commit.tree for commit in branch.commits}
    outside = {c.parents[0] for c in branch.commits if c.parents and c.parents[0] not in trees}
    return trees | {commit.id: commit.tree for commit in read_commits(git, sorted(outside))}


def _landed_before(git: GitDir, branch: Branch) -> int:
    """Count the leading commits whose patch the base contains under another id."""
    span = f"{branch.base.id}...{branch.head.id}"
    options = ("--right-only", "--cherry-pick", "--no-merges", "--topo-order")
    left = set(git.run("rev-list", *options, "--end-of-options", span).text.split())
    ids = [commit.id for commit in branch.commits]
    return next((place for place, sha in enumerate(ids) if sha in left), len(ids))


def _written(git: GitDir, branch: Branch, made: Commit, *, tree: str) -> Replayed:
    """Store the one commit that a replay makes, while git tells what it changes."""
    with ThreadPoolExecutor(1) as aside:
        records = aside.submit(changes, git, branch.base.tree, tree)
        tip = _write(git, branch, made)
    return _replayed(branch, Line(tip, tree, commits=1, landed=0), records.result())


def _write(git: GitDir, branch: Branch, made: Commit) -> Sha:
    return write_commit(git, branch.by.object_of(made))


def _write_stand_in(git: GitDir, tree: str, parent: Sha) -> Sha:
    """Store a commit that only a merge looks at: nobody signs it, and it lands nowhere."""
    return write_commit(git, raw_commit(stand_in(tree=tree, parent=parent)))


def _replayed(branch: Branch, line: Line, records: tuple[Change, ...]) -> Replayed:
    paths = tuple(sorted({record.path for record in records}))
    merge = Merge(branch.base.id, line.tip, line.tree, paths)
    return Replayed(merge, records, branch.author_changes, line.commits)
