"""What setting up needs of the outside: rules that are checked, and a forge that makes an App."""

from mergebot.adapters.github.client import GITHUB_URL, Server
from mergebot.adapters.github.manifest import redeem
from mergebot.adapters.redact import Redactor
from mergebot.domain.setup import NewApp

API_SUFFIX = "/api/v3"


def website_of(api_url: str) -> str:
    """Return the address of the forge's pages, from that of its API."""
    url = api_url.rstrip("/")
    return "https://github.com" if url == GITHUB_URL else url.removesuffix(API_SUFFIX)


def new_app(api_url: str, code: str) -> NewApp:
    """Trade the code that the forge handed back for the App; raises Unavailable, Refused."""
    return redeem(Server(Redactor(), api_url), code)
