"""The address that the web process listens on: whether this host has it, and has it free."""

import errno
import socket
from contextlib import closing

import click

from mergebot.settings import Settings


def check_address(settings: Settings) -> None:
    """Refuse to start where nothing could listen at MERGEBOT_HOST and MERGEBOT_PORT.

    Raises ClickException. Whoever only looks whether something answers there may hear a stranger.
    """
    host, port = settings.host, settings.port
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with closing(socket.socket(family, kind)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except (OSError, UnicodeError) as error:
        raise click.ClickException(_why(error, host, port)) from None


def _why(error: Exception, host: str, port: int) -> str:
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.EADDRINUSE:
        return (
            f"Something else listens at {host}, port {port}: stop it, or set MERGEBOT_PORT to a"
            " free port."
        )
    if code == errno.EACCES:
        return f"This user may not listen on port {port}: set MERGEBOT_PORT to one above 1023."
    return f"MERGEBOT_HOST is '{host}'; allowed is an address of this host."
