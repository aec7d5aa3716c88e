"""Preparing a candidate: replay its head on a base, check its scope, order its gate.

Everything here happens before any of the candidate's code runs, in memory, on the bot's mirror.
"""

from dataclasses import dataclass

from mergebot.domain.candidate import (
    Apart,
    Blocked,
    Cancelled,
    Candidate,
    ConflictEvidence,
    Ejected,
    Evidence,
    Merge,
    Parked,
    PlainEvidence,
    ScopeEvidence,
)
from mergebot.domain.decision import Decision
from mergebot.domain.gate import GateSpec
from mergebot.domain.groups import company_of, fits, gate
from mergebot.domain.hedging import adopt, usable
from mergebot.domain.ids import Sha, short
from mergebot.domain.judging import spend
from mergebot.domain.keeping import KeptVerdict, may_keep, verdict_name, verify
from mergebot.domain.lane import Checking, Red, RunOrder, Snapshot, UnknownHealth
from mergebot.domain.limits import FORGE_WAIT_S
from mergebot.domain.names import render_path
from mergebot.domain.planning import CONFIG_PATHS, CheckTrunk, Prepare, PrepareGroup, Probe
from mergebot.domain.policy import EXAMPLE, NoPolicy, Policy, PolicyFaults
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.domain.scope import (
    Allowed,
    Enqueuer,
    Outside,
    Touched,
    check_scope,
    links_to_read,
)
from mergebot.ports.git import (
    Conflicted,
    EmptyReplay,
    Git,
    LosesContent,
    Replayed,
)
from mergebot.services.chain import Chain, request_for
from mergebot.services.contracting import contract_turn
from mergebot.services.parts import Parts
from mergebot.services.trunk import read_rules
from mergebot.services.vouching import genuine


@dataclass(frozen=True, slots=True)
class _No:
    reason: Reason
    evidence: Evidence


def prepare(
    parts: Parts, git: Git, decision: Decision, proposal: Prepare | PrepareGroup
) -> Decision:
    """Replay the proposed candidates, each on the one before, and order one gate for all.

    Whoever cannot be replayed is told why and left out; whoever shares a file with one before it
    ends the group, and waits for the next.
    """
    prs = proposal.prs if isinstance(proposal, PrepareGroup) else (proposal.pr,)
    taken: list[tuple[Candidate, Merge]] = []
    for pr in prs:
        candidate = decision.snapshot.candidate(pr)
        policy = decision.snapshot.policy
        if candidate is None or policy is None:
            continue
        base = taken[-1][1].merged if taken else proposal.base
        made = _made(parts, git, decision, candidate, base=base)
        if not isinstance(made, Merge):
            decision = made
        elif taken and not fits((merge for _, merge in taken), made):
            break
        else:
            taken.append((candidate, made))
    return _order(parts, decision, taken) if taken else decision


def _made(
    parts: Parts, git: Git, decision: Decision, candidate: Candidate, *, base: Sha
) -> Merge | Decision:
    """Return the candidate's merged commit on `base`, or what follows where there is none."""
    policy = decision.snapshot.policy
    if policy is None:
        return decision
    if not bring_in(git, decision, candidate):
        return _without_head(parts, git, decision, candidate)
    Chain(git, decision.snapshot).bring(base)
    replay = git.replay(request_for(candidate, policy, base))
    if isinstance(replay, Replayed):
        no = _refusal(parts, git, candidate, policy, replay=replay)
        if no is None:
            return _by_contract(parts, git, decision, candidate, replay.merge)
    else:
        no = _unreplayed(replay, base)
    return _refuse(decision, candidate, no, base=base)


def _by_contract(
    parts: Parts, git: Git, decision: Decision, candidate: Candidate, merge: Merge
) -> Merge | Decision:
    """Let a candidate wait whose contracts moved; on a guessed base, the landing asks again."""
    if merge.base != decision.snapshot.tip:
        return merge
    turn = contract_turn(parts, git, decision.snapshot, candidate, merge)
    return decision.move(candidate, turn.state, turn.why) if turn else merge


