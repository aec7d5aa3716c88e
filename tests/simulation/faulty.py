"""Ports that fail: each call is a place where its caller may be set aside, die, or be lied to."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

from mergebot.adapters.memory.forge import MemoryForge
from mergebot.adapters.memory.git import MemoryGit, MemoryMirrors
from mergebot.ports.errors import Unavailable
from mergebot.ports.forge import Forge, Repository
from mergebot.ports.git import Git, Mirrors
from tests.simulation.moods import Mood
from tests.simulation.stage import Stage

STALE_FORGE = frozenset({"pull", "open_pulls", "label_events", "label_removals"})
STALE_GIT = frozenset({"fetch", "remote_heads", "heads_soon"})
REMOTE_GIT = STALE_GIT | {
    *("push_landing", "keep_candidate", "drop_candidate", "receipts", "fence"),
    *("push_trial", "drop_trial", "branches", "halt", "replace_halt"),
}
LAG_MAX_S = 45.0
ASKING = ("merge-queue", "merge-queue-fix")
"""Labels that put a pull request into the queue."""

Seen = Callable[[str, tuple[object, ...], object], None]


class Lagging(Protocol):
    """What can answer from the past for a moment."""

    def lagging(self, lag_s: float) -> AbstractContextManager[None]:
        """Let reads meanwhile come from `lag_s` seconds ago."""
        ...


class Faulty:
    """Stands before a port: every method of it may fail, before it did anything or after."""

    def __init__(self, stage: Stage, mood: Mood, port: str, real: object) -> None:
        self._stage = stage
        self._mood = mood
        self._port = port
        self._real = real
        self._stale: frozenset[str] = frozenset()
        self._past: Lagging | None = None
        self._remote: frozenset[str] | None = None
        self._seen: Seen | None = None

    def seen_by(self, seen: "Seen") -> "Faulty":
        """Let `seen` hear of each call that had its effect, whatever its caller hears."""
        self._seen = seen
        return self

    def answering_from_the_past(self, names: frozenset[str], past: Lagging) -> "Faulty":
        """Let the methods `names` answer from the past now and then."""
        self._stale, self._past = names, past
        return self

    def failing_only_in(self, names: frozenset[str]) -> "Faulty":
        """Let every method but `names` work without fail: it stays on this host."""
        self._remote = names
        return self

    def __getattr__(self, name: str) -> Any:
        made = getattr(self._real, name)
        if callable(made) and (self._remote is None or name in self._remote):
            made = self._wrapped(name, made)
        self.__dict__[name] = made
        return made

    def _wrapped(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        stage, mood, port, seen = self._stage, self._mood, self._port, self._seen
        past = self._past if name in self._stale else None

        fails, forgets = (kind in mood.rates for kind in ("error_before", "error_after"))
        notes = name == "pull"

        def plain(*args: object, **named: object) -> object:
            stage.point()
            result = real(*args, **named)
            if seen is not None:
                seen(name, args, result)
            stage.point()
            return result

        def call(*args: object, **named: object) -> object:
            stage.point()
            if fails and mood.strikes("error_before"):
                stage.tally["error_before"] += 1
                stage.tell(f"{port}.{name} fails before it did anything")
                raise Unavailable(f"{port}.{name} did not answer")
            lag_s = 0.0
            if past is not None and mood.strikes("stale_read"):
                stage.tally["stale_read"] += 1
                lag_s = mood.rng.uniform(1.0, LAG_MAX_S)
                stage.tell(f"{port}.{name} answers from {lag_s:.0f} s ago")
                with past.lagging(lag_s):
                    result = real(*args, **named)
            else:
                result = real(*args, **named)
            if seen is not None:
                seen(name, args, result)
            if notes and stage.current is not None:
                stage.current.notes[f"pull {args[1]}"] = stage.clock.now() - lag_s
            if forgets and mood.strikes("error_after"):
                stage.tally["error_after"] += 1
                stage.tell(f"{port}.{name} did it, and its answer was lost")
                raise Unavailable(f"{port}.{name} did not answer clearly")
            stage.point()
            return result

        return call if fails or forgets or notes or past is not None else plain


class FaultyMirrors:
    """The mirrors of one host, seen by one actor; what needs the remote may fail."""

    def __init__(self, stage: Stage, mood: Mood, real: MemoryMirrors) -> None:
        self._stage, self._mood, self._real = stage, mood, real
        self._made: dict[int, Git] = {}

    def of(self, repository: Repository) -> Git:
        """Return the repository's git; the same mirror each time."""
        if repository.id not in self._made:
            git = cast("MemoryGit", self._real.of(repository))
            wrapped = Faulty(self._stage, self._mood, "git", git)
            wrapped.failing_only_in(REMOTE_GIT).answering_from_the_past(STALE_GIT, git.remote)
            self._made[repository.id] = cast("Git", wrapped)
        return self._made[repository.id]


def faulty_forge(
    stage: Stage, mood: Mood, forge: MemoryForge, meddle: Callable[[int], None]
) -> Forge:
    """Return the forge with faults; who the bot is needs no request.

    Whoever queues by its label may die over it, while somebody pushes: `meddle` with the number.
    """
    remote = frozenset(name for name in dir(Forge) if not name.startswith("_")) - {"me"}
    wrapped = Faulty(stage, mood, "forge", forge).failing_only_in(remote)
    usual = wrapped.add_label

    def add_label(repo: str, number: int, label: str) -> None:
        job = stage.current
        if label not in ASKING or job is None or not mood.strikes("label_crash"):
            usual(repo, number, label)
            return
        stage.tally["label_crash"] += 1
        before = mood.rng.random() < 0.6
        if before:
            meddle(number)
            stage.clock.at += mood.rng.uniform(0.0, 3.0)
        usual(repo, number, label)
        if not before:
            stage.clock.at += mood.rng.uniform(0.0, 3.0)
            meddle(number)
        stage.dies(job)

    wrapped.__dict__["add_label"] = add_label
    return cast("Forge", wrapped.answering_from_the_past(STALE_FORGE, forge))


def faulty_mirrors(stage: Stage, mood: Mood, mirrors: MemoryMirrors) -> Mirrors:
    """Return the mirrors of one host with faults."""
    return FaultyMirrors(stage, mood, mirrors)
