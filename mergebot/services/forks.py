"""The branches of forks: moved right before a landing, so that the forge sees it as merged.

A fork is a repository of its own, so this cannot be part of the atomic push. It is a courtesy: done
only where the author lends the branch and it still is at the gated head, taken back where the
landing did not happen, and no landing ever waits for it or fails by it.
"""

from collections.abc import Sequence

import structlog

from mergebot.domain.candidate import Candidate, Landing, Merge, merge_of
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Snapshot
from mergebot.domain.policy import Method
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.services.parts import Parts
from mergebot.services.repositories import repository_of

log = structlog.get_logger()

Landings = Sequence[tuple[Candidate, Landing]]


def unseen(snapshot: Snapshot, candidate: Candidate, merge: Merge) -> bool:
    """Tell whether the forge cannot see by itself that it landed: it did as other commits."""
    merging = snapshot.policy is not None and snapshot.policy.queue.method is Method.MERGE
    return not (candidate.proposal.same_repository or merging or merge.merged == candidate.head)


def move_forks(parts: Parts, git: Git, snapshot: Snapshot, landings: Landings) -> None:
    """Move the forks' branches to what is about to land."""
    for each, state in landings:
        if unseen(snapshot, each, state.merge):
            _move(parts, git, snapshot.lane, each.pr, old=each.head, new=state.merge.merged)


def take_back(parts: Parts, git: Git, snapshot: Snapshot, landings: Landings) -> None:
    """Move them back to their heads where the landing did not happen."""
    for each, state in landings:
        if unseen(snapshot, each, state.merge):
            _move(parts, git, snapshot.lane, each.pr, old=state.merge.merged, new=each.head)


def close_unseen(parts: Parts, lane: Lane, pr: int) -> None:
    """Close a PR that landed, unless its branch was moved: then the forge sees that it did."""
    latest = parts.store.latest(lane, pr)
    merge = merge_of(latest.state) if latest else None
    pull = parts.forge.pull(lane.repo, pr)
    if not pull.closed and (merge is None or pull.head != merge.merged):
        parts.forge.close(lane.repo, pr)


def _move(parts: Parts, git: Git, lane: Lane, pr: int, *, old: Sha, new: Sha) -> None:
    try:
        pull = parts.forge.pull(lane.repo, pr)
        if not pull.lent or pull.closed or pull.head != old or not pull.head_repo:
            return
        fork = repository_of(parts, pull.head_repo)
        git.push_fork(fork, pull.head_branch, old=old, new=new)
    except (Unavailable, Refused) as error:
        log.info("fork_left_alone", lane=lane.repo, pr=pr, why=str(error))
