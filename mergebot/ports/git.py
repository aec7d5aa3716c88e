"""One repository's git on this host, and the remote behind it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from mergebot.domain.candidate import Merge
from mergebot.domain.contracts import FileAt
from mergebot.domain.ids import Sha
from mergebot.domain.policy import Method
from mergebot.domain.receipts import Receipt
from mergebot.domain.scope import Change
from mergebot.ports.forge import Repository


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A head to be replayed on a base.

    `subject` and `body` are the commit message of squash and merge; rebase keeps the author's.
    `since` is a commit that landed in another form: where the head contains it, and the base does
    not, only what follows it is replayed.
    """

    base: Sha
    head: Sha
    method: Method
    subject: str
    body: str
    since: str = ""


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The change does not merge; `paths` are the files that clash."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EmptyReplay:
    """Nothing is left of the change; `on_base` says that the base contains it already."""

    on_base: bool


@dataclass(frozen=True, slots=True)
class LosesContent:
    """A rebase would drop what the branch's merge commits hold."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The merged commit, and every change that it makes to its base."""

    merge: Merge
    changes: tuple[Change, ...]
    author_changes: tuple[Change, ...]
    commits: int


Replay = Replayed | Conflicted | EmptyReplay | LosesContent


@dataclass(frozen=True, slots=True)
class Carried:
    """A PR of a group that lands below the group's last one, with a commit and a note of its own."""

    merged: Sha
    receipt: Receipt
    head_branch: str
    head: Sha


@dataclass(frozen=True, slots=True)
class Push:
    """One atomic landing push.

    The trunk moves from `base` to `merged`, the notes ref gains `receipt` for `merged`, and, where
    `head_branch` is not empty, the author's branch moves from `head` to `merged`. The same, but for
    the trunk, is done for each of `below`.
    """

    trunk: str
    base: Sha
    merged: Sha
    receipt: Receipt
    head_branch: str
    head: Sha
    below: tuple[Carried, ...] = ()

    @property
    def all(self) -> tuple[Carried, ...]:
        """Return every PR that lands, the last one at the end."""
        last = Carried(self.merged, self.receipt, self.head_branch, self.head)
        return (*self.below, last)


class PushOutcome(IntEnum):
    """How a landing push ended. UNCLEAR must be read back before anything is concluded.

    FENCED: somebody else settled this landing meanwhile, so it may not happen any more.
    REPEATED: one of its commits has a receipt already, or it brings back another one that has a
    receipt of this trunk: it landed once, and lands no more.
    HALTED: a halt is kept beside the receipts.
    """

    LANDED = 0
    TRUNK_MOVED = 1
    HEAD_REFUSED = 2
    UNCLEAR = 3
    FENCED = 4
    REPEATED = 5
    HALTED = 6


@dataclass(frozen=True, slots=True)
class RemoteHeads:
    """What the remote's refs say now: the trunk's tip and a PR's head, None where there is none."""

    trunk: Sha | None
    head: Sha | None


