"""Candidates, verdicts and rules to show: only the fields that a test cares about vary."""

from mergebot.domain.candidate import (
    Budget,
    Candidate,
    Claim,
    GateEvidence,
    Kind,
    Merge,
    NoClaim,
    Proposal,
    State,
)
from mergebot.domain.gate import Failed, GateSpec, Step, StepResult, Verdict
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.policy import Policy
from mergebot.domain.reasons import Fault, Reason
from mergebot.domain.status import Setting

HEAD = Sha("a" * 40)
BASE = Sha("b" * 40)
MERGED = Sha("c" * 40)
TREE = "d" * 40
LANE = Lane(repo_id=1, repo="o/r", trunk="main")
MERGE = Merge(BASE, MERGED, TREE, ("src/a.py",))
BUILD = StepResult("build", "make build", 0, 12.0, "e" * 64)
PASSED = StepResult("test", "pytest -q", 0, 40.0, "e" * 64)
VERDICT = Verdict(BASE, MERGED, TREE, "r1", "f" * 64, "w1", (BUILD, PASSED))
FAILED = Failed(
    Reason.GATE_FAILED,
    (BUILD, StepResult("test", "pytest -q", 1, 41.2, "e" * 64)),
    "E   AssertionError: expected 2, found 3",
    "tests/test_a.py:7: AssertionError\n1 failed, 41 passed",
)
GATE_EVIDENCE = GateEvidence(MERGE, "r1", FAILED, Fault.CANDIDATE)
POLICY = Policy(
    GateSpec((Step("build", "make build", 600), Step("test", "pytest -q", 600)), timeout_s=3600)
)
SETTING = Setting(LANE, POLICY, "http://127.0.0.1:8420")
AUTHOR = Actor(11, "ada")
CLAIM = Claim("c1", "AUTH-142", ("src/**",))


def candidate(state: State, **changes: object) -> Candidate:
    """Return a candidate in `state`; the other fields are those of PR 7 unless they are given."""
    number = int(str(changes.get("pr", 7)))
    proposal = Proposal(
        title=str(changes.get("title", f"Change number {number}")),
        body="",
        author=AUTHOR,
        head_branch=str(changes.get("branch", f"branch-{number}")),
        same_repository=True,
    )
    claim = changes.get("claim", CLAIM)
    return Candidate(
        pr=number,
        head=HEAD,
        attempt=int(str(changes.get("attempt", 1))),
        seq=number,
        kind=Kind(str(changes.get("kind", "normal"))),
        proposal=proposal,
        claim=claim if isinstance(claim, Claim) else NoClaim(),
        enqueued_by=AUTHOR,
        enqueued_at=float(str(changes.get("at", 1000.0))),
        budget=Budget(failures=int(str(changes.get("failures", 0)))),
        state=state,
    )
