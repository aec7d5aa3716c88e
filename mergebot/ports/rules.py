"""Reading the repository's rules."""

from mergebot.domain.policy import Policy, PolicyFaults
from typing import Protocol


class RulesReader(Protocol):
    """Reads `.mergebot.toml`."""

    def parse(self, text: bytes) -> Policy | PolicyFaults:
        """Return the rules, or every fault at once, one sentence each."""
        ...
