"""The production planner in a simulation: the real rules over real values, on a symbolic git.

`settle`, `plan` and the rules that judge a red change are the very functions that production runs.
Only what they cannot do by themselves is replaced: a replay gives a number instead of a commit, and
a landing takes time. A change was begun on the trunk as it was when it arrived.
"""

from dataclasses import replace

from mergebot.domain import groups, hedging, judging, trials
from mergebot.domain.candidate import (
    Budget,
    Candidate,
    Doubt,
    Ejected,
    Failing,
    Kind,
    Landed,
    Landing,
    Merge,
    NoClaim,
    Proposal,
    Question,
    Queued,
    Verified,
    run_of,
    runs_of,
)
from mergebot.domain.capacity import SAMPLES, Host, rooms
from mergebot.domain.decision import Decision
from mergebot.domain.gate import Failed, GateSpec, Passed, Step, StepResult
from mergebot.domain.health import tip_landed
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Green, LaneState, Rules, Run, RunOrder, Snapshot
from mergebot.domain.planning import Land, Prepare, PrepareGroup, Restart, plan
from mergebot.domain.planning import Proposal as Planned
from mergebot.domain.policy import BudgetPolicy, QueuePolicy
from mergebot.domain.policy import Policy as Rulebook
from mergebot.domain.reasons import Reason
from mergebot.domain.settling import settle
from mergebot.services.simulation.engine import Engine, Ledger
from mergebot.services.simulation.world import ROOT, World

_GATE = GateSpec((Step("gate", "gate", 3600.0),), 3600.0)
_PASSED = Passed((StepResult("gate", "gate", 0, 0.0, ""),))
_FAILED = Failed(Reason.GATE_FAILED, (StepResult("gate", "gate", 1, 0.0, ""),), "", "")
_ENDLESS = BudgetPolicy(runtime_s=float("inf"))
_AUTHOR = Actor(1, "author")
_HOST = "simulated"


def production(world: World, queue: QueuePolicy) -> Ledger:
    """Play the production planner under the given rules for the queue."""
    cores = world.conditions.cores
    host = Host(_HOST, _HOST, world.conditions.workers, float(cores))
    engine = Engine(world.again())
    return engine.play(Production(engine, queue, (host,) if cores else ()))


def trusting(world: World, queue: QueuePolicy) -> Ledger:
    """Play a planner that believes in every slot that is announced."""
    engine = Engine(world.again())
    return engine.play(Production(engine, queue, ()))


