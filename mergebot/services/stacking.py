"""What a pull request has to wait for: the one it is stacked on, and those it says it depends on.

A stacked one targets another's branch. Once that has landed it is retargeted to the trunk, and the
commits that landed with its parent are left out of its own replay.
"""

from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Landed, Parked
from mergebot.domain.dependencies import depends_on
from mergebot.domain.ids import Lane
from mergebot.domain.landing import Turn
from mergebot.domain.pulls import PullRequest
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Missing
from mergebot.services.parts import Parts

LANDED_LOOKED_AT = 500


@dataclass(frozen=True, slots=True)
class Standing:
    """What a PR waits for (`blocked`, "" for nothing), and the branch it is stacked on.

    `since` is the head that its parent landed with, "" where it has no parent.
    """

    blocked: str = ""
    stacked_on: str = ""
    since: str = ""


FREE = Standing()


def standing_of(parts: Parts, lane: Lane, pull: PullRequest) -> Standing:
    """Return where a PR stands, and retarget it where its parent landed; raises Unavailable."""
    if pull.closed:
        return FREE
    if pull.base != lane.trunk:
        return _stacked(parts, lane, pull)
    blocked = _undone(parts, lane, pull)
    candidate = parts.store.read(lane).candidate(pull.number)
    parent = _landed_with(parts, lane, candidate.proposal.base) if candidate else None
    return Standing(blocked, since=parent.head if parent else "")


def dependency_turn(parts: Parts, lane: Lane, pull: PullRequest) -> Turn | None:
    """Return what becomes of a PR that says by now that it depends on another one, else None."""
    blocked = _undone(parts, lane, pull)
    return Turn(Parked(Reason.NOT_READY, blocked), blocked) if blocked else None


def _undone(parts: Parts, lane: Lane, pull: PullRequest) -> str:
    """Say which of those that a PR depends on has not landed, "" where all have."""
    waited_for = (
        number
        for number in depends_on(pull.body)
        if number != pull.number and not _has_landed(parts, lane, number)
    )
    return next((f"it depends on #{number}, which has not landed" for number in waited_for), "")


def _stacked(parts: Parts, lane: Lane, pull: PullRequest) -> Standing:
    open_parents = [
        each.number
        for each in parts.forge.open_pulls(lane.repo)
        if each.head_branch == pull.base
        and each.head_repo == lane.repo
        and each.number != pull.number
    ]
    if open_parents:
        text = f"it is stacked on #{open_parents[0]}, and waits until that has landed"
        return Standing(text, pull.base)
    parent = _landed_with(parts, lane, pull.base)
    if parent is None:
        return FREE
    parts.forge.retarget(lane.repo, pull.number, lane.trunk)
    text = f"#{parent.pr} has landed, so it is retargeted to {lane.trunk}"
    return Standing(text, pull.base)


def _landed_with(parts: Parts, lane: Lane, branch: str) -> Candidate | None:
    """Return the candidate that landed from a branch, None where none did."""
    if not branch:
        return None
    ended = parts.store.ended(lane, limit=LANDED_LOOKED_AT)
    return next(
        (
            each
            for each in ended
            if isinstance(each.state, Landed)
            and each.proposal.same_repository
            and each.proposal.head_branch == branch
        ),
        None,
    )


def _has_landed(parts: Parts, lane: Lane, number: int) -> bool:
    latest = parts.store.latest(lane, number)
    if latest is not None and isinstance(latest.state, Landed):
        return True
    try:
        return parts.forge.pull(lane.repo, number).merged
    except Missing:
        return False
