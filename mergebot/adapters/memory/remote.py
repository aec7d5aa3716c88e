"""A repository on the forge as git sees it: refs that move by compare-and-swap, and notes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from mergebot.adapters.memory.objects import Objects, Tree
from mergebot.domain.ids import Actor, Sha
from mergebot.ports.basics import Clock


@dataclass(frozen=True, slots=True)
class RefMove:
    """One ref that moved: from `old` to `new`, None where there was or is none."""

    ref: str
    old: Sha | None
    new: Sha | None


@dataclass(frozen=True, slots=True)
class Moved:
    """Refs that moved together, who moved them, and when."""

    at: float
    by: Actor
    refs: tuple[RefMove, ...]


@dataclass(frozen=True, slots=True)
class Refs:
    """Every ref, every receipt, every fence and the halt as of one moment."""

    at: float
    heads: Mapping[str, Sha]
    notes: Mapping[Sha, str]
    fences: Mapping[Sha, int] = field(default_factory=dict)
    halt: str = ""


@dataclass(slots=True)
class Remote:
    """One repository's git on the forge.

    `protected` are refs that the bot may not move. `lag_s` lets what is read come from the past,
    as forges answer from replicas; what is written always meets the present.
    """

    clock: Clock
    objects: Objects = field(default_factory=Objects)
    history: list[Refs] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)
    protected: set[str] = field(default_factory=set)
    lag_s: float = 0.0
    told: list[Callable[[Moved], None]] = field(default_factory=list)

    @property
    def now(self) -> Refs:
        """Return the refs as they are."""
        return self.history[-1] if self.history else Refs(0.0, {}, {})

    @property
    def seen(self) -> Refs:
        """Return the refs as a reader finds them, from `lag_s` seconds ago."""
        return self.as_of(self.clock.now() - self.lag_s) if self.lag_s else self.now

    def as_of(self, at: float) -> Refs:
        """Return the refs as they were; before the first push, as after it."""
        past = (refs for refs in reversed(self.history) if refs.at <= at)
        return next(past, self.history[0] if self.history else self.now)

    @contextmanager
    def lagging(self, lag_s: float) -> Iterator[None]:
        """Let what is read meanwhile come from `lag_s` seconds ago."""
        self.lag_s = lag_s
        try:
            yield
        finally:
            self.lag_s = 0.0

    def head(self, branch: str) -> Sha | None:
        """Return a branch's tip as it is."""
        return self.now.heads.get(f"refs/heads/{branch}")

    def commit(self, tree: Tree, subject: str, *parents: Sha) -> Sha:
        """Write a commit that no ref names yet."""
        return self.objects.write(tree, parents, subject)

    def move(self, by: Actor, refs: Mapping[str, Sha | None], notes: Mapping[Sha, str]) -> None:
        """Move refs and add notes, all at once."""
        before = self.now
        heads = {**before.heads, **{ref: sha for ref, sha in refs.items() if sha is not None}}
        for ref, sha in refs.items():
            if sha is None:
                heads.pop(ref, None)
        at = self.clock.now()
        self.history.append(replace(before, at=at, heads=heads, notes={**before.notes, **notes}))
        moved = [RefMove(ref, before.heads.get(ref), sha) for ref, sha in refs.items()]
        event = Moved(at, by, tuple(each for each in moved if each.old != each.new))
        self.moves.append(event)
        for tell in self.told:
            tell(event)

    def fence(self, merged: Sha, generation: int) -> None:
        """Note on the remote that no push of `merged` up to `generation` may land any more."""
        now = self.now
        fences = {**now.fences, merged: generation}
        self.history.append(replace(now, at=self.clock.now(), fences=fences))

    def halt(self, text: str) -> None:
        """Keep a halt on the remote, "" for none."""
        self.history.append(replace(self.now, at=self.clock.now(), halt=text))

    def push(self, by: Actor, branch: str, sha: Sha) -> None:
        """Move a branch, wherever it was."""
        self.move(by, {f"refs/heads/{branch}": sha}, {})
