"""What the web door works with, put together by the wiring."""

from collections.abc import Callable
from dataclasses import dataclass

from mergebot.domain.ids import Lane
from mergebot.ports.basics import Clock
from mergebot.ports.changes import Changes
from mergebot.ports.doorbell import Doorbell
from mergebot.ports.inbox import Inbox
from mergebot.ports.letters import Letters
from mergebot.ports.operator import Operator
from mergebot.ports.people import People, SignIn
from mergebot.ports.runs import Logs, Runs
from mergebot.ports.signing import Seals
from mergebot.ports.store import Store
from mergebot.services.claim_desk import ClaimDesk
from mergebot.services.hindsight import Aside
from mergebot.services.reporting import Reporting
from mergebot.services.statistics import Statistics


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Values from the environment.

    `forge_url` is where people read pull requests and commits, "" where that is not known. An
    empty `admin_token` lets nobody in.
    """

    public_url: str
    forge_url: str = ""
    admin_token: str = ""
    reconcile_s: float = 30.0


@dataclass(frozen=True, slots=True)
class WebParts:
    """The ports behind the pages.

    `verify` takes a raw body and its `X-Hub-Signature-256` header. `private` tells whether a
    lane's pages need permission to read them. `reconciled_at` is when the reconciler last went
    round, None before it did; `answered_at` is when a worker last answered the ring that the
    reconciler sends every round, and None itself where nobody can tell.
    """

    store: Store
    runs: Runs
    logs: Logs
    inbox: Inbox
    doorbell: Doorbell
    clock: Clock
    forge: People
    operator: Operator
    claims: ClaimDesk
    pages: Letters
    changes: Changes
    verify: Callable[[bytes, str], bool]
    private: Callable[[Lane], bool]
    reconciled_at: Callable[[], float | None]
    seals: Seals
    settings: WebSettings
    aside: Aside
    sign_in: SignIn | None = None
    answered_at: Callable[[], float | None] | None = None

    @property
    def reporting(self) -> Reporting:
        """Return what reads the record for pages and API."""
        where = (self.settings.public_url, self.settings.forge_url)
        return Reporting(self.store, self.runs, self.logs, self.clock, *where)

    @property
    def statistics(self) -> Statistics:
        """Return what reads the past."""
        return Statistics(self.store, self.runs, self.clock, self.aside)