class Production:
    """A lane whose record is kept in memory and whose gates are simulated."""

    def __init__(self, engine: Engine, queue: QueuePolicy, hosts: tuple[Host, ...]) -> None:
        tip = _sha(ROOT)
        state = LaneState(
            known_tip=tip,
            greens=(tip,),
            health=Green(tip, 0.0),
            rules=Rules(tip, Rulebook(_GATE, queue=queue, budget=_ENDLESS)),
        )
        self._engine = engine
        self._seen = Snapshot(
            lane=Lane(1, "simulated/trace", "main"),
            revision=0,
            state=state,
            candidates=(),
            runs={},
            slots=engine.world.conditions.workers,
            now=0.0,
            hosts=hosts,
        )
        self._arrived: list[Candidate] = []
        self._runs: dict[str, Run] = {}
        self._trunk: list[judging.Landed] = []
        self._begun: dict[int, tuple[Sha, int]] = {}
        self._woken: set[float] = set()
        self._adopted = False
        self._risky = engine.world.risky()

    def arrive(self, change: int) -> None:
        """Admit a change, as number `change` + 1."""
        budget = Budget(failures=int(change in self._risky))
        self._arrived.append(_candidate(change, self._engine.now, budget))
        self._begun[change + 1] = (self._seen.tip or _sha(ROOT), len(self._trunk))

    def ended(self, run: int, *, passed: bool) -> None:
        """Record a run's result."""
        name = str(run)
        found = self._runs[name]
        result = _PASSED if passed else _FAILED
        self._runs[name] = replace(found, result=result, ended_at=self._engine.now)
        if passed:
            used = [replace(each, asks=(1.0, *each.asks)[:SAMPLES]) for each in self._seen.hosts]
            self._seen = replace(self._seen, hosts=tuple(used))

    def landed(self) -> None:
        """Record what the push on the wire has landed."""
        now = self._engine.now
        decision = Decision(replace(self._seen, now=now))
        moves = []
        tip = decision.snapshot.tip
        for each in decision.snapshot.candidates:
            if isinstance(each.state, Landing):
                moves.append((each, Landed(each.state.merge, "", now)))
                merge = each.state.merge
                self._trunk.append(judging.Landed(each.pr, merge.paths, merge.merged))
                tip = each.state.verdict.merged
        decision = decision.move_all(moves, "landed")
        if tip is not None:
            decision = tip_landed(decision, tip)
        self._keep(decision)

    def decide(self) -> None:
        """Tick: settle, then plan and follow until there is nothing more to do."""
        arrived, self._arrived = self._arrived, []
        snapshot = replace(self._seen, now=self._engine.now, runs=self._runs)
        snapshot = snapshot.with_candidates(arrived) if arrived else snapshot
        decision = Decision(snapshot)
        self._adopted = True
        while self._adopted:
            self._adopted = False
            decision = self._round(decision)
        self._keep(hedging.drop(decision))

    def _round(self, decision: Decision) -> Decision:
        decision = settle(decision, self._backgrounds(decision.snapshot))
        while proposals := plan(decision.snapshot):
            for proposal in proposals:
                decision = self._follow(decision, proposal)
            if isinstance(proposals[-1], Land):
                return decision
        return self._hedge(self._try_doubts(decision))

    def _hedge(self, decision: Decision) -> Decision:
        """Let idle workers gate what is needed next if somebody fails, as production does."""
        decision = hedging.drop(decision)
        while proposals := hedging.hedges(decision.snapshot).proposed:
            for proposal in proposals:
                candidate = decision.snapshot.candidate(proposal.pr)
                if candidate is None:
                    continue
                merge = self._merge(candidate, proposal.base)
                order = self._order(candidate, merge, rank=3)
                decision = self._known(hedging.start(decision, proposal, merge, order), order)
        return decision

    def _merge(self, candidate: Candidate, base: Sha) -> Merge:
        world, change = self._engine.world, candidate.pr - 1
        above = world.on(_node(base), change)
        return Merge(base, _sha(above), "", tuple(world.changes[change].paths))

    def _backgrounds(self, snapshot: Snapshot) -> judging.Backgrounds:
        """Return what landed since each candidate was begun whose gate is red."""
        found = {}
        for each in snapshot.candidates:
            run = snapshot.runs.get(run_of(each.state) or "")
            if run is not None and isinstance(run.result, Failed):
                fork, landed = self._begun[each.pr]
                found[each.pr] = judging.Background(fork, tuple(self._trunk[landed:]))
        return found

    def _try_doubts(self, decision: Decision) -> Decision:
        """Let idle workers judge red changes, as production does."""
        decision = trials.make_way(decision)
        for candidate, doubt in trials.waiting(decision.snapshot):
            node = _node(doubt.commit)
            if doubt.question is not Question.AGAIN:
                node = self._engine.world.on(_node(doubt.base), candidate.pr - 1)
            merge = Merge(doubt.base, _sha(node), "", ())
            order = self._order(candidate, merge, rank=2)
            decision = self._known(trials.start(decision, candidate, order), order)
        for each in decision.snapshot.candidates:
            match each.state:
                case Failing(judging=Doubt(until=until)) if until not in self._woken:
                    self._woken.add(until)
                    self._engine.wake(until)
        return decision

    def _follow(self, decision: Decision, proposal: Planned) -> Decision:
        match proposal:
            case Prepare(pr, base):
                return self._gate(decision, (pr,), base)
            case PrepareGroup(prs, base):
                return self._gate(decision, prs, base)
            case Restart(pr):
                candidate = decision.snapshot.candidate(pr)
                if candidate is None:
                    return decision
                company = groups.company_of(candidate.state)
                return decision.move(candidate, Queued(company), "restarted")
            case Land(pr):
                return self._land(decision, pr)
            case _:
                raise ValueError(f"a simulated trunk is never in doubt: {proposal}")

    def _gate(self, decision: Decision, prs: tuple[int, ...], base: Sha) -> Decision:
        taken: list[tuple[Candidate, Merge]] = []
        for pr in prs:
            candidate = decision.snapshot.candidate(pr)
            if candidate is None:
                continue
            merge = self._merge(candidate, taken[-1][1].merged if taken else base)
            if taken and not groups.fits((each for _, each in taken), merge):
                break
            taken.append((candidate, merge))
        hedge = hedging.usable(decision.snapshot, *taken[0], _GATE)
        if hedge is not None and len(taken) == 1:
            self._adopted = True
            return hedging.adopt(decision, taken[0][0], hedge)
        order = self._order(*taken[-1])
        return self._known(groups.gate(decision, taken, order), order)

    def _order(self, candidate: Candidate, merge: Merge, *, rank: int = 1) -> RunOrder:
        return RunOrder(
            run=str(self._engine.order(_node(merge.merged), candidate.pr - 1, rank=rank)),
            pr=candidate.pr,
            head=candidate.head,
            base=merge.base,
            merged=merge.merged,
            spec=_GATE,
            ordered_at=self._engine.now,
            generation=1,
        )

    @staticmethod
    def _known(decision: Decision, order: RunOrder) -> Decision:
        runs = {**decision.snapshot.runs, order.run: Run(order)}
        return replace(decision, snapshot=replace(decision.snapshot, runs=runs))

    def _land(self, decision: Decision, pr: int) -> Decision:
        candidate = decision.snapshot.candidate(pr)
        members = groups.lands_with(decision.snapshot, candidate) if candidate else ()
        self._engine.land([each.pr - 1 for each in members])
        moves = [
            (each, Landing(each.state.merge, each.state.verdict, "", self._engine.now))
            for each in members
            if isinstance(each.state, Verified)
        ]
        return decision.move_all(moves, "landing")

    def _keep(self, decision: Decision) -> None:
        """Keep what was decided, as a commit does, and tell the engine what follows from it."""
        for run in decision.stops:
            self._engine.stop(int(run))
        for each in decision.candidates:
            if isinstance(each.state, Ejected):
                self._engine.refuse(each.pr - 1)
        seen = decision.snapshot
        used = frozenset().union(*(runs_of(each) for each in seen.candidates))
        self._runs = {name: run for name, run in seen.runs.items() if name in used}
        room = rooms(seen.hosts, seen.state.rooms)
        self._seen = replace(seen, runs=self._runs).with_state(rooms=room)


def _candidate(change: int, now: float, budget: Budget) -> Candidate:
    return Candidate(
        pr=change + 1,
        head=_sha(change),
        attempt=1,
        seq=change + 1,
        kind=Kind.NORMAL,
        proposal=Proposal("", "", _AUTHOR, "", same_repository=True),
        claim=NoClaim(),
        enqueued_by=_AUTHOR,
        enqueued_at=now,
        budget=budget,
        state=Queued(),
    )


def _sha(node: int) -> Sha:
    return Sha(f"{node:040x}")


def _node(sha: Sha) -> int:
    return int(sha, 16)
