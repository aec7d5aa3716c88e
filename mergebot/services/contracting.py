"""Contracts of a change: what moved since it was written, and whose word is still missing."""

from collections.abc import Sequence
from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Claim, Merge, Parked, Queued
from mergebot.domain.commands import Answer
from mergebot.domain.contracts import (
    Judgement,
    Open,
    Reading,
    Reopened,
    Said,
    Settled,
    assumed_in,
    files_of,
    judge,
    may_speak,
    revision,
    shown,
)
from mergebot.domain.decision import Decision
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.landing import Turn
from mergebot.domain.lane import Snapshot
from mergebot.domain.policy import Contract, Policy
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Refused
from mergebot.ports.git import Git, Replayed
from mergebot.services.chain import request_for
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts


@dataclass(frozen=True, slots=True)
class Change:
    """A change as contracts see it: from where it was made, on what it lands, and what results."""

    pr: int
    head: Sha
    author: str
    assumes: tuple[str, ...]
    base: Sha
    merged: Sha
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who answers, and what they may do in the repository."""

    who: Actor
    permission: Permission


def judged(parts: Parts, git: Git, lane: Lane, policy: Policy, change: Change) -> list[Judgement]:
    """Return a judgement for each contract of the rules; raises Unavailable."""
    if not policy.contracts:
        return []
    fork = git.fork_point(change.head, change.base)
    trees = {sha: git.files(sha) for sha in {change.base, change.merged, fork} if sha is not None}
    sayings = parts.ledger.sayings(lane, change.pr)
    found = []
    for contract in policy.contracts:
        at = {sha: revision(files_of(contract, files)) for sha, files in trees.items()}
        declared = assumed_in(change.assumes, contract.name)
        reading = Reading(
            assumed=declared or (at[fork] if fork else ""),
            declared=bool(declared),
            base=at[change.base],
            merged=at[change.merged],
            paths=change.paths,
            author=change.author,
        )
        found.append(judge(contract, reading, sayings))
    return found


def sentence_of(judgements: Sequence[Judgement]) -> str:
    """Return what the change waits for, "" where nothing."""
    sentences = [text for text in map(_sentence, judgements) if text]
    return "; ".join(sentences)


def _sentence(judgement: Judgement) -> str:
    match judgement:
        case Open(contract, _, question, missing):
            whom = ", ".join(missing) or "one of its owners"
            return (
                f"{question}; waits for {whom} to say agree, revalidate, reopen or decline "
                f"{contract}, or for a rebase on the trunk"
            )
        case Reopened(contract, at, by, stance):
            return (
                f"{by} said {stance} to {shown(at)} of the contract {contract}: its owners have to "
                "settle it, or a new head takes it into account"
            )
        case Settled():
            return ""


def change_of(candidate: Candidate, merge: Merge) -> Change:
    """Return a candidate's change, as it would land."""
    claim = candidate.claim
    return Change(
        pr=candidate.pr,
        head=candidate.head,
        author=candidate.proposal.author.login,
        assumes=claim.assumes if isinstance(claim, Claim) else (),
        base=merge.base,
        merged=merge.merged,
        paths=merge.paths,
    )


def contract_turn(
    parts: Parts, git: Git, snapshot: Snapshot, candidate: Candidate, merge: Merge
) -> Turn | None:
    """Return what becomes of a candidate that a contract does not let land yet, else None."""
    policy = snapshot.policy
    if policy is None or not policy.contracts:
        return None
    text = sentence_of(judged(parts, git, snapshot.lane, policy, change_of(candidate, merge)))
    return Turn(Parked(Reason.STALE_CONTRACT, text), text) if text else None


def looked_at_again(parts: Parts, git: Git, decision: Decision) -> Decision:
    """Let go on what waits for contracts that, on this tip and by these rules, ask for nothing.

    What does not merge with the tip is let go too: nobody could answer for it.
    """
    for candidate in decision.snapshot.candidates:
        state = candidate.state
        if not isinstance(state, Parked) or state.reason is not Reason.STALE_CONTRACT:
            continue
        turn = _turn_on_tip(parts, git, decision.snapshot, candidate)
        if turn is None:
            text = "the trunk moved, and no contract asks for anything now"
            decision = decision.move(candidate, Queued(), text)
        elif turn.state != state:
            decision = decision.move(candidate, turn.state, turn.why)
    return decision


