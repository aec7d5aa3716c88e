"""Small domain values with only the facts that a test is about."""

from dataclasses import replace

from mergebot.domain.candidate import (
    Budget,
    Candidate,
    Gating,
    Kind,
    Merge,
    NoClaim,
    Proposal,
    Queued,
    State,
    Verified,
)
from mergebot.domain.gate import Failed, GateResult, GateSpec, Passed, Step, StepResult, Verdict
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Green, LaneState, Rules, Run, RunOrder, RunProgress, Snapshot
from mergebot.domain.policy import Policy, QueuePolicy
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.reasons import Reason

ALICE = Actor(1, "alice")
NOW = 1_000_000.0
LANE = Lane(7, "o/r", "main")
GATE = GateSpec((Step("test", "make test", 60.0),), 600.0)
POLICY = Policy(GATE, queue=QueuePolicy(window=4))


def sha(name: str) -> Sha:
    """Return a commit id that reads like `name` in a failure message."""
    return Sha(name.encode().hex().ljust(40, "0")[:40])


TIP = sha("tip")


def merge(base: Sha, name: str, paths: tuple[str, ...] = ("a.py",)) -> Merge:
    """Return the merged commit `name` on `base`."""
    return Merge(base, sha(name), f"tree-{name}", paths)


def candidate(pr: int, state: State | None = None, kind: Kind = Kind.NORMAL) -> Candidate:
    """Return the PR's first candidate; its place is its number."""
    return Candidate(
        pr=pr,
        head=sha(f"head{pr}"),
        attempt=1,
        seq=pr,
        kind=kind,
        proposal=Proposal(f"Change {pr}", "", ALICE, f"branch-{pr}", same_repository=True),
        claim=NoClaim(),
        enqueued_by=ALICE,
        enqueued_at=NOW - 60,
        budget=Budget(),
        state=state or Queued(),
    )


def gating(pr: int, base: Sha) -> Candidate:
    """Return a candidate whose run `run<pr>` is on its way, as the commit `m<pr>`."""
    return candidate(pr, Gating(merge(base, f"m{pr}"), f"run{pr}", NOW - 10))


def verdict(pr: int, base: Sha) -> Verdict:
    """Return the green verdict of the PR's merged commit on `base`."""
    return Verdict(base, sha(f"m{pr}"), f"tree-m{pr}", f"run{pr}", GATE.digest, "w1", (PASS,))


def verified(pr: int, base: Sha, kind: Kind = Kind.NORMAL) -> Candidate:
    """Return a candidate whose gate is green on `base`."""
    return candidate(pr, Verified(merge(base, f"m{pr}"), verdict(pr, base)), kind)


PASS = StepResult("test", "make test", 0, 1.5, "log")
FAIL = Failed(Reason.GATE_FAILED, (replace(PASS, exit_code=1),), "E boom", "boom")
GREEN = Passed((PASS,))


def run(name: str, result: GateResult | None = None, beat: float = NOW) -> Run:
    """Return a run that a worker took and last reported on at `beat`."""
    order = RunOrder(name, 1, TIP, TIP, TIP, GATE, NOW - 20, 1)
    return Run(order, RunProgress("w1", NOW - 15, beat), result)


def snapshot(*candidates: Candidate, runs: tuple[Run, ...] = (), **state: object) -> Snapshot:
    """Return a lane whose trunk is green at TIP, with these open candidates."""
    lane_state = LaneState(
        known_tip=TIP,
        greens=(TIP,),
        health=Green(TIP, NOW - 100),
        rules=Rules(TIP, POLICY),
    )
    return Snapshot(
        lane=LANE,
        revision=1,
        state=replace(lane_state, **state),  # type: ignore[arg-type]  # replace checks names itself
        candidates=tuple(sorted(candidates, key=lambda each: each.seq)),
        runs={each.order.run: each for each in runs},
        slots=2,
        now=NOW,
    )


def pull(pr: int, **changes: object) -> PullRequest:
    """Return the PR as the forge shows it while its candidate is fine."""
    fresh = PullRequest(
        number=pr,
        title=f"Change {pr}",
        body="",
        author=ALICE,
        head=sha(f"head{pr}"),
        head_branch=f"branch-{pr}",
        head_repo="o/r",
        base="main",
        labels=("merge-queue",),
        closed=False,
        merged=False,
        draft=False,
        created_at=NOW - 500,
        url="",
    )
    return replace(fresh, **changes)  # type: ignore[arg-type]  # replace checks names itself


WRITE = Permission.WRITE
