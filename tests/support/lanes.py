"""A lane without git or store: the real rules, replays by number, and a record of what was gated."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import sha1

from mergebot.domain import groups
from mergebot.domain.candidate import (
    Candidate,
    Gating,
    Kind,
    Landed,
    Merge,
    Parked,
    Queued,
    Verified,
    run_of,
)
from mergebot.domain.checking import objection
from mergebot.domain.decision import Decision
from mergebot.domain.gate import GateResult
from mergebot.domain.health import tip_landed, tip_moved
from mergebot.domain.ids import Sha
from mergebot.domain.isolation import is_apart
from mergebot.domain.lane import Green, Rules, Run, RunOrder, Snapshot
from mergebot.domain.planning import Land, Prepare, PrepareGroup, Proposal, Restart, in_order, plan
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.reasons import Reason
from mergebot.domain.settling import settle
from tests.support.builders import FAIL, GATE, GREEN, NOW, POLICY, TIP, candidate, snapshot

HELD = Parked(Reason.HELD, "held")


@dataclass
class ToyLane:
    """One lane; `bad` PRs fail their gate, and so do two that `clash` on one commit."""

    workers: int = 2
    batch: int = 1
    bad: frozenset[int] = frozenset()
    clash: frozenset[frozenset[int]] = frozenset()
    paths: dict[int, str] = field(default_factory=dict)
    contents: dict[Sha, tuple[int, ...]] = field(default_factory=lambda: {TIP: ()})
    tested: dict[Sha, bool] = field(default_factory=dict)
    landed: list[int] = field(default_factory=list)
    gates: int = 0
    ready_since: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        policy = replace(POLICY, queue=QueuePolicy(batch=self.batch))
        self.seen: Snapshot = replace(
            snapshot(rules=Rules(TIP, policy)), slots=self.workers, candidates=()
        )

    def admit(self, *prs: int, kind: Kind = Kind.NORMAL) -> None:
        fresh = [replace(candidate(pr, kind=kind), enqueued_at=NOW) for pr in prs]
        self.seen = self.seen.with_candidates(fresh)
        self.ready_since |= dict.fromkeys(prs, self.gates)

    def move(self, pr: int, state: Parked | Queued) -> None:
        found = self.seen.candidate(pr)
        if found is not None:
            self.keep(Decision(self.seen).move(found, state, "moved"))
            self.ready_since[pr] = self.gates

    def stranger_pushes(self) -> None:
        tip = Sha(f"{len(self.contents) + 7_000:040x}")
        self.contents[tip] = self.contents[self.tip]
        moved = tip_moved(Decision(self.seen), tip, "a stranger")
        greens = (*moved.snapshot.state.greens, tip)
        self.keep(moved.lane(health=Green(tip, NOW), greens=greens))

    @property
    def tip(self) -> Sha:
        assert self.seen.tip is not None
        return self.seen.tip

    @property
    def running(self) -> list[str]:
        states = [each.state for each in self.seen.candidates]
        runs = {each.run for each in states if isinstance(each, Gating)}
        return sorted((run for run in runs if self.seen.runs[run].result is None), key=int)

    def finish(self, run: str) -> None:
        order = self.seen.runs[run].order
        self.tested[order.merged] = self.works(self.contents[order.merged])
        self.end(run, GREEN if self.tested[order.merged] else FAIL)

    def end(self, run: str, result: GateResult) -> None:
        ended = replace(self.seen.runs[run], result=result)
        self.seen = replace(self.seen, runs={**self.seen.runs, run: ended})

    def works(self, prs: Iterable[int]) -> bool:
        found = frozenset(prs)
        return not found & self.bad and not any(pair <= found for pair in self.clash)

    def tick(self) -> None:
        """Settle, plan and follow until nothing is left to do; landings succeed at once."""
        for _ in range(200):
            decision = settle(Decision(self.seen))
            while others := [each for each in plan(decision.snapshot) if not _lands(each)]:
                for proposal in others:
                    assert objection(decision.snapshot, proposal) is None
                    decision = self.follow(decision, proposal)
            self.keep(decision)
            landing = next(filter(_lands, plan(self.seen)), None)
            if not isinstance(landing, Land):
                return
            assert objection(self.seen, landing) is None
            self.land(landing.pr)
        raise AssertionError("the tick never came to rest")

    def follow(self, decision: Decision, proposal: Proposal) -> Decision:
        match proposal:
            case Prepare(pr, base):
                return self.gate(decision, (pr,), base)
            case PrepareGroup(prs, base):
                return self.gate(decision, prs, base)
            case Restart(pr):
                found = decision.snapshot.candidate(pr)
                assert found is not None
                return decision.move(found, Queued(groups.company_of(found.state)), "anew")
            case _:
                raise AssertionError(proposal)

    def gate(self, decision: Decision, prs: tuple[int, ...], base: Sha) -> Decision:
        taken: list[tuple[Candidate, Merge]] = []
        for pr in prs:
            found = decision.snapshot.candidate(pr)
            assert found is not None
            merge = self.replay(pr, taken[-1][1].merged if taken else base)
            if taken and not groups.fits((each for _, each in taken), merge):
                break
            taken.append((found, merge))
        self.gates += 1
        last, merge = taken[-1]
        name = str(self.gates)
        order = RunOrder(name, last.pr, last.head, merge.base, merge.merged, GATE, NOW, 1)
        decision = groups.gate(decision, taken, order)
        runs = {**decision.snapshot.runs, name: Run(order)}
        return replace(decision, snapshot=replace(decision.snapshot, runs=runs))

    def replay(self, pr: int, base: Sha) -> Merge:
        merged = Sha(sha1(f"{base} {pr}".encode(), usedforsecurity=False).hexdigest())
        self.contents[merged] = (*self.contents[base], pr)
        return Merge(base, merged, "", (self.paths.get(pr, f"own-{pr}"),))

    def land(self, pr: int) -> None:
        """Land, and hold the landing to what must be true of every one."""
        first = self.seen.candidate(pr)
        assert first is not None
        members = groups.lands_with(self.seen, first)
        merges = [each.state.merge for each in members if isinstance(each.state, Verified)]
        assert merges[0].base == self.tip, "on a base that is not the trunk"
        assert self.tested.get(merges[-1].merged), "a commit that no gate was green on"
        assert self.overtaken(members) == [], "out of order"
        decision = Decision(self.seen)
        moves = [
            (each, Landed(merge, "", NOW)) for each, merge in zip(members, merges, strict=True)
        ]
        decision = tip_landed(decision.move_all(moves, "landed"), merges[-1].merged)
        self.keep(decision)
        self.landed += [each.pr for each in members]

    def overtaken(self, members: tuple[Candidate, ...]) -> list[int]:
        """Return who is ahead in the landing order, ready, and not among those that land.

        Of a group it counts who was ready when its run was ordered: a group does not open again.
        """
        order = in_order(self.seen)
        first, last = order.index(members[0]), order.index(members[-1])
        began = int(run_of(members[0].state) or 0)
        return [
            each.pr
            for place, each in enumerate(order[:last])
            if each not in members
            and not isinstance(each.state, Parked)
            and not is_apart(each)
            and (place < first or self.ready_since[each.pr] < began)
        ]

    def keep(self, decision: Decision) -> None:
        self.seen = decision.snapshot

    def drain(self) -> None:
        """Let everything end that can."""
        for _ in range(600):
            self.tick()
            running = self.running
            if not running:
                return
            self.finish(running[0])
        raise AssertionError("the queue never drained")


def _lands(proposal: Proposal) -> bool:
    return isinstance(proposal, Land)
