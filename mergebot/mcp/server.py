"""The server that agents talk to over stdin and stdout: the tools, and refusals as sentences."""

from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from inspect import iscoroutinefunction
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from mergebot.mcp.tools import Tools
from mergebot.ports.errors import Refused, Unavailable

INSTRUCTIONS = """\
mergebot lands pull requests one after the other, each tested on the exact commit that lands.
Take a task with `next`, or claim the files of your own with `claim`, before you change anything.
Change only files that match your claim; `check_diff` tells before you push, `extend` adds files.
Open a pull request whose description has a block ```mergebot with `task` and `claims`, then
`enqueue` it and `wait`. When it was ejected, `explain` says whose doing it was, whether you may try
again and what to do first: never queue the same head again without changing something.
`release` what you do not finish, `park` what has to wait for somebody.
"""


def server_of(tools: Tools) -> MCPServer[None]:
    """Return the server of one agent's tools."""
    server: MCPServer[None] = MCPServer(
        "mergebot", instructions=INSTRUCTIONS, version=version("mergebot"), log_level="ERROR"
    )
    every = (
        tools.next, tools.claim, tools.extend, tools.release, tools.park, tools.report_cost,
        tools.check_diff, tools.enqueue, tools.status, tools.explain, tools.wait,
    )  # fmt: skip
    for tool in every:
        server.add_tool(_plain(tool), structured_output=True)
    return server


def serve(tools: Tools) -> None:
    """Answer one agent until it closes stdin."""
    server_of(tools).run("stdio")


def _plain(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return the tool with refusals as sentences for the agent."""
    if iscoroutinefunction(tool):

        @wraps(tool)
        async def waited(*args: Any, **kwargs: Any) -> Any:
            try:
                return await tool(*args, **kwargs)
            except (Refused, Unavailable) as error:
                raise ToolError(str(error)) from None

        return waited

    @wraps(tool)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            return tool(*args, **kwargs)
        except (Refused, Unavailable) as error:
            raise ToolError(str(error)) from None

    return asked
