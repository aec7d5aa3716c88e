"""One run of the planner over a lane, from one fresh snapshot.

    snapshot -> settle what ended -> plan -> prepare and order -> commit -> land -> again

A tick holds the lane's lease so that two do not do the same work at once; whoever finds it held
notes that it is wanted, and the holder goes round once more.
"""

from collections.abc import Sequence

import structlog

from mergebot.domain.candidate import Ejected, Queued
from mergebot.domain.capacity import rooms
from mergebot.domain.checking import Objection, objection, refuse
from mergebot.domain.decision import Decision
from mergebot.domain.groups import company_of
from mergebot.domain.hedging import drop
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Red
from mergebot.domain.limits import FORGE_WAIT_S, LANE_LEASE_S, STARTS_KEEP_S, STARTS_MAX
from mergebot.domain.planning import (
    CheckTrunk,
    Land,
    Prepare,
    PrepareGroup,
    Probe,
    Proposal,
    Restart,
    plan,
    ready,
)
from mergebot.domain.settling import settle
from mergebot.domain.speculation import pace
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.ports.leases import HeldLease, lane_lease
from mergebot.ports.store import Stale
from mergebot.services.chain import bring_tip
from mergebot.services.deciding import commit, decide
from mergebot.services.hedging import try_hedges
from mergebot.services.integrating import Hands, land, settle_landing
from mergebot.services.judging import backgrounds, give_back, try_doubts
from mergebot.services.parts import Parts
from mergebot.services.preparing import check_trunk, prepare, probe
from mergebot.services.repositories import git_of
from mergebot.services.trunk import known_green, locate, observe
from mergebot.services.vouching import with_vouched_runs
from mergebot.services.waiting import goes_on, is_refused, look_whether_it_is_back, waits

log = structlog.get_logger()

TICK = "tick"
ROUNDS = 500
STALE_TRIES = 20
AGAIN_S = 2.0


def tick(parts: Parts, lane: Lane) -> None:
    """Move the lane as far as it goes now; what cannot be done now is told and tried again."""
    while lease := parts.leases.acquire(lane_lease(lane), ttl_s=LANE_LEASE_S, purpose="tick"):
        try:
            _counted(parts, lane, lease)
        finally:
            wanted = parts.leases.release(lease)
        if not wanted:
            return


def _counted(parts: Parts, lane: Lane, lease: HeldLease) -> None:
    """Run, unless that killed its worker again and again; other lanes go on in any case."""
    if parts.store.begin(lane, TICK) > STARTS_MAX:
        minutes = STARTS_KEEP_S / 60
        waits(
            parts, lane, f"deciding about it killed {STARTS_MAX} workers; left for {minutes:g} min"
        )
        return
    _run(parts, lane, lease)
    parts.store.end(lane, TICK)


def _run(parts: Parts, lane: Lane, lease: HeldLease) -> None:
    try:
        look_whether_it_is_back(parts, lane)
        hands = Hands(parts, git_of(parts, lane), lease)
        _until_quiet(hands, lane)
    except Unavailable as error:
        wait = error.retry_after_s or FORGE_WAIT_S
        waits(parts, lane, f"{error}; tried again within {wait:.0f} s")
    except Refused as error:
        is_refused(parts, lane, str(error))
    except Exception as error:
        # A mistake of ours in one lane is told there and stops no other.
        log.exception("tick_failed", lane=lane.repo)
        what = type(error).__name__
        waits(parts, lane, f"mergebot made a mistake here ({what}); it is in the log, tried again")


def _goes_on(parts: Parts, lane: Lane, decision: Decision) -> None:
    if decision.snapshot.state.waiting:
        decide(parts, lane, goes_on)


def _until_quiet(hands: Hands, lane: Lane) -> None:
    stale, steps = 0, ROUNDS
    for _ in range(ROUNDS):
        # Where others keep writing, what is written in small steps gets through.
        decision = Decision(hands.parts.store.read(lane))
        if decision.snapshot.state.recovering:
            return
        try:
            decision = _round(hands, decision, steps)
            if not decision.touched:
                _goes_on(hands.parts, lane, decision)
                return
            commit(hands.parts, decision)
            stale = 0
        except Stale:
            stale, steps = stale + 1, 1
            if stale > STALE_TRIES:
                text = f"the record of {lane.repo} kept changing"
                raise Unavailable(text, AGAIN_S) from None


