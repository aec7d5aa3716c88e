"""`mergebot mcp`: the agent's tools over MCP, on stdin and stdout."""

from pathlib import Path

import click

from mergebot.adapters.claim_tokens import ClaimTokens
from mergebot.cli.client import bot, repository
from mergebot.settings import load


@click.command()
@click.option("--repo", default="", help="owner/name; the only one where left out.")
@click.option(
    "--directory",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The checkout that the agent works in.",
)
def mcp(repo: str, directory: Path) -> None:
    """Serve an agent's tools over MCP on stdin and stdout.

    It asks the running bot as whoever MERGEBOT_AGENT_TOKEN belongs to on the forge; without that,
    as the admin of a bot on this machine.
    """
    from mergebot.mcp.server import serve  # noqa: PLC0415  # slow to import
    from mergebot.mcp.tools import Tools  # noqa: PLC0415  # slow to import

    running = bot()
    serve(Tools(running, repository(repo, running), ClaimTokens(load().home), directory.resolve()))
