"""A host's mirror of a repository, over commits as values: what it never fetched it does not know."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mergebot.adapters.memory.objects import Commit, Objects, blob_id, tree_id
from mergebot.adapters.memory.remote import Remote
from mergebot.adapters.memory.replaying import replay
from mergebot.domain.contracts import FileAt
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.names import fold
from mergebot.domain.receipts import Receipt
from mergebot.domain.scope import Change, Mode
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.forge import Repository
from mergebot.ports.git import (
    Git,
    Mirrors,
    Push,
    PushOutcome,
    RemoteHeads,
    Replay,
    Replayed,
    ReplayRequest,
)

_BRANCHES = "refs/heads/"


@dataclass(slots=True)
class MemoryGit(Git):
    """One repository's git on one host; `me` is whom the remote takes it for."""

    remote: Remote
    me: Actor
    known: set[Sha] = field(default_factory=set)

    @property
    def _objects(self) -> Objects:
        return self.remote.objects

    def _bring(self, sha: Sha | None) -> Sha | None:
        if sha is not None:
            self.known |= self._objects.ancestors(sha)
        return sha

    def _commit(self, sha: Sha) -> Commit:
        if sha not in self.known:
            raise Unavailable(f"commit {sha} is not in this host's mirror")
        return self._objects.commit(sha)

    def fetch(self, trunk: str, pulls: Sequence[int]) -> RemoteHeads:
        """Bring in the trunk's tip and the heads of `pulls`; return the trunk's tip."""
        heads = self.remote.seen.heads
        brought = [self._bring(heads.get(f"refs/pull/{number:d}/head")) for number in pulls]
        head = brought[0] if len(brought) == 1 else None
        return RemoteHeads(self._bring(heads.get(f"refs/heads/{trunk}")), head)

    def remote_heads(self, trunk: str, pull: int) -> RemoteHeads:
        """Ask the remote, without bringing anything in."""
        heads = self.remote.seen.heads
        return RemoteHeads(heads.get(f"refs/heads/{trunk}"), heads.get(f"refs/pull/{pull:d}/head"))

    def heads_soon(
        self, trunk: str, pulls: Sequence[int]
    ) -> Callable[[], Mapping[int, RemoteHeads]]:
        """Ask the remote at once; there is nothing to wait for."""
        found = {pull: self.remote_heads(trunk, pull) for pull in pulls}
        return lambda: found

    def has(self, sha: Sha) -> bool:
        """Tell whether the commit is in the mirror."""
        return sha in self.known

    def is_ancestor(self, older: Sha, newer: Sha) -> bool:
        """Tell whether `newer` contains `older`; raises Unavailable when either is missing."""
        older_id, newer_id = self._commit(older).id, self._commit(newer).id
        return older_id in self._objects.ancestors(newer_id)

    def first_parents(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return the first-parent commits after `after` up to and including `upto`, oldest first."""
        return self._objects.first_parents(self._commit(after).id, self._commit(upto).id)

    def between(self, after: Sha, upto: Sha) -> Sequence[Sha]:
        """Return every commit that `upto` has and `after` has not, parents before their children."""
        return self._objects.between(self._commit(after).id, self._commit(upto).id)

    def fork_point(self, one: Sha, other: Sha) -> Sha | None:
        """Return the newest commit that both contain, None where they share none."""
        return self._objects.fork(self._commit(one).id, self._commit(other).id)

    def branches(self) -> Mapping[str, Sha]:
        """Return every branch on the remote, by name, with its tip."""
        heads = self.remote.seen.heads.items()
        return {ref.removeprefix(_BRANCHES): sha for ref, sha in heads if ref.startswith(_BRANCHES)}

    def bring(self, commits: Sequence[Sha]) -> None:
        """Bring in commits that the remote's branches have."""
        for sha in commits:
            self._bring(sha)

    def committed_at(self, sha: Sha) -> float:
        """Return when a commit was made; commits kept in memory bear no time."""
        self._commit(sha)
        return 0.0

    def files(self, sha: Sha) -> Sequence[FileAt]:
        """Return every file of a commit."""
        tree = self._commit(sha).tree
        return [FileAt(path, Mode.FILE, blob_id(text)) for path, text in sorted(tree.items())]

    def subject(self, sha: Sha) -> str:
        """Return the first line of a commit's message."""
        return self._commit(sha).subject

    def tree(self, sha: Sha) -> str:
        """Return the id of a commit's tree."""
        return tree_id(self._commit(sha).tree)

    def root_files(self, sha: Sha) -> str:
        """Return a digest of the files in a commit's top directory."""
        tree = self._commit(sha).tree
        return tree_id({path: content for path, content in tree.items() if "/" not in path})

    def read(self, sha: Sha, path: str) -> bytes | None:
        """Return a file as of a commit, or None where there is none."""
        content = self._commit(sha).tree.get(path)
        return None if content is None else content.encode()

    def blob(self, blob_id: str) -> bytes:
        """Return a file's content by its id."""
        return self._objects.blob(blob_id).encode()

    def replay(self, request: ReplayRequest) -> Replay:
        """Replay a head on a base; the same request gives the same commit anywhere."""
        self._commit(request.base)
        self._commit(request.head)
        result = replay(self._objects, request)
        if isinstance(result, Replayed):
            self._bring(result.merge.merged)
        return result

    def changes(self, base: Sha, merged: Sha) -> Sequence[Change]:
        """Return a record for every path that differs between two commits."""
        return self._objects.changes(self._commit(base).id, self._commit(merged).id)

    def patch(self, base: Sha, merged: Sha) -> str:
        """Return the names of what differs."""
        return "".join(f"{change.path}\n" for change in self.changes(base, merged))

    def twins(self, merged: Sha, base: Sha) -> Sequence[tuple[str, str]]:
        """Return new pairs of paths that some file systems take for one."""
        known = set(_pairs(self._commit(base)))
        return tuple(pair for pair in _pairs(self._commit(merged)) if pair not in known)

    def push_landing(self, push: Push) -> PushOutcome:
        """Land: trunk, note and the author's branch, all of them or none."""
        if not self.is_ancestor(push.base, push.merged):
            raise Refused(f"{push.merged} does not contain {push.base}, so it cannot land on it")
        trunk = f"refs/heads/{push.trunk}"
        heads = self.remote.now.heads
        if self.remote.now.fences.get(push.merged, -1) >= push.receipt.generation:
            return PushOutcome.FENCED
        if self._repeats(push):
            return PushOutcome.REPEATED
        if self.remote.now.halt:
            return PushOutcome.HALTED
        if heads.get(trunk) != push.base:
            return PushOutcome.TRUNK_MOVED
        if trunk in self.remote.protected:
            raise Refused("The forge refused to move the trunk: protected branch")
        refs: dict[str, Sha | None] = {trunk: push.merged}
        for each in push.all:
            head = f"refs/heads/{each.head_branch}"
            if not each.head_branch or head == trunk:
                continue
            if heads.get(head) != each.head or head in self.remote.protected:
                return PushOutcome.HEAD_REFUSED
            refs[head] = each.merged
        notes = {each.merged: each.receipt.text for each in push.all}
        self.remote.move(self.me, refs, notes)
        return PushOutcome.LANDED

    def _repeats(self, push: Push) -> bool:
        notes, own = self.remote.now.notes, {each.merged for each in push.all}
        brought = [sha for sha in self.between(push.base, push.merged) if sha in notes]
        return any(sha in own or Receipt(notes[sha]).trunk == push.trunk for sha in brought)

    def fence(self, merged: Sha, generation: int) -> Receipt | None:
        """Settle whether `merged` landed: no push of it up to `generation` lands from now on."""
        text = self.remote.now.notes.get(merged)
        if text is not None and Receipt(text).generation >= generation:
            return Receipt(text)
        self.remote.fence(merged, generation)
        return None

    def halt(self) -> str:
        """Return what the remote keeps of a halt, "" for none."""
        return self.remote.seen.halt

    def replace_halt(self, old: str, new: str) -> bool:
        """Keep `new` in the place of `old`; False where it is not `old` any more."""
        if self.remote.now.halt != old:
            return False
        self.remote.halt(new)
        return True

    def push_fork(self, fork: Repository, branch: str, *, old: Sha, new: Sha) -> None:
        """Refuse: of a fork only its pull requests' heads are kept here."""
        raise Refused(f"{fork.full_name} lets nobody push {new} over {old} on {branch}")

    def keep_candidate(self, pull: int, merged: Sha) -> None:
        """Publish a merged commit at refs/mergebot/candidate/<pull>."""
        self.remote.move(self.me, {_kept(pull): self._commit(merged).id}, {})

    def drop_candidate(self, pull: int) -> None:
        """Remove refs/mergebot/candidate/<pull>; one that is not there is no error."""
        self.remote.move(self.me, {_kept(pull): None}, {})

    def push_trial(self, pull: int, merged: Sha) -> None:
        """Publish a merged commit at the branch mergebot/trial/<pull>."""
        self.remote.move(self.me, {_trial(pull): self._commit(merged).id}, {})

    def drop_trial(self, pull: int) -> None:
        """Remove the branch mergebot/trial/<pull>; one that is not there is no error."""
        self.remote.move(self.me, {_trial(pull): None}, {})

    def receipts(self) -> Mapping[Sha, Receipt]:
        """Return every receipt on the remote's notes, by the commit it was written for."""
        return {sha: Receipt(text) for sha, text in self.remote.seen.notes.items()}

    def export(self, sha: Sha, into: str) -> None:
        """Write a commit's tree into the empty directory `into`."""
        for path, content in self._commit(sha).tree.items():
            file = Path(into, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)


@dataclass(slots=True)
class MemoryMirrors(Mirrors):
    """The mirrors of one host; `remotes` are the repositories by id."""

    remotes: Mapping[int, Remote]
    me: Actor
    made: dict[int, MemoryGit] = field(default_factory=dict)

    def of(self, repository: Repository) -> Git:
        """Return the repository's git; the same mirror each time."""
        if repository.id not in self.made:
            self.made[repository.id] = MemoryGit(self.remotes[repository.id], self.me)
        return self.made[repository.id]


def _pairs(commit: Commit) -> Sequence[tuple[str, str]]:
    alike: dict[str, list[str]] = {}
    for path in sorted(commit.tree):
        alike.setdefault(fold(path), []).append(path)
    return [(group[0], other) for group in alike.values() for other in group[1:]]


def _trial(pull: int) -> str:
    return f"refs/heads/mergebot/trial/{pull:d}"


def _kept(pull: int) -> str:
    return f"refs/mergebot/candidate/{pull:d}"
