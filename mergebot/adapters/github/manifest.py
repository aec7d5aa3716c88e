"""Making a GitHub App from a manifest: trading the code that GitHub hands back for the App."""

from urllib.parse import quote

from mergebot.adapters.github.client import Client, Server
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.values import reading
from mergebot.domain.setup import NewApp


class Anonymous:
    """Nobody in particular: the code is the credential."""

    def token(self, repo: str) -> str:  # noqa: ARG002 - the same for every repository
        """Return no token."""
        return ""

    def rejected(self, repo: str) -> None:
        """Do nothing: there is no token to be rejected."""


def redeem(server: Server, code: str) -> NewApp:
    """Return the App that was made from the manifest; raises Unavailable, Refused."""
    path = f"/app-manifests/{quote(code, safe='')}/conversions"
    ask = Ask("POST", path, "make the App from its manifest", body={})
    made = Client(server, Anonymous()).send(ask)
    with reading(ask):
        return NewApp(
            app_id=int(made["id"]),
            slug=str(made["slug"]),
            key=str(made["pem"]),
            secret=str(made["webhook_secret"] or ""),
            client_id=str(made["client_id"]),
            client_secret=str(made["client_secret"]),
        )
