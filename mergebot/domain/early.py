"""What is known of a pull request before anybody queues it, and whether it is worth saying."""

from dataclasses import dataclass

from mergebot.domain.ids import Sha


@dataclass(frozen=True, slots=True)
class Clash:
    """What the change does not merge with: a queued pull request, or the trunk (`pr` is 0)."""

    pr: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """Another open pull request that changes some of the same files."""

    pr: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim that the change's own overlaps: who has what, since when."""

    id: str
    task: str
    owner: str
    patterns: tuple[str, ...]
    since: float
    pr: int


@dataclass(frozen=True, slots=True)
class Early:
    """A pull request as it stood at `head`: what it changes, and what is in its way.

    `faults` are why its claim block cannot be used, `strays` a sentence for each path that its
    claim or the rules do not allow, `outside` those of these paths that a wider claim would allow.
    `said` is true once an earlier look had something to say.
    """

    pr: int
    head: Sha
    branch: str
    at: float
    paths: tuple[str, ...]
    claimed: tuple[str, ...]
    claim: str = ""
    faults: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()
    shared: tuple[Shared, ...] = ()
    clashes: tuple[Clash, ...] = ()
    contracts: tuple[str, ...] = ()
    said: bool = False

    @property
    def warns(self) -> bool:
        """Tell whether anything is in its way."""
        return bool(
            self.faults
            or self.strays
            or self.holders
            or self.shared
            or self.clashes
            or self.contracts
        )

    @property
    def worth_saying(self) -> bool:
        """Tell whether its author should hear of it: a warning, or a claim that was understood."""
        return self.warns or self.said or bool(self.claimed)
