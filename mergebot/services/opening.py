"""Which branch a repository's lane lands on: the trunk that the rules on its default branch name.

A trunk that was renamed, or that the rules name anew, is another lane. The one before it is left
where it stands: nothing is gated or landed there any more, and the new one begins like a lane whose
record was lost, from the labels, the receipts and the halt that git remembers.
"""

import structlog

from mergebot.domain.candidate import Landing
from mergebot.domain.decision import Decision
from mergebot.domain.halting import OWN_HALT
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Halt
from mergebot.domain.policy import Policy
from mergebot.domain.pulls import Repository
from mergebot.ports.errors import Refused
from mergebot.ports.git import Git
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts
from mergebot.services.repositories import repository_of
from mergebot.services.trunk import read_rules

log = structlog.get_logger()

USUAL = "main"
"""The trunk of rules that name none; where there is no such branch, it is the default branch."""


def open_lane(parts: Parts, repo: str) -> Lane:
    """Return the lane of a repository, made known first where it is new, was renamed or moves on.

    Raises Unavailable, and Refused where there is no branch to land on, or where the repository is
    archived: its lane is closed then.
    """
    repository = repository_of(parts, repo)
    known = next((each for each in parts.store.lanes() if each.repo_id == repository.id), None)
    if repository.archived:
        _shelve(parts, known)
        raise Refused(f"{repo} is archived: it takes no changes until somebody brings it back")
    trunk = _followed(parts, repository, known) if known else _trunk(parts, repository)
    lane = Lane(repository.id, repository.full_name, trunk)
    if known is None or known != lane:
        parts.store.open_lane(lane)
    if known is not None and known.key != lane.key:
        log.warning("trunk_followed", lane=lane.repo, was=known.trunk, now=trunk)
        parts.store.close_lane(known)
    return lane


def _shelve(parts: Parts, known: Lane | None) -> None:
    if known is not None:
        log.warning("lane_closed", lane=known.repo, why="it was archived")
        parts.store.close_lane(known)


def _followed(parts: Parts, repository: Repository, known: Lane) -> str:
    """Return the trunk of a known lane, and stop it where it is no trunk any more."""
    snapshot = parts.store.read(known)
    policy = snapshot.policy
    here = repository.default_branch == known.trunk
    if here and (policy is None or policy.trunk == known.trunk):
        return known.trunk
    try:
        trunk = _trunk(parts, repository, known)
    except Refused as error:
        _halt(parts, known, str(error))
        return known.trunk
    if trunk == known.trunk:
        return trunk
    if any(isinstance(each.state, Landing) for each in snapshot.candidates):
        # Only reading it back ends a landing; the next round follows.
        return known.trunk
    decide(parts, known, lambda decision: _left(decision, trunk))
    return trunk


def _trunk(parts: Parts, repository: Repository, known: Lane | None = None) -> str:
    """Return the trunk that the default branch names; where its rules cannot be used, as it was."""
    git, default = parts.mirrors.of(repository), repository.default_branch
    tip = git.fetch(default, []).trunk
    if tip is None:
        raise Refused(f"{repository.full_name} has no branch {default} yet")
    policy = read_rules(git, parts.rules, tip).policy
    wanted = known.trunk if known else default
    if isinstance(policy, Policy):
        wanted = policy.trunk
    if wanted == default or _there(git, wanted):
        return wanted
    if wanted == USUAL:
        return default
    raise Refused(
        f"the rules on {default} name {wanted} as the trunk, and there is no such branch: "
        "make it, or change `trunk` in .mergebot.toml"
    )


def _there(git: Git, branch: str) -> bool:
    return git.fetch(branch, []).trunk is not None


def _halt(parts: Parts, lane: Lane, text: str) -> None:
    def rule(decision: Decision) -> Decision:
        ends = "somebody resumes after setting the trunk right"
        return decision.halt(Halt(text, decision.snapshot.now, OWN_HALT, ends), text)

    decide(parts, lane, rule)


def _left(decision: Decision, trunk: str) -> Decision:
    """Stop what runs; should the trunk come back, the record is rebuilt before anything lands."""
    for name, run in decision.snapshot.runs.items():
        decision = decision.stop(name) if run.result is None else decision
    text = f"the trunk is {trunk} now: this queue ends, and that one begins from the labels"
    return decision.lane(recovering=True).tell("trunk", text)
