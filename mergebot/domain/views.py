"""What pages and API show of a lane, computed from one snapshot; pure, so both show the same."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.candidate import (
    Cancelled,
    Candidate,
    Claim,
    Ejected,
    Gating,
    Hedge,
    Kind,
    Landed,
    Parked,
    Queued,
)
from mergebot.domain.gate import Step
from mergebot.domain.health import first_bad
from mergebot.domain.lane import Green, Red, Run, Snapshot, UnknownHealth
from mergebot.domain.markdown import plain
from mergebot.domain.planning import in_order
from mergebot.domain.policy import Policy, PolicyFaults
from mergebot.domain.recovery import recovery_text
from mergebot.domain.status import NOWHERE, Document, Place, Setting, state_name, status_document
from mergebot.domain.wording import DAY_S, iso

BY_ITSELF = "mergebot"


def trunk_view(snapshot: Snapshot) -> Document:
    """Return the trunk's branch, tip and health: green, red or unknown."""
    health = snapshot.state.health
    word = {Green: "green", Red: "red"}.get(type(health), "unknown")
    if snapshot.state.refused_since:
        word = "unknown"
    since = health.since if isinstance(health, Green | Red) else None
    return {
        "branch": snapshot.lane.trunk,
        "sha": health.tip or snapshot.state.known_tip,
        "health": word,
        "since": None if since is None else iso(since),
    }


def halted_view(snapshot: Snapshot) -> Document | None:
    """Return why nothing lands, who said so, and when that ends; None while the lane is free."""
    state = snapshot.state
    red = state.health if isinstance(state.health, Red) else None
    commit = (first_bad(red) or red.tip) if red else None
    facts: Document = {
        "commit": commit,
        "found": bool(red and first_bad(red)),
        "step": red.step if red else None,
        "run": (red.run or None) if red else None,
        "repairs": [each.pr for each in snapshot.candidates if each.kind is Kind.REPAIR],
    }
    if state.halt:
        halt = state.halt
        return facts | {
            "reason": halt.reason,
            "since": iso(halt.since),
            "by": halt.by,
            "ends_when": halt.ends_when,
        }
    if red:
        return facts | {
            "reason": f"{snapshot.lane.trunk} is red: the step {red.step} fails on its tip",
            "since": iso(red.since),
            "by": BY_ITSELF,
            "ends_when": "by itself, once a tip of the trunk is green",
        }
    if isinstance(state.rules.policy, PolicyFaults):
        return facts | {
            "reason": ".mergebot.toml is broken: " + " ".join(state.rules.policy.faults),
            "since": iso(state.rules.since) if state.rules.since else None,
            "by": BY_ITSELF,
            "commit": state.rules.at,
            "ends_when": "by itself, once the file on the trunk is repaired",
        }
    return None


def planner_view(snapshot: Snapshot) -> Document:
    """Return how the planner works now, with which slots, and its refused proposals by reason."""
    state, capacity = snapshot.state, snapshot.capacity
    return {
        "mode": state.mode or None,
        "refused": dict(state.refusals.counts),
        "slots": {
            "announced": capacity.announced,
            "counted": capacity.counted,
            "why": capacity.why or None,
        },
    }


@dataclass(frozen=True, slots=True)
class Scene:
    """A snapshot, what its pages need beside it, and where everybody stands, in landing order."""

    snapshot: Snapshot
    setting: Setting
    usual: Mapping[str, float]
    order: Sequence[Candidate]
    places: Mapping[int, Place]


def scene(snapshot: Snapshot, setting: Setting, usual: Mapping[str, float]) -> Scene:
    """Return the scene of a snapshot; `usual` has the usual seconds of each step."""
    order = in_order(snapshot)
    return Scene(snapshot, setting, usual, order, places(snapshot, order, usual))


def entry_view(candidate: Candidate, scene: Scene) -> Document:
    """Return the document of section 5 and what a reader of the queue wants beside it."""
    proposal = candidate.proposal
    running = _running(candidate, scene.snapshot, scene.usual)
    place = scene.places.get(candidate.pr, NOWHERE) if candidate.open else NOWHERE
    return status_document(candidate, scene.setting, place) | {
        "title": proposal.title,
        "author": {"id": proposal.author.id, "login": proposal.author.login},
        "branch": proposal.head_branch,
        "kind": candidate.kind.value,
        "task": candidate.claim.task if isinstance(candidate.claim, Claim) else None,
        "enqueued_at": iso(candidate.enqueued_at),
        "enqueued_by": {"id": candidate.enqueued_by.id, "login": candidate.enqueued_by.login},
        "running": running,
        "hedges": [_hedge_view(each, scene.snapshot) for each in candidate.hedges],
    }


