"""What counts of a record that others might have written to: only what this installation sealed.

Redis keeps results, but what passed was sealed by the worker that saw it pass, and what landed was
signed. A result without its seal is no verdict, whoever wrote it there.
"""

from dataclasses import replace

import structlog

from mergebot.domain.decision import Decision
from mergebot.domain.dsse import Signature, enclosed, encoded, envelope_of, statement
from mergebot.domain.gate import Gated, GateSpec, NoVerdict, Passed, Verdict, sealed_text
from mergebot.domain.ids import Lane
from mergebot.domain.keeping import (
    KeptStep,
    KeptVerdict,
    kept_of,
    may_keep,
    step_text,
    verdict_name,
    verdict_text,
)
from mergebot.domain.lane import Run
from mergebot.domain.receipts import Receipt
from mergebot.ports.signing import KEPT, VERDICTS, Notary, Seals
from mergebot.services.parts import Parts

log = structlog.get_logger()

UNSEALED = (
    "its green result was not sealed with this installation's key: give every host the same"
    " MERGEBOT_SIGNING_KEY_FILE"
)


def with_vouched_runs(seals: Seals, decision: Decision) -> Decision:
    """Return the decision with each green run that nobody sealed turned into one that says nothing."""
    snapshot = decision.snapshot
    lane = snapshot.lane
    forged = {name: run for name, run in snapshot.runs.items() if not _genuine(seals, lane, run)}
    if not forged:
        return decision
    for name in forged:
        log.error("verdict_unsealed", lane=lane.repo, run=name)
    silent = {name: replace(run, result=NoVerdict(UNSEALED)) for name, run in forged.items()}
    return replace(decision, snapshot=replace(snapshot, runs={**snapshot.runs, **silent}))


def vouched(seals: Seals, lane: Lane, verdict: Verdict) -> bool:
    """Tell whether a worker of this installation saw what the verdict says."""
    kept = kept_of(verdict)
    if kept is not None:
        return genuine(seals, lane, kept)
    gated = Gated(lane.key, verdict.run, verdict.merged, verdict.spec)
    return seals.sealed(VERDICTS, sealed_text(gated, verdict.steps), verdict.seal)


def kept_green(parts: Parts, lane: Lane, tree: str, spec: GateSpec) -> KeptVerdict | None:
    """Return the sealed verdict that this gate gave this tree before, if it was green."""
    if not may_keep(spec):
        return None
    kept = parts.runs.kept_verdict(lane, verdict_name(tree, spec.digest))
    if kept is None or (kept.tree, kept.spec) != (tree, spec.digest):
        return None
    return kept if genuine(parts.notary, lane, kept) else None


def genuine(seals: Seals, lane: Lane, kept: KeptVerdict) -> bool:
    """Tell whether a worker of this installation kept this verdict for this lane."""
    return seals.sealed(KEPT, verdict_text(lane, kept), kept.seal)


def genuine_step(seals: Seals, lane: Lane, name: str, kept: KeptStep) -> bool:
    """Tell whether a worker of this installation kept this step by this name for this lane."""
    return seals.sealed(KEPT, step_text(lane, name, kept), kept.seal)


def signed(notary: Notary, receipt: Receipt) -> Receipt:
    """Return the receipt with its signature; its digest stays the same."""
    message = encoded(statement(receipt))
    return enclosed(receipt, Signature(notary.key_id, notary.sign(message)))


def signed_here(notary: Notary, receipt: Receipt) -> bool:
    """Tell whether this installation signed exactly this receipt."""
    envelope = envelope_of(receipt)
    if envelope is None or envelope.payload != statement(receipt):
        return False
    return any(
        notary.signed(each.key_id, envelope.signed, each.value) for each in envelope.signatures
    )


def _genuine(seals: Seals, lane: Lane, run: Run) -> bool:
    if not isinstance(run.result, Passed):
        return True
    order = run.order
    gated = Gated(lane.key, order.run, order.merged, order.spec.digest)
    return seals.sealed(VERDICTS, sealed_text(gated, run.result.steps), run.result.seal)
