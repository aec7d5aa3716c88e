"""A worker's share in keeping: which steps of a gate are known, and what of it is worth keeping."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from mergebot.domain.gate import Passed, StepResult
from mergebot.domain.ids import Lane
from mergebot.domain.keeping import (
    KeptStep,
    KeptVerdict,
    may_keep,
    own_name,
    step_name,
    step_text,
    verdict_text,
    worth_keeping,
)
from mergebot.domain.lane import RunOrder
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Git
from mergebot.ports.kept import Kept
from mergebot.ports.signing import KEPT, Seals
from mergebot.services.vouching import genuine_step


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is kept for one lane, and the seals that make it count."""

    kept: Kept
    seals: Seals
    lane: Lane
    worker: str

    def names(self, git: Git, order: RunOrder, caches: str) -> Mapping[str, str]:
        """Return the names that results of the order's steps are kept by, by step."""
        spec = order.spec
        if not may_keep(spec) or not any(step.inputs for step in spec.steps):
            return {}
        files = git.files(order.merged)
        found = {step.name: step_name(spec, step, files, caches) for step in spec.steps}
        return {step: name for step, name in found.items() if name is not None}

    def known(self, git: Git, order: RunOrder, names: Mapping[str, str]) -> dict[str, StepResult]:
        """Return the results that stand for a run, by step; none while the store is away."""
        own = _own(git, order, names)
        with suppress(Unavailable):
            found = self.kept.kept_steps(self.lane, [*own.values(), *names.values()])
            good = {
                name: kept
                for name, kept in found.items()
                if worth_keeping(kept.step) and genuine_step(self.seals, self.lane, name, kept)
            }
            return {
                step: kept.reused
                for step, name in names.items()
                if (kept := good.get(own.get(step, "")) or _within(git, order, good.get(name)))
                is not None
            }
        return {}

    def keep(self, git: Git, order: RunOrder, names: Mapping[str, str], result: Passed) -> None:
        """Keep what a green run showed; that the store is away takes nothing from the run."""
        if not may_keep(order.spec):
            return
        with suppress(Unavailable):
            own = _own(git, order, names)
            fresh = {
                name: self._step(name, KeptStep(order.run, order.merged, step))
                for step in result.steps
                if step.name in names and worth_keeping(step)
                for name in (names[step.name], own.get(step.name))
                if name is not None
            }
            self.kept.keep_steps(self.lane, fresh)
            if not any(step.flaky for step in result.steps):
                self.kept.keep_verdict(self.lane, self._verdict(git, order, result))

    def _step(self, name: str, kept: KeptStep) -> KeptStep:
        return replace(kept, seal=self.seals.seal(KEPT, step_text(self.lane, name, kept)))

    def _verdict(self, git: Git, order: RunOrder, result: Passed) -> KeptVerdict:
        kept = KeptVerdict(
            tree=git.tree(order.merged),
            spec=order.spec.digest,
            run=order.run,
            tested=order.merged,
            worker=self.worker,
            steps=result.steps,
        )
        return replace(kept, seal=self.seals.seal(KEPT, verdict_text(self.lane, kept)))


def _own(git: Git, order: RunOrder, names: Mapping[str, str]) -> Mapping[str, str]:
    """Return the names for this very change; a run on the trunk itself makes none."""
    changes = git.changes(order.base, order.merged) if names else ()
    return {step: own_name(name, changes) for step, name in names.items()} if changes else {}


def _within(git: Git, order: RunOrder, kept: KeptStep | None) -> KeptStep | None:
    """Return a kept step if what it passed on is part of what is gated now."""
    if kept is None or not git.has(kept.tested):
        return None
    return kept if git.is_ancestor(kept.tested, order.merged) else None