def _turn_on_tip(parts: Parts, git: Git, snapshot: Snapshot, candidate: Candidate) -> Turn | None:
    policy, tip = snapshot.policy, snapshot.tip
    if policy is None or tip is None:
        return Turn(candidate.state, "nothing is known of the rules")
    if not git.has(candidate.head):
        return None
    replay = git.replay(request_for(candidate, policy, tip))
    if not isinstance(replay, Replayed):
        return None
    return contract_turn(parts, git, snapshot, candidate, replay.merge)


def answer(parts: Parts, git: Git, lane: Lane, pr: int, asked: Answer, *, by: Speaker) -> str:
    """Record somebody's word on a contract of a queued PR, and let the PR be looked at again.

    Returns what is recorded, in a sentence. Raises Refused where nothing was asked of them.
    """
    snapshot = parts.store.read(lane)
    candidate, policy = snapshot.candidate(pr), snapshot.policy
    if candidate is None or policy is None:
        raise Refused(f"#{pr} is not in the queue, so no contract waits for an answer here")
    contract = _contract(policy, asked.contract)
    if not may_speak(contract, by.who, by.permission):
        owners = ", ".join(contract.owners) or "a maintainer"
        raise Refused(f"only {owners} may answer for the contract {contract.name}")
    try:
        about = _asked_about(parts, git, snapshot, candidate, contract)
    except Refused:
        # An answer may be on record while whoever recorded it died before it was acted on.
        decide(parts, lane, lambda decision: _looked_at_again(decision, pr))
        parts.doorbell.tick(lane)
        raise
    said = Said(
        pr=pr,
        contract=contract.name,
        revision=about,
        stance=asked.stance,
        by=by.who,
        permission=by.permission,
        at=parts.clock.now(),
    )
    parts.ledger.say(lane, said)
    text = f"{by.who.login} said {asked.stance} to {shown(about)} of the contract {contract.name}"
    decide(parts, lane, lambda decision: _heard(decision, pr, text))
    parts.doorbell.tick(lane)
    return text


def _heard(decision: Decision, pr: int, text: str) -> Decision:
    """Tell the story, and let a candidate that waited for the word be prepared again."""
    return _looked_at_again(decision.tell("contract", text, pr=pr), pr)


def _looked_at_again(decision: Decision, pr: int) -> Decision:
    """Let a candidate that waited for a word on a contract be prepared again."""
    candidate = decision.snapshot.candidate(pr)
    match candidate:
        case Candidate(state=Parked(reason=Reason.STALE_CONTRACT)):
            return decision.move(candidate, Queued(), "what it waited for is looked at again")
        case _:
            return decision


def _contract(policy: Policy, name: str) -> Contract:
    found = next((each for each in policy.contracts if each.name == name), None)
    if found is None:
        known = ", ".join(each.name for each in policy.contracts) or "none"
        raise Refused(f"there is no contract {name} in the rules; there is {known}")
    return found


def _asked_about(
    parts: Parts, git: Git, snapshot: Snapshot, candidate: Candidate, contract: Contract
) -> str:
    """Return the revision that the question is about, on the trunk as it is now."""
    policy, tip = snapshot.policy, snapshot.tip
    if policy is None or tip is None:
        raise Refused("the trunk was not read yet; ask again in a moment")
    if not git.has(candidate.head):
        git.fetch(snapshot.lane.trunk, [candidate.pr])
    replay = git.replay(request_for(candidate, policy, tip))
    if not isinstance(replay, Replayed):
        raise Refused(f"#{candidate.pr} does not merge onto the trunk as it is now")
    change = change_of(candidate, replay.merge)
    for each in judged(parts, git, snapshot.lane, policy, change):
        if each.contract == contract.name and isinstance(each, Open | Reopened):
            return each.revision
    raise Refused(f"no change of the contract {contract.name} waits for an answer here")
