"""What was green once and need not run again: verdicts by tree and gate, step results by inputs.

A merged commit whose tree passed the same gate before is verified without a run, and a step that
names its inputs is not run again while its command, its surroundings and those files are the same.
Both are sealed by the worker that saw them pass, so that an entry that somebody wrote into Redis
counts for nothing. What a step passed with beside its named inputs may be a change that never
lands, so its result counts only for the same change, and for commits that contain the one it was
on. Nothing is kept of a gate with network or external checks, which ask a world
that changes, of one in an image that is named by a tag, which may move, nor of a flaky pass.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from mergebot.domain.candidate import Candidate, Merge, Verified
from mergebot.domain.contracts import FileAt
from mergebot.domain.decision import Decision
from mergebot.domain.gate import GateSpec, Step, StepResult, Verdict
from mergebot.domain.ids import Lane, Sha, short
from mergebot.domain.patterns import Cover, Pattern, parse
from mergebot.domain.scope import Change


@dataclass(frozen=True, slots=True)
class KeptVerdict:
    """The green run `run` of the gate `spec` on `tree`, as the commit `tested`; sealed."""

    tree: str
    spec: str
    run: str
    tested: Sha
    worker: str
    steps: tuple[StepResult, ...]
    seal: str = ""

    @property
    def name(self) -> str:
        """Return what it is kept by."""
        return verdict_name(self.tree, self.spec)


@dataclass(frozen=True, slots=True)
class KeptStep:
    """A step that passed in the run `run`, on the commit `tested`; sealed for its name."""

    run: str
    tested: Sha
    step: StepResult
    seal: str = ""

    @property
    def reused(self) -> StepResult:
        """Return the result as it counts where the step was not run again."""
        return replace(self.step, seconds=0.0, kept=self.run)


def verdict_name(tree: str, spec: str) -> str:
    """Return what the verdict of a gate on a tree is kept by."""
    return _digest(["verdict", tree, spec])


def step_name(spec: GateSpec, step: Step, files: Sequence[FileAt], caches: str) -> str | None:
    """Return what a step's result is kept by, None for one that names no inputs.

    `caches` is the identity of what the gate's setup left for it.
    """
    if not step.inputs or not may_keep(spec):
        return None
    patterns = [found for text in step.inputs if isinstance(found := parse(text), Pattern)]
    cover = Cover(patterns)
    read = sorted((each.path, each.mode, each.id) for each in files if cover.covers(each.path))
    surroundings = [spec.environment, *([spec.image] if spec.image else [])]
    return _digest(["step", step.name, step.run, *surroundings, caches, step.inputs, read])


def own_name(name: str, changes: Sequence[Change]) -> str:
    """Return what a result is kept by for commits that make the very same change to their base."""
    rows = sorted((each.path, each.new_mode, each.new_id) for each in changes)
    return _digest(["own", name, rows])


def may_keep(spec: GateSpec) -> bool:
    """Tell whether the gate's results depend on the commit alone."""
    return not spec.network and not spec.external.checks and not spec.image_moves


def worth_keeping(step: StepResult) -> bool:
    """Tell whether a result may stand for later runs: it ran, and passed at once."""
    return step.exit_code == 0 and not step.flaky and not step.kept


def verdict_text(lane: Lane, kept: KeptVerdict) -> str:
    """Return what the seal of a kept verdict is over."""
    document = asdict(kept) | {"steps": [_row(each) for each in kept.steps], "seal": ""}
    return _sealed({"lane": lane.key, "kept": "verdict", **document})


def step_text(lane: Lane, name: str, kept: KeptStep) -> str:
    """Return what the seal of a kept step is over."""
    document = asdict(kept) | {"step": _row(kept.step), "seal": ""}
    return _sealed({"lane": lane.key, "kept": "step", "name": name, **document})


def kept_of(verdict: Verdict) -> KeptVerdict | None:
    """Return the kept verdict that a candidate's rests on, None where its own run was green."""
    if verdict.tested is None:
        return None
    return KeptVerdict(
        tree=verdict.tree,
        spec=verdict.spec,
        run=verdict.run,
        tested=verdict.tested,
        worker=verdict.worker,
        steps=verdict.steps,
        seal=verdict.seal,
    )


def verify(
    decision: Decision, taken: Sequence[tuple[Candidate, Merge]], kept: KeptVerdict
) -> Decision:
    """Verify candidates, replayed each on the one before, by the kept verdict of the last tree."""
    first, last = taken[0][1], taken[-1][1]
    verdict = Verdict(
        base=first.base,
        merged=last.merged,
        tree=last.tree,
        run=kept.run,
        spec=kept.spec,
        worker=kept.worker,
        steps=kept.steps,
        group=tuple(each.pr for each, _ in taken) if len(taken) > 1 else (),
        seal=kept.seal,
        tested=kept.tested,
    )
    text = (
        f"replayed on {short(first.base)} as {short(last.merged)}, whose tree was green before as"
        f" {short(kept.tested)}: no gate is needed"
    )
    return decision.move_all([(each, Verified(merge, verdict)) for each, merge in taken], text)


def _row(step: StepResult) -> Mapping[str, object]:
    return asdict(step) | {"seconds": float(step.seconds)}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()


def _sealed(document: Mapping[str, object]) -> str:
    return json.dumps(document, sort_keys=True, ensure_ascii=True)