def check_trunk(parts: Parts, decision: Decision, proposal: CheckTrunk) -> Decision:
    """Order the gate on the trunk's tip itself."""
    policy = decision.snapshot.policy
    if policy is None:
        return decision
    decision, run = _order_commit(parts, decision, proposal.tip, policy.trunk_gate)
    before = decision.snapshot.state.health
    tries = before.tries if isinstance(before, UnknownHealth) else 0
    decision = decision.lane(health=Checking(proposal.tip, run, tries))
    return decision.tell("trunk", f"the gate runs on the trunk's tip {short(proposal.tip)}")


def probe(parts: Parts, decision: Decision, proposal: Probe, red: Red) -> Decision:
    """Order the gate on one of the commits that may have broken the trunk."""
    policy = decision.snapshot.policy
    if policy is None:
        return decision
    decision, run = _order_commit(parts, decision, proposal.commit, policy.own_gate)
    narrowed = Red(
        tip=red.tip,
        since=red.since,
        run=red.run,
        step=red.step,
        command=red.command,
        last_green=red.last_green,
        suspects=red.suspects,
        probe=run,
        probed=proposal.commit,
    )
    return decision.lane(health=narrowed)


def bring_in(git: Git, decision: Decision, candidate: Candidate) -> bool:
    """Fetch the heads of the candidates that wait, and tell whether this one's is there."""
    if git.has(candidate.head):
        return True
    missing = [each.pr for each in decision.snapshot.candidates if not git.has(each.head)]
    git.fetch(decision.snapshot.lane.trunk, missing[:50])
    return git.has(candidate.head)


def _without_head(parts: Parts, git: Git, decision: Decision, candidate: Candidate) -> Decision:
    """End a candidate whose head is gone; where git only lags behind the forge, wait.

    One that is merged by a commit which the known trunk lacks may be a landing the record lost.
    """
    lane, now = decision.snapshot.lane, decision.snapshot.now
    pull = parts.forge.pull(lane.repo, candidate.pr)
    if pull.head == candidate.head or (pull.merged and not _known(git, decision, pull.head)):
        text = f"the forge's git does not show {short(candidate.head)} yet"
        waits = Parked(Reason.FORGE_UNAVAILABLE, text, now + FORGE_WAIT_S)
        return decision.move(candidate, waits, text)
    text = f"the commit {short(candidate.head)} is not the pull request's head any more"
    return decision.move(candidate, Cancelled(Reason.HEAD_CHANGED, text, now), text)


def _known(git: Git, decision: Decision, commit: Sha) -> bool:
    tip = decision.snapshot.tip
    return tip is not None and git.has(commit) and git.is_ancestor(commit, tip)


def scope_of(git: Git, candidate: Candidate, policy: Policy, replayed: Replayed) -> Outside | None:
    """Return why the change may not touch what it touches, or None."""
    touched = Touched(
        changes=replayed.changes,
        author_changes=replayed.author_changes,
        twins=git.twins(replayed.merge.merged, replayed.merge.base),
        targets={
            change.path: git.blob(change.new_id).decode("utf-8", "surrogateescape")
            for change in links_to_read(replayed.changes)
        },
    )
    admin = candidate.authority >= Permission.ADMIN
    enqueuer = Enqueuer.ADMIN if admin else Enqueuer.MEMBER
    verdict = check_scope(touched, Allowed(candidate.claim, policy.claims, enqueuer))
    return verdict if isinstance(verdict, Outside) else None


def _unreplayed(replay: Conflicted | EmptyReplay | LosesContent, base: Sha) -> _No:
    match replay:
        case Conflicted(paths):
            shown = tuple(render_path(path) for path in paths)
            return _No(Reason.CONFLICT, ConflictEvidence(base, shown))
        case EmptyReplay(on_base=True):
            text = "the trunk already contains this change"
            return _No(Reason.ALREADY_LANDED, PlainEvidence(text))
        case EmptyReplay():
            return _No(Reason.EMPTY, PlainEvidence("the pull request changes nothing"))
        case LosesContent():
            text = "a rebase would lose what the branch's merge commits hold"
            return _No(Reason.MERGE_COMMITS, PlainEvidence(text))


