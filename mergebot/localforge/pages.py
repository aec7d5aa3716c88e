"""Pages."""

from starlette.routing import Route
from mergebot.localforge.forge import Forge


def routes(forge: Forge) -> list[Route]:
    return []
