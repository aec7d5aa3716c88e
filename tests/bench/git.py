"""git alone: replays, workspaces and landings at 1,000 and 20,000 files, against what one would script.

The repositories are made on the spot, on this machine's disk, and reached by file://. The last row
is the live one: from the moment at which a verdict is recorded until the trunk has moved.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from mergebot.adapters.git.mirrors import GitMirrors, MirrorGit
from mergebot.adapters.workspaces import DirectoryWorkspaces
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.policy import Method
from mergebot.domain.pulls import Repository
from mergebot.domain.receipts import Receipt
from mergebot.ports.git import Push, PushOutcome, Replayed, ReplayRequest
from tests.bench.fleet import commit, git
from tests.bench.report import Row, Samples, at_least, at_most
from tests.bench.verdicts import verdict_to_trunk

SMALL, LARGE = 1_000, 20_000
ROUNDS = 7
FRESH_ROUNDS = 2
PER_DIRECTORY = 50


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with pull requests, the bot's mirror of it, and a clone that somebody works in."""

    home: Path
    remote: Path
    mirror: MirrorGit
    clone: Path

    @property
    def url(self) -> str:
        """Return where the repository is fetched from."""
        return f"file://{self.remote}"

    @property
    def tip(self) -> Sha:
        """Return the trunk's tip on the remote."""
        return parse_sha(git(self.remote, "rev-parse", "refs/heads/main"))

    def head(self, pull: int) -> Sha:
        """Return a pull request's head."""
        return parse_sha(git(self.remote, "rev-parse", f"refs/pull/{pull}/head"))


def measure() -> Iterator[Row]:
    """Measure git's own costs, then the critical section of the whole product."""
    with TemporaryDirectory(prefix="mergebot-bench-git-") as home:
        small = _place(Path(home) / "small", SMALL)
        large = _place(Path(home) / "large", LARGE)
        yield from _replays(small, large)
        yield from _landings(large)
    yield from verdict_to_trunk()


def _replays(small: Place, large: Place) -> Iterator[Row]:
    quick, flat, rebase = Samples(), Samples(), Samples()
    for pull in range(1, ROUNDS + 1):
        flat.add(_timed(_replay, small, small.tip, small.head(pull)))
        quick.add(_timed(_replay, large, large.tip, large.head(pull)))
        rebase.add(_timed(_rebase, large, large.tip, large.head(pull)))
    detail = f"replay {_ms(quick)}, checkout and rebase {_ms(rebase)}; medians of {ROUNDS}"
    faster = rebase.median / quick.median
    yield Row("git", "replay at 20,000 files: times faster", faster, "x", at_least(15), detail)
    detail = f"{_ms(quick)} against {_ms(flat)}"
    grows = quick.median / flat.median
    yield Row("git", "replay: 20,000 over 1,000 files", grows, "x", at_most(1.3), detail)


def _landings(large: Place) -> Iterator[Row]:
    ours, tree, clone = Samples(), Samples(), Samples()
    pull = ROUNDS
    first = _timed(_first_workspace, large)
    yield Row(
        "git", "the first workspace on a host", first, "s", None, "its tree is kept for a day"
    )
    for _ in range(FRESH_ROUNDS):
        for sample, way in ((ours, _land), (tree, _land_by_worktree), (clone, _land_by_clone)):
            pull += 1
            sample.add(_timed(way, large, large.tip, pull))
    detail = f"fetch, replay, workspace, push {_ms(ours)}; fresh work tree {_ms(tree)}, clone {_ms(clone)}"
    share = ours.median / tree.median
    yield Row("git", "landing over a fresh work tree's", share, "x", at_most(1 / 25), detail)
    share = ours.median / clone.median
    yield Row("git", "landing over a fresh clone's", share, "x", at_most(1 / 40))


def _replay(place: Place, base: Sha, head: Sha) -> Sha:
    done = place.mirror.replay(ReplayRequest(base, head, Method.REBASE, "", ""))
    assert isinstance(done, Replayed), done
    return done.merge.merged


