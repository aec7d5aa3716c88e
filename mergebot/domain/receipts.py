"""The receipt of a landing: one JSON object, chained to the one before by its digest."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Claim, Merge
from mergebot.domain.gate import Verdict
from mergebot.domain.ids import Lane
from mergebot.domain.wording import iso

DSSE = "dsse"
"""The key under which a receipt holds its signed envelope; the digest leaves it out."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt's text, as it is stored, and the SHA-256 that names it."""

    text: str

    @property
    def core(self) -> str:
        """Return the canonical text without the signature: what is signed and what chains."""
        return canonical({key: value for key, value in self.fields.items() if key != DSSE})

    @property
    def digest(self) -> str:
        """Return the name by which the next receipt refers to this one."""
        return hashlib.sha256(self.core.encode()).hexdigest()

    @property
    def generation(self) -> int:
        """Return the generation under which it landed, 0 where the text names none."""
        found = self.fields.get("generation")
        return found if isinstance(found, int) else 0

    @property
    def trunk(self) -> str:
        """Return the branch that it landed on, "" where the text names none."""
        return str(self.fields.get("trunk", ""))

    @property
    def fields(self) -> Mapping[str, object]:
        """Return the receipt's fields as read from its text."""
        return dict(json.loads(self.text))


@dataclass(frozen=True, slots=True)
class LandingRecord:
    """When a landing was decided, under which generation, and the receipt before it.

    `epoch` is the lane's: it rises whenever the record was rebuilt.
    """

    at: str
    generation: int
    previous: str
    epoch: int = 1


def write_receipt(
    lane: Lane, candidate: Candidate, *, merge: Merge, verdict: Verdict, record: LandingRecord
) -> Receipt:
    """Return the receipt of landing `merge`, in canonical JSON (sorted keys, ASCII)."""
    claim = candidate.claim
    claimed = {"id": claim.id, "generation": claim.generation} if isinstance(claim, Claim) else None
    document = {
        "v": 1,
        "repo": lane.repo,
        "trunk": lane.trunk,
        "pr": candidate.pr,
        "attempt": candidate.attempt,
        "task": claim.task if isinstance(claim, Claim) else None,
        "claim": claimed,
        "author": {"id": candidate.proposal.author.id, "login": candidate.proposal.author.login},
        "enqueued_by": {"id": candidate.enqueued_by.id, "login": candidate.enqueued_by.login},
        "enqueued_at": iso(candidate.enqueued_at),
        "head": candidate.head,
        "base": merge.base,
        "merged": merge.merged,
        "tree": merge.tree,
        "group": list(verdict.group),
        "gate": {
            "spec": verdict.spec,
            "run": verdict.run,
            "tested": verdict.tested or verdict.merged,
            "steps": [
                {
                    "name": step.name,
                    "exit_code": step.exit_code,
                    "seconds": step.seconds,
                    "log": step.log,
                    "flaky": step.flaky,
                    "kept": step.kept,
                }
                for step in verdict.steps
            ],
        },
        "verdict": "pass",
        "worker": verdict.worker,
        "landed_at": record.at,
        "generation": record.generation,
        "epoch": record.epoch,
        "previous": record.previous,
    }
    return Receipt(canonical(document))


def canonical(document: Mapping[str, object]) -> str:
    """Return a document as JSON with sorted keys, no spaces, in ASCII."""
    return json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