def places(
    snapshot: Snapshot, order: Sequence[Candidate], usual: Mapping[str, float]
) -> dict[int, Place]:
    """Return where each open candidate stands, and when it lands if all goes as it usually does."""
    gate_s = None if halted_view(snapshot) else _gate_s(snapshot, usual)
    found: dict[int, Place] = {}
    waiting, rest_s = 0, 1.0
    slots = max(snapshot.capacity.counted, 1)
    for position, each in enumerate(order, 1):
        step = ""
        match each.state:
            case Gating(run=run, since=since):
                rest_s = max(rest_s, (gate_s or 0.0) - (snapshot.now - since))
                step = snapshot.runs[run].progress.step if run in snapshot.runs else ""
            case Queued():
                waiting += 1
            case _:
                pass
        rounds = -(-waiting // slots)
        known = gate_s is not None and not isinstance(each.state, Parked)
        found[each.pr] = Place(position, rest_s + rounds * (gate_s or 0.0) if known else None, step)
    return found


def _gate_s(snapshot: Snapshot, usual: Mapping[str, float]) -> float | None:
    policy = snapshot.policy
    if policy is None or not all(step.name in usual for step in policy.gate.steps):
        return None
    return sum(usual[step.name] for step in policy.gate.steps)


def _running(
    candidate: Candidate, snapshot: Snapshot, usual: Mapping[str, float]
) -> Document | None:
    if not isinstance(candidate.state, Gating):
        return None
    run = snapshot.runs.get(candidate.state.run)
    progress = run.progress if run else None
    step = progress.step if progress else ""
    since = progress.step_since if progress and step else candidate.state.since
    return {
        "run": candidate.state.run,
        "step": step or None,
        "since": iso(since),
        "elapsed_s": round(max(snapshot.now - since, 0.0), 1),
        "usual_s": round(usual[step], 1) if step in usual else None,
        "steps_done": list(progress.steps_done) if progress else [],
        "steps": [each.name for each in _steps(run, snapshot)],
        "worker": progress.worker if progress and progress.worker else None,
    }


def _hedge_view(hedge: Hedge, snapshot: Snapshot) -> Document:
    run = snapshot.runs.get(hedge.run)
    ended = None if run is None or run.result is None else type(run.result).__name__.lower()
    return {
        "without": hedge.without,
        "why": hedge.why,
        "run": hedge.run,
        "base": hedge.merge.base,
        "merged": hedge.merge.merged,
        "since": iso(hedge.since),
        "ended": ended,
    }


def _steps(run: Run | None, snapshot: Snapshot) -> Sequence[Step]:
    if run:
        return run.order.spec.steps
    return snapshot.policy.gate.steps if snapshot.policy else ()


def counts_view(candidates: Sequence[Candidate]) -> dict[str, int]:
    """Return how many open candidates are in each state, and how many there are."""
    found = Counter(state_name(each.state) for each in candidates)
    names = ("queued", "parked", "gating", "verified", "landing")
    return {name: found[name] for name in names} | {"open": len(candidates)}


def matches(candidate: Candidate, words: str) -> bool:
    """Tell whether every word of a search occurs in what a candidate's row shows."""
    if not words:
        return True
    claim = candidate.claim
    shown = [
        f"#{candidate.pr}",
        candidate.proposal.title,
        candidate.proposal.author.login,
        candidate.proposal.head_branch,
        state_name(candidate.state),
        *((claim.task, *claim.patterns) if isinstance(claim, Claim) else ()),
    ]
    text = "\n".join(shown).casefold()
    return all(word in text for word in words.casefold().split())


def idle_s(snapshot: Snapshot, last: float) -> float:
    """Return for how long a queue that could move did not; `last` is when its story last grew.

    A queue is moving while a gate runs on it or a landing is under way; a halted, waiting or
    recovering one has its reason, and so has one where everything is parked.
    """
    state = snapshot.state
    if halted_view(snapshot) or state.recovering or state.waiting or snapshot.policy is None:
        return 0.0
    movable = [each for each in snapshot.candidates if not isinstance(each.state, Parked)]
    running = [run for run in snapshot.runs.values() if run.result is None and run.progress.beat]
    if not movable or running:
        return 0.0
    ends = [run.ended_at for run in snapshot.runs.values()]
    news = max([last, *ends, min(each.enqueued_at for each in movable)])
    return max(snapshot.now - news, 0.0)


def recovered_view(snapshot: Snapshot) -> Document | None:
    """Return what the last rebuild of the record brought back; None where there was none."""
    recovery = snapshot.state.recovered
    if recovery is None:
        return None
    return {
        "at": iso(recovery.at),
        "landed": recovery.landed,
        "kept": recovery.kept,
        "queued": recovery.queued,
        "text": recovery_text(recovery),
        "recent": snapshot.now - recovery.at < DAY_S and recovery.landed + recovery.kept > 0,
    }


def ended_at(candidate: Candidate) -> float | None:
    """Return when a candidate ended, None while it is open."""
    match candidate.state:
        case Landed(at=at) | Ejected(at=at) | Cancelled(at=at):
            return at
        case _:
            return None


def seconds_in_queue(candidate: Candidate) -> float | None:
    """Return how long a landed candidate took from its label to the trunk, else None."""
    if not isinstance(candidate.state, Landed):
        return None
    return max(candidate.state.at - candidate.enqueued_at, 0.0)


def policy_view(snapshot: Snapshot) -> Document:
    """Return the rules in force, as far as pages show them."""
    policy = snapshot.state.rules.policy
    if isinstance(policy, Policy):
        names: list[str] = [step.name for step in policy.gate.steps]
        return {"at": snapshot.state.rules.at, "label": policy.queue.label, "steps": names}
    return {"at": snapshot.state.rules.at, "label": None, "steps": []}


def waiting_view(snapshot: Snapshot) -> str | None:
    """Return why the lane cannot go on for now, or None while it can."""
    health = snapshot.state.health
    untested = plain(health.why) if isinstance(health, UnknownHealth) else ""
    return snapshot.state.waiting or untested or None
