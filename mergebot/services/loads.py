"""What one landing push carries: one candidate, or a group in order."""

from collections.abc import Mapping
from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Landing
from mergebot.domain.groups import lands_with
from mergebot.domain.ids import Sha
from mergebot.domain.lane import Snapshot
from mergebot.domain.policy import Method
from mergebot.domain.receipts import Receipt
from mergebot.ports.git import Git


@dataclass(frozen=True, slots=True)
class Load:
    """What one push lands: one candidate, or a group in order.

    `moved` tells that the authors' branches move along for sure, and `left` that they do not;
    where nobody knows, both are false.
    """

    landings: tuple[tuple[Candidate, Landing], ...]
    moved: bool = False
    left: bool = False

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Return the candidates, the last one at the end."""
        return tuple(candidate for candidate, _ in self.landings)

    @property
    def more(self) -> bool:
        """Tell whether it is a group."""
        return len(self.landings) > 1

    @property
    def base(self) -> Sha:
        """Return where the trunk must stand."""
        return self.landings[0][1].merge.base

    @property
    def merged(self) -> Sha:
        """Return where the trunk goes."""
        return self.landings[-1][1].merge.merged

    @property
    def receipt(self) -> Receipt:
        """Return the receipt of the last one."""
        return Receipt(self.landings[-1][1].receipt)

    @property
    def generation(self) -> int:
        """Return the generation that the receipts name."""
        return self.receipt.generation


def load_of(snapshot: Snapshot, candidate: Candidate) -> Load | None:
    """Return the push that a landing candidate is part of, or None where it is not landing."""
    if not isinstance(candidate.state, Landing):
        return None
    members = lands_with(snapshot, candidate) or (candidate,)
    landings = [(each, each.state) for each in members if isinstance(each.state, Landing)]
    return Load(tuple(landings))


def branch_to_move(snapshot: Snapshot, candidate: Candidate) -> str:
    """Return the author's branch where the forge needs it moved to show the PR as merged."""
    policy = snapshot.policy
    merge = candidate.state.merge if isinstance(candidate.state, Landing) else None
    if merge is None or policy is None or policy.queue.method is Method.MERGE:
        return ""
    if not candidate.proposal.same_repository or merge.merged == candidate.head:
        return ""
    return candidate.proposal.head_branch


def head_stays(snapshot: Snapshot, load: Load, candidate: Candidate) -> bool:
    """Tell whether the PR's branch surely stays at the head that was proposed."""
    return load.left or not branch_to_move(snapshot, candidate)


def landed_once(git: Git, load: Load, trunk: str) -> Mapping[int, Mapping[Sha, Receipt]]:
    """Return the receipts of landings that each PR would make again, by the commits they are for.

    A merged commit has any receipt for itself; what it stands on may have landed on another trunk.
    """
    receipts = git.receipts()
    found: dict[int, dict[Sha, Receipt]] = {}
    for candidate, state in load.landings:
        merge = state.merge
        for commit in git.between(merge.base, merge.merged):
            receipt = receipts.get(commit)
            if receipt is not None and (commit == merge.merged or receipt.trunk == trunk):
                found.setdefault(candidate.pr, {})[commit] = receipt
    return found