def _round(hands: Hands, decision: Decision, steps: int) -> Decision:
    """Go one round, following at most `steps` plans before the record is written."""
    bring_tip(hands.git, decision.snapshot)
    decision = settle_landing(hands, decision)
    if decision.snapshot.tip is None:
        decision = _first_look(hands, decision)
    decision = _settled(hands, with_vouched_runs(hands.parts.notary, decision))
    landing: Land | None = None
    for _ in range(steps):
        proposals = plan(decision.snapshot)
        landing = next((each for each in proposals if isinstance(each, Land)), None)
        others = [each for each in proposals if not isinstance(each, Land)]
        checked = [(each, objection(decision.snapshot, each)) for each in others]
        if all(against for _, against in checked):
            decision = _refuse_all(decision, [against for _, against in checked if against])
            break
        for proposal, _ in checked:
            decision = _follow_checked(hands, decision, proposal)
    decision = _with_mode(decision)
    if landing is None:
        decision = try_doubts(hands.parts, hands.git, decision)
        return try_hedges(hands.parts, hands.git, decision)
    decision = drop(decision)
    against = objection(decision.snapshot, landing)
    if against is not None:
        return refuse(decision, against)
    if decision.touched:
        decision = Decision(commit(hands.parts, decision))
    return land(hands, decision, landing.pr)


def _settled(hands: Hands, decision: Decision) -> Decision:
    found = backgrounds(hands.parts, hands.git, decision.snapshot)
    settled = give_back(hands.parts, locate(hands.git, settle(decision, found)))
    ended = [each for each in settled.candidates if isinstance(each.state, Ejected)]
    return _trunk_first(hands, decision, ended[0].pr) or settled if ended else settled


def _trunk_first(hands: Hands, decision: Decision, pr: int) -> Decision | None:
    """Look at the trunk before somebody is sent away: None while it is where the record has it.

    A record that lost its last writes may not know that the very change has landed.
    """
    lane = decision.snapshot.lane
    tip = hands.git.remote_heads(lane.trunk, pr).trunk
    if tip is None or tip == decision.snapshot.tip:
        return None
    fetched = hands.git.fetch(lane.trunk, []).trunk
    return observe(hands.parts, hands.git, decision, fetched) if fetched else None


def _refuse_all(decision: Decision, objections: Sequence[Objection]) -> Decision:
    for each in objections:
        decision = refuse(decision, each)
    return decision


def _follow_checked(hands: Hands, decision: Decision, proposal: Proposal) -> Decision:
    against = objection(decision.snapshot, proposal)
    if against is not None:
        log.warning("proposal_refused", lane=decision.snapshot.lane.repo, why=against.text)
        return refuse(decision, against)
    return _follow(hands, decision, proposal)


def _with_mode(decision: Decision) -> Decision:
    """Say how the planner works now, with whatever else is written anyway."""
    snapshot = decision.snapshot
    mode = pace(snapshot, ready(snapshot)).text if snapshot.policy else ""
    room = rooms(snapshot.hosts, snapshot.state.rooms)
    changed = (mode, room) != (snapshot.state.mode, snapshot.state.rooms)
    return decision.lane(mode=mode, rooms=room) if decision.touched and changed else decision


def _first_look(hands: Hands, decision: Decision) -> Decision:
    lane = decision.snapshot.lane
    tip = hands.git.fetch(lane.trunk, []).trunk
    if tip is None:
        raise Refused(f"{lane.repo} has no branch {lane.trunk}, so nothing can land there")
    return observe(hands.parts, hands.git, decision, tip)


def _follow(hands: Hands, decision: Decision, proposal: Proposal) -> Decision:
    match proposal:
        case CheckTrunk(tip):
            known = known_green(hands.parts, hands.git, decision, tip)
            return known or check_trunk(hands.parts, decision, proposal)
        case Probe():
            health = decision.snapshot.state.health
            if not isinstance(health, Red):
                return decision
            return probe(hands.parts, decision, proposal, health)
        case Prepare() | PrepareGroup():
            return prepare(hands.parts, hands.git, decision, proposal)
        case Restart(pr):
            candidate = decision.snapshot.candidate(pr)
            if candidate is None:
                return decision
            text = "what is ahead of it changed: its gate starts anew"
            company = company_of(candidate.state)
            return decision.move(candidate, Queued(company), text)
        case Land():
            return decision


def look(parts: Parts, lane: Lane, git: Git) -> None:
    """Account for the trunk as the remote shows it now. Raises Unavailable, Refused."""
    tip = git.fetch(lane.trunk, []).trunk
    if tip is None:
        raise Refused(f"{lane.repo} has no branch {lane.trunk}, so nothing can land there")
    decide(parts, lane, lambda decision: observe(parts, git, decision, tip))
