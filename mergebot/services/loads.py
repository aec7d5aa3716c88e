"""What one landing push carries: one candidate, or a group in order."""

from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Landing
from mergebot.domain.groups import lands_with
from mergebot.domain.ids import Sha
from mergebot.domain.lane import Snapshot
from mergebot.domain.receipts import Receipt


@dataclass(frozen=True, slots=True)
class Load:
    """What one push lands: one candidate, or a group in order.

    `moved` tells that the authors' branches move along for sure; where nobody knows, it is false.
    """

    landings: tuple[tuple[Candidate, Landing], ...]
    moved: bool = False

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
    def commits(self) -> tuple[tuple[int, Sha], ...]:
        """Return the merged commit of each, by PR."""
        return tuple((each.pr, state.merge.merged) for each, state in self.landings)

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