class Git(Protocol):
    """One repository's git, on this host: a bare mirror and the remote behind it.

    Every method raises Unavailable when the remote does not answer and Refused when it says no.
    """

    def fetch(self, trunk: str, pulls: Sequence[int]) -> RemoteHeads:
        """Bring in the trunk's tip and the heads of `pulls`; return the trunk's tip.

        `head` is that of the only PR when one was asked for.
        """
        ...

    def remote_heads(self, trunk: str, pull: int) -> RemoteHeads:
        """Ask the remote, without bringing anything in."""
        ...

    def heads_soon(
        self, trunk: str, pulls: Sequence[int]
    ) -> Callable[[], Mapping[int, RemoteHeads]]:
        """Begin to ask the remote, once for all of `pulls`; what is returned waits for the answer."""
        ...

    def has(self, sha: Sha) -> bool:
        """Tell whether the commit is in the mirror."""
        ...

    def is_ancestor(self, older: Sha, newer: Sha) -> bool:
        """Tell whether `newer` contains `older`."""
        ...

    def first_parents(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return the first-parent commits after `after` up to and including `upto`, oldest first."""
        ...

    def between(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return every commit that `upto` has and `after` has not, on whatever line, oldest first."""
        ...

    def fork_point(self, one: Sha, other: Sha) -> Sha | None:
        """Return the newest commit that both contain, None where they share none."""
        ...

    def branches(self) -> Mapping[str, Sha]:
        """Return every branch on the remote, by name, with its tip; nothing is brought in."""
        ...

    def bring(self, commits: Sequence[Sha]) -> None:
        """Bring in commits that the remote's branches have, by their ids."""
        ...

    def committed_at(self, sha: Sha) -> float:
        """Return when a commit was made, as its committer's clock had it."""
        ...

    def files(self, sha: Sha) -> Sequence[FileAt]:
        """Return every file of a commit."""
        ...

    def subject(self, sha: Sha) -> str:
        """Return the first line of a commit's message."""
        ...

    def tree(self, sha: Sha) -> str:
        """Return the id of a commit's tree."""
        ...

    def root_files(self, sha: Sha) -> str:
        """Return a digest of the names and blob ids of the files in a commit's top directory."""
        ...

    def read(self, sha: Sha, path: str) -> bytes | None:
        """Return a file as of a commit, or None where there is none. `path` is the bot's own."""
        ...

    def blob(self, blob_id: str) -> bytes:
        """Return a blob's bytes, such as a symbolic link's target, by its hexadecimal id."""
        ...

    def replay(self, request: ReplayRequest) -> Replay:
        """Replay a head on a base, in memory; the same request gives the same commit anywhere."""
        ...

    def changes(self, base: Sha, merged: Sha) -> Sequence[Change]:
        """Return every record of the raw diff between two commits."""
        ...

    def patch(self, base: Sha, merged: Sha) -> str:
        """Return the diff as text for people, cut at limits.PATCH_BYTES_MAX."""
        ...

    def twins(self, merged: Sha, base: Sha) -> Sequence[tuple[str, str]]:
        """Return pairs of paths of `merged` that are equal under NFC and case folding.

        Pairs that `base` has already are left out.
        """
        ...

    def push_landing(self, push: Push) -> PushOutcome:
        """Land: one atomic push with leases; a lost notes lease alone is rebuilt and repeated."""
        ...

    def fence(self, merged: Sha, generation: int) -> Receipt | None:
        """Settle whether `merged` landed: no push of it up to `generation` lands from now on.

        Return the receipt of the one that did land, None where none did. The remote itself
        refuses a later one, so this holds however long its sender was paused.
        """
        ...

    def halt(self) -> str:
        """Return what the remote keeps of a halt beside the receipts, "" for none."""
        ...

    def replace_halt(self, old: str, new: str) -> bool:
        """Keep `new` in the place of `old`, "" for none; False where it is not `old` any more.

        While one is kept, no landing's push goes through.
        """
        ...

    def push_fork(self, fork: Repository, branch: str, *, old: Sha, new: Sha) -> None:
        """Move a fork's branch from `old` to `new`; raises Refused where it is not at `old`.

        A fork that does not lie on this repository's own host is refused before it is asked.
        """
        ...

    def keep_candidate(self, pull: int, merged: Sha) -> None:
        """Publish a merged commit at refs/mergebot/candidate/<pull>."""
        ...

    def drop_candidate(self, pull: int) -> None:
        """Remove refs/mergebot/candidate/<pull>; one that is not there is no error."""
        ...

    def push_trial(self, pull: int, merged: Sha) -> None:
        """Publish a merged commit at the branch mergebot/trial/<pull>, for others' CI."""
        ...

    def drop_trial(self, pull: int) -> None:
        """Remove the branch mergebot/trial/<pull>; one that is not there is no error."""
        ...

    def receipts(self) -> Mapping[Sha, Receipt]:
        """Return every receipt on the remote's notes ref, by the commit it was written for."""
        ...

    def export(self, sha: Sha, into: str) -> None:
        """Write a commit's tree into the empty directory `into`, beside a minimal repository.

        That repository holds this one commit and knows no remote and no credential; it is there
        for tools that need one, and it is never read again.
        """
        ...


class Mirrors(Protocol):
    """The git mirrors of this host."""

    def of(self, repository: Repository) -> Git:
        """Return the repository's git; the same mirror each time."""
        ...
