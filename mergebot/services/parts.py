"""What a use-case works with: one set of ports, put together by the wiring."""

from collections.abc import Callable
from dataclasses import dataclass

from mergebot.domain.news import News
from mergebot.ports.basics import Clock, Tokens
from mergebot.ports.doorbell import Doorbell
from mergebot.ports.forge import Forge
from mergebot.ports.git import Mirrors
from mergebot.ports.inbox import Inbox
from mergebot.ports.leases import Leases
from mergebot.ports.ledger import Ledgers
from mergebot.ports.letters import Letters
from mergebot.ports.rules import RulesReader
from mergebot.ports.runs import Logs, Runs
from mergebot.ports.signing import Notary
from mergebot.ports.store import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """The ports, how webhooks are read, and what the bot is called and reached by.

    `repos` are those to serve, by name; none stands for all that the bot's App is installed on.
    `signs_commits` tells that the commits it makes are signed.
    """

    clock: Clock
    tokens: Tokens
    forge: Forge
    mirrors: Mirrors
    store: Store
    runs: Runs
    logs: Logs
    inbox: Inbox
    leases: Leases
    ledger: Ledgers
    doorbell: Doorbell
    letters: Letters
    notary: Notary
    rules: RulesReader
    read_news: Callable[[str, bytes], News]
    public_url: str
    handle: str = "mergebot"
    repos: tuple[str, ...] = ()
    signs_commits: bool = False
