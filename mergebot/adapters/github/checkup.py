"""How a repository on GitHub is set up for the bot: its webhooks and its labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from mergebot.adapters.github import values
from mergebot.adapters.github.client import Client
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.paths import at
from mergebot.ports.checkup import Webhook
from mergebot.ports.errors import Refused

DELIVERIES_SHOWN = 5


class GithubCheckup:
    """Keeps the port Checkup; its errors are those of the client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def webhooks(self, repo: str) -> Sequence[Webhook]:
        """Return the webhooks of a repository with how their last deliveries ended."""
        ask = Ask("GET", at(repo, "hooks"), f"list the webhooks of {repo}", repo)
        with values.reading(ask):
            return [self._webhook(repo, each) for each in self._client.pages(ask)]

    def _webhook(self, repo: str, hook: Mapping[str, Any]) -> Webhook:
        config = hook["config"]
        return Webhook(
            id=hook["id"],
            url=str(config.get("url", "")),
            active=bool(hook["active"]),
            events=tuple(hook["events"]),
            last=self._deliveries(repo, hook["id"]),
        )

    def _deliveries(self, repo: str, hook: int) -> tuple[str, ...]:
        path = at(repo, "hooks", hook, "deliveries")
        aim = f"list the deliveries of a webhook of {repo}"
        ask = Ask("GET", path, aim, repo, {"per_page": DELIVERIES_SHOWN})
        try:
            with values.reading(ask):
                found = self._client.send(ask)[:DELIVERIES_SHOWN]
                return tuple(f"{each['event']} {each['status']}" for each in found)
        except Refused:
            return ()

    def labels(self, repo: str) -> Sequence[str]:
        """Return the names of the labels that a repository has."""
        ask = Ask("GET", at(repo, "labels"), f"list the labels of {repo}", repo)
        with values.reading(ask):
            return [str(each["name"]) for each in self._client.pages(ask)]
