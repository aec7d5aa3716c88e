"""Looking at how the forge is set up for the bot: only for a doctor, never for a decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook of a repository; `events` are what it sends, `last` its newest deliveries."""

    id: int
    url: str
    active: bool
    events: tuple[str, ...]
    last: tuple[str, ...]


class Checkup(Protocol):
    """How a repository is set up. Every method raises Unavailable or Refused."""

    def webhooks(self, repo: str) -> Sequence[Webhook]:
        """Return the webhooks of a repository with how their last deliveries ended."""
        ...

    def labels(self, repo: str) -> Sequence[str]:
        """Return the names of the labels that a repository has."""
        ...
