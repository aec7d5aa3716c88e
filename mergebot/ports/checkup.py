"""Looking at how the forge is set up for the bot: only for a doctor, never for a decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Failure:
    """A delivery that did not arrive, and was not delivered again since; `how` it failed."""

    id: int
    event: str
    how: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook of a repository, or of the bot's App where `id` is 0; `events` are what it sends.

    `failures` are its newest ones, which the forge can deliver again.
    """

    id: int
    url: str
    active: bool
    events: tuple[str, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Lack:
    """What the bot's token or App was not given: without `needed` something fails."""

    needed: tuple[str, ...] = ()
    useful: tuple[str, ...] = ()


class Checkup(Protocol):
    """How a repository is set up. Every method raises Unavailable or Refused."""

    @property
    def by_app(self) -> bool:
        """Whether the bot is an App: it holds grants, and no role of a collaborator."""
        ...

    def clock_ahead_s(self) -> float:
        """Return by how many seconds this host's clock is ahead of the forge's; below 0: behind."""
        ...

    def lack(self, repo: str) -> Lack:
        """Return what the bot may not do in a repository, as far as the forge tells."""
        ...

    def webhooks(self, repo: str) -> Sequence[Webhook]:
        """Return the webhooks that tell of a repository, with what they failed to deliver."""
        ...

    def redeliver(self, repo: str, webhook: Webhook, failure: Failure) -> None:
        """Ask the forge to deliver something again, under the same id."""
        ...

    def labels(self, repo: str) -> Sequence[str]:
        """Return the names of the labels that a repository has."""
        ...

    def buttons(self, repo: str) -> Sequence[str]:
        """Return the forge's own ways to merge a PR there that are switched on."""
        ...

    def signing_keys(self, login: str) -> Sequence[str]:
        """Return the public keys by which an account signs commits; raises Missing for nobody."""
        ...
