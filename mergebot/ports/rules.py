"""Reading the repository's rules."""

from typing import Protocol

from mergebot.domain.policy import Policy, PolicyFaults


class RulesReader(Protocol):
    """Reads `.mergebot.toml`."""

    def parse(self, text: bytes) -> Policy | PolicyFaults:
        """Return the rules, or every fault at once, one sentence each."""
        ...
