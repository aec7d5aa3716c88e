"""A CI that is a GitHub App of its own, with the right to report on commits."""

from dataclasses import dataclass
from typing import Any, Self

import github

from tests.support.forge import ForgeProcess

PERMISSIONS = {"checks": "write", "statuses": "write", "contents": "read", "metadata": "read"}


@dataclass(frozen=True)
class CiApp:
    """An App that is installed on one account."""

    forge: ForgeProcess
    id: int
    slug: str
    token: str

    @classmethod
    def installed(cls, forge: ForgeProcess, name: str, account: str) -> Self:
        """Make an App, install it on all repositories of an account, and take a token."""
        made = forge.call("POST", "/_forge/apps", {"name": name, "permissions": PERMISSIONS})
        app: dict[str, Any] = made.json()
        placed = forge.call("POST", f"/_forge/apps/{app['id']}/installations", {"account": account})
        auth = github.Auth.AppAuth(app["id"], app["private_key"])
        integration = github.GithubIntegration(auth=auth, base_url=forge.api_url)
        token = integration.get_access_token(placed.json()["id"]).token
        return cls(forge, app["id"], app["slug"], token)

    def run(self, repo: str, sha: str, name: str, conclusion: str = "") -> None:
        """Report a check run: a conclusion, or that it is under way."""
        body = {"name": name, "head_sha": sha, "status": "in_progress"}
        done = {"status": "completed", "conclusion": conclusion} if conclusion else {}
        made = self.forge.call("POST", f"/repos/{repo}/check-runs", body | done, token=self.token)
        assert made.status_code == 201, made.text

    def status(self, repo: str, sha: str, context: str, state: str) -> None:
        """Set a commit status."""
        body = {"context": context, "state": state}
        made = self.forge.call("POST", f"/repos/{repo}/statuses/{sha}", body, token=self.token)
        assert made.status_code == 201, made.text
