"""The ports `Git` and `Mirrors`, over one bare mirror per repository."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mergebot.adapters.git import layers, mirror, reading, remembered
from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.committer import UNSIGNED, Committer
from mergebot.adapters.git.notes import read_receipts
from mergebot.adapters.git.push import (
    drop_candidate,
    drop_trial,
    fence,
    keep_candidate,
    kept_halt,
    push_fork,
    push_landing,
    push_trial,
    replace_halt,
)
from mergebot.adapters.git.refs import branch_ref, pull_ref
from mergebot.adapters.git.remote import Remote
from mergebot.domain.contracts import FileAt
from mergebot.domain.ids import Sha
from mergebot.domain.receipts import Receipt
from mergebot.domain.scope import Change
from mergebot.ports.forge import Repository
from mergebot.ports.git import Git, Mirrors, Push, PushOutcome, RemoteHeads, Replay, ReplayRequest

_beside = ThreadPoolExecutor(4, "git-heads")
"""Asks remotes while their caller does something else; its threads start in the process that asks."""


@dataclass(frozen=True, slots=True)
class GitMirrors(Mirrors):
    """The mirrors of this host, one directory per repository id under `root`.

    `token` is asked before every exchange with the forge; `protocols` are the only ways to it, and
    `committer` is who makes the commits that are made anew.
    """

    root: Path
    token: Callable[[], str]
    protocols: tuple[str, ...] = ("https", "http")
    committer: Committer = UNSIGNED

    def of(self, repository: Repository) -> "MirrorGit":
        """Return the repository's git; raises Refused when its mirror is not the bot's own."""
        git = mirror.open_mirror(self.root / f"{repository.id:d}.git")
        remote = Remote(git, repository.clone_url, self.token, self.protocols)
        return MirrorGit(remote, self.committer)


@dataclass(frozen=True, slots=True)
class MirrorGit(Git):
    """One repository's git: a mirror on this host and the remote behind it."""

    remote: Remote
    committer: Committer = UNSIGNED

    @property
    def local(self) -> GitDir:
        """Return the mirror."""
        return self.remote.git

    def fetch(self, trunk: str, pulls: Sequence[int]) -> RemoteHeads:
        """Bring in the trunk's tip and the heads of `pulls`, in one connection."""
        return mirror.fetch_heads(self.remote, trunk, pulls)

    def remote_heads(self, trunk: str, pull: int) -> RemoteHeads:
        """Ask the remote, without bringing anything in."""
        return self._heads(trunk, [pull])[pull]

    def heads_soon(
        self, trunk: str, pulls: Sequence[int]
    ) -> Callable[[], Mapping[int, RemoteHeads]]:
        """Begin to ask the remote in a thread; what is returned waits for the answer."""
        return _beside.submit(self._heads, trunk, pulls).result

    def _heads(self, trunk: str, pulls: Sequence[int]) -> Mapping[int, RemoteHeads]:
        there = self.remote.refs(branch_ref(trunk), *map(pull_ref, pulls))
        tip = there.get(branch_ref(trunk))
        return {pull: RemoteHeads(tip, there.get(pull_ref(pull))) for pull in pulls}

    def has(self, sha: Sha) -> bool:
        """Tell whether the commit is in the mirror."""
        return remembered.has(self.local, sha)

    def is_ancestor(self, older: Sha, newer: Sha) -> bool:
        """Tell whether `newer` contains `older`."""
        return remembered.is_ancestor(self.local, older, newer)

    def first_parents(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return the first-parent commits after `after` up to and including `upto`."""
        return reading.first_parents(self.local, after, upto)

    def between(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return every commit that `upto` has and `after` has not, parents before their children."""
        return reading.between(self.local, after, upto)

    def fork_point(self, one: Sha, other: Sha) -> Sha | None:
        """Return the newest commit that both contain, None where they share none."""
        return reading.fork_point(self.local, one, other)

    def branches(self) -> Mapping[str, Sha]:
        """Return every branch on the remote, by name, with its tip."""
        return self.remote.branches()

    def bring(self, commits: Sequence[Sha]) -> None:
        """Bring in commits that the remote's branches have, by their ids."""
        missing = [sha for sha in commits if not remembered.has(self.local, sha)]
        mirror.fetch_commits(self.remote, missing)

    def committed_at(self, sha: Sha) -> float:
        """Return when a commit was made, as its committer's clock had it."""
        return reading.committed_at(self.local, sha)

    def files(self, sha: Sha) -> Sequence[FileAt]:
        """Return every file of a commit."""
        return reading.files(self.local, sha)

    def subject(self, sha: Sha) -> str:
        """Return the first line of a commit's message."""
        return reading.subject(self.local, sha)

    def tree(self, sha: Sha) -> str:
        """Return the id of a commit's tree."""
        return reading.tree(self.local, sha)

    def root_files(self, sha: Sha) -> str:
        """Return a digest of the files in a commit's top directory."""
        return reading.root_files(self.local, sha)

    def read(self, sha: Sha, path: str) -> bytes | None:
        """Return a file as of a commit, or None where there is none."""
        return reading.read(self.local, sha, path)

    def blob(self, blob_id: str) -> bytes:
        """Return a blob's bytes by its hexadecimal id."""
        return reading.blob(self.local, blob_id)

    def replay(self, request: ReplayRequest) -> Replay:
        """Replay a head on a base, in memory.

        `commits` of the result counts those that the trunk's first-parent line gains.
        """
        return remembered.replayed(self.local, request, self.committer)

    def changes(self, base: Sha, merged: Sha) -> Sequence[Change]:
        """Return every record of the raw diff between two commits."""
        return remembered.changes(self.local, base, merged)

    def patch(self, base: Sha, merged: Sha) -> str:
        """Return the diff as text for people, cut after a whole line."""
        return reading.patch(self.local, base, merged)

    def twins(self, merged: Sha, base: Sha) -> Sequence[tuple[str, str]]:
        """Return new pairs of paths, directories too, that some file systems take for one."""
        return remembered.twins(self.local, merged, base)

    def push_landing(self, push: Push) -> PushOutcome:
        """Land: one atomic push with leases."""
        return push_landing(self.remote, push)

    def fence(self, merged: Sha, generation: int) -> Receipt | None:
        """Settle whether `merged` landed: no push of it up to `generation` lands from now on."""
        return fence(self.remote, merged, generation)

    def halt(self) -> str:
        """Return what the remote keeps of a halt beside the receipts, "" for none."""
        return kept_halt(self.remote)

    def replace_halt(self, old: str, new: str) -> bool:
        """Keep `new` in the place of `old`; False where it is not `old` any more."""
        return replace_halt(self.remote, old, new)

    def push_fork(self, fork: Repository, branch: str, *, old: Sha, new: Sha) -> None:
        """Move a fork's branch from `old` to `new`; raises Refused where it is not at `old`."""
        push_fork(self.remote.beside(fork.clone_url), branch, old=old, new=new)

    def keep_candidate(self, pull: int, merged: Sha) -> None:
        """Publish a merged commit at refs/mergebot/candidate/<pull>."""
        keep_candidate(self.remote, pull, merged)

    def drop_candidate(self, pull: int) -> None:
        """Remove refs/mergebot/candidate/<pull>."""
        drop_candidate(self.remote, pull)

    def push_trial(self, pull: int, merged: Sha) -> None:
        """Publish a merged commit at the branch mergebot/trial/<pull>."""
        push_trial(self.remote, pull, merged)

    def drop_trial(self, pull: int) -> None:
        """Remove the branch mergebot/trial/<pull>."""
        drop_trial(self.remote, pull)

    def receipts(self) -> Mapping[Sha, Receipt]:
        """Return every receipt on the remote's notes ref, by the commit it was written for."""
        tip = mirror.fetch_notes(self.remote)
        return read_receipts(self.local, tip) if tip else {}

    def export(self, sha: Sha, into: str) -> None:
        """Write a commit's tree into the empty directory `into`, beside a minimal repository."""
        layers.export(self.local, sha, Path(into))