def _refusal(
    parts: Parts, git: Git, candidate: Candidate, policy: Policy, *, replay: Replayed
) -> _No | None:
    outside = scope_of(git, candidate, policy, replay)
    if outside is not None:
        evidence = ScopeEvidence(replay.merge, outside.strayed, outside.details)
        return _No(outside.reason, evidence)
    if any(path in CONFIG_PATHS for path in replay.merge.paths):
        text = _unusable(read_rules(git, parts.rules, replay.merge.merged).policy)
        if text:
            return _No(Reason.INVALID_CONFIG, PlainEvidence(text))
    return None


def _unusable(policy: Policy | PolicyFaults | NoPolicy) -> str:
    """Return why nothing could land after rules like these, "" where something could."""
    match policy:
        case PolicyFaults(faults=faults):
            return "its own .mergebot.toml is broken: " + " ".join(faults)
        case Policy(gate=gate) if not gate.empty:
            return ""
        case Policy() | NoPolicy():
            text = "it leaves the trunk without a gate, and nothing could land after it"
            return f"{text}; the smallest valid file:\n\n{EXAMPLE}"


def _refuse(decision: Decision, candidate: Candidate, no: _No, *, base: Sha) -> Decision:
    if base != decision.snapshot.tip:
        blocked = Blocked(base, no.reason, no.evidence)
        return decision.move(candidate, blocked, f"waits for those ahead of it: {no.reason.words}")
    state = Ejected(no.reason, no.evidence, decision.snapshot.now)
    return decision.move(spend(candidate, no.reason), state, f"ejected: {no.reason.words}")


def _order(parts: Parts, decision: Decision, taken: list[tuple[Candidate, Merge]]) -> Decision:
    snapshot = decision.snapshot
    policy = snapshot.policy
    if policy is None:
        return decision
    last, merge = taken[-1]
    hedge = usable(snapshot, last, merge, policy.gate) if len(taken) == 1 else None
    if hedge is not None:
        return adopt(decision, last, hedge)
    kept = _kept(parts, snapshot, taken, policy.gate)
    if kept is not None:
        return verify(decision, taken, kept)
    order = RunOrder(
        run=parts.tokens.new(),
        pr=last.pr,
        head=last.head,
        base=merge.base,
        merged=merge.merged,
        spec=policy.gate,
        ordered_at=snapshot.now,
        generation=snapshot.state.generation,
        order=policy.order,
        members=tuple(candidate.pr for candidate, _ in taken) if len(taken) > 1 else (),
    )
    return gate(decision, taken, order)


def _kept(
    parts: Parts, snapshot: Snapshot, taken: list[tuple[Candidate, Merge]], spec: GateSpec
) -> KeptVerdict | None:
    """Return the verdict that the tree was given before; those under suspicion run in any case."""
    candidate, merge = taken[-1]
    if not may_keep(spec) or isinstance(company_of(candidate.state), Apart):
        return None
    kept = parts.runs.kept_verdict(snapshot.lane, verdict_name(merge.tree, spec.digest))
    if kept is None or (kept.tree, kept.spec) != (merge.tree, spec.digest):
        return None
    return kept if genuine(parts.notary, snapshot.lane, kept) else None


def _order_commit(
    parts: Parts, decision: Decision, commit: Sha, spec: GateSpec
) -> tuple[Decision, str]:
    snapshot = decision.snapshot
    policy = snapshot.policy
    if policy is None:
        raise ValueError("a gate is only ordered under usable rules")
    order = RunOrder(
        run=parts.tokens.new(),
        pr=0,
        head=commit,
        base=commit,
        merged=commit,
        spec=spec,
        ordered_at=snapshot.now,
        generation=snapshot.state.generation,
        order=policy.order,
    )
    return decision.order(order), order.run