def _rebase(place: Place, base: Sha, head: Sha) -> None:
    git(place.clone, "checkout", "--quiet", "--detach", head)
    git(place.clone, "rebase", "--quiet", base)


def _first_workspace(place: Place) -> None:
    workspaces = DirectoryWorkspaces(place.home / "rooms")
    room = workspaces.create("first")
    place.mirror.export(place.tip, room)
    workspaces.destroy(room)


def _land(place: Place, base: Sha, pull: int) -> None:
    """Land as the bot does, with a workspace for the gate that is made and thrown away."""
    head = place.mirror.fetch("main", [pull]).head
    assert head is not None
    merged = _replay(place, base, head)
    workspaces = DirectoryWorkspaces(place.home / "rooms")
    room = workspaces.create(f"run-{pull}")
    place.mirror.export(merged, room)
    receipt = Receipt('{"v":1}')
    pushed = place.mirror.push_landing(_push(base, merged, receipt))
    workspaces.destroy(room)
    assert pushed is PushOutcome.LANDED, pushed


def _push(base: Sha, merged: Sha, receipt: Receipt) -> Push:
    return Push("main", base, merged, receipt, "", merged)


def _land_by_worktree(place: Place, base: Sha, pull: int) -> None:
    room = place.home / f"tree-{pull}"
    local = f"refs/pulls/{pull}"
    git(place.clone, "fetch", "--quiet", "origin", "main", f"+refs/pull/{pull}/head:{local}")
    git(place.clone, "worktree", "add", "--quiet", "--detach", str(room), local)
    _finish_by_hand(room, base)
    git(place.clone, "worktree", "remove", "--force", str(room))


def _land_by_clone(place: Place, base: Sha, pull: int) -> None:
    room = place.home / f"clone-{pull}"
    git(place.home, "clone", "--quiet", place.url, str(room))
    git(room, "fetch", "--quiet", "origin", f"refs/pull/{pull}/head")
    git(room, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    _finish_by_hand(room, base)
    shutil.rmtree(room)


def _finish_by_hand(room: Path, base: Sha) -> None:
    git(room, "rebase", "--quiet", base)
    git(room, "push", "--quiet", "origin", "HEAD:refs/heads/main")


def _place(home: Path, files: int) -> Place:
    """Make a repository of so many files, with a trunk that moved since its pull requests began."""
    home.mkdir()
    remote = home / "remote.git"
    git(home, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    tree = {f"d{n // PER_DIRECTORY}/f{n}.txt": f"line {n}\n" * 20 for n in range(files)}
    pulls = ROUNDS + 3 * FRESH_ROUNDS
    stream = [commit(1, "refs/heads/main", tree)]
    for n in range(1, pulls + 1):
        edit = {f"d{n}/f{n * PER_DIRECTORY}.txt": f"changed {n}\n"}
        stream.append(commit(n + 1, f"refs/pull/{n}/head", edit, ":1"))
    stream.append(commit(pulls + 2, "refs/heads/main", {"d0/moved.txt": "on\n"}, ":1"))
    git(remote, "fast-import", "--quiet", stdin="".join(stream).encode())
    clone = home / "clone"
    git(home, "clone", "--quiet", f"file://{remote}", str(clone))
    git(clone, "fetch", "--quiet", "origin", "+refs/pull/*/head:refs/pulls/*")
    repository = Repository(1, "o/r", "main", f"file://{remote}", private=False, archived=False)
    mirror = GitMirrors(home / "mirrors", lambda: "", ("file",)).of(repository)
    mirror.fetch("main", list(range(1, ROUNDS + 1)))
    return Place(home, remote, mirror, clone)


def _timed(work: Callable[..., object], *arguments: object) -> float:
    begun = monotonic()
    work(*arguments)
    return monotonic() - begun


def _ms(samples: Samples) -> str:
    return f"{samples.median * 1000:.0f} ms"
