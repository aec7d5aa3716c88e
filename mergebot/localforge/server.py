"""The forge as a process: its root, its admin, its socket, and a clean end."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from mergebot.localforge import git_http, people, repositories
from mergebot.localforge.app import Application
from mergebot.localforge.forge import Forge

DEFAULT_PORT = 8430
BACKLOG = 512
GRACE_S = 10


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a forge is served from and what it calls itself."""

    root: Path
    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    public_url: str = ""


class Server(uvicorn.Server):
    """uvicorn that says when it is ready, and for which being stopped is a good end."""

    ready: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve, then tell it."""
        await super().startup(sockets)
        if self.started:
            self.ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT; uvicorn's own would raise the signal again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {s: signal.signal(s, self.handle_exit) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where the protocol is named; every answer of two
    # writes would else wait 40 ms for the client's delayed acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


def prepare(where: Listening, listening: socket.socket) -> tuple[Forge, Server]:
    """Return a forge ready to be served on a bound socket."""
    port = listening.getsockname()[1]
    named = "127.0.0.1" if where.host in {"0.0.0.0", "::"} else where.host  # noqa: S104 - compared
    where.root.mkdir(parents=True, exist_ok=True)
    forge = Forge(where.root.resolve(), where.public_url or f"http://{named}:{port}")
    people.ensure_admin(forge)
    git_http.install_hooks(forge)
    git_http.finish_pushes(forge)
    (forge.root / "address").write_text(f"{forge.url}\n", "utf-8")
    config = uvicorn.Config(
        Application(forge),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=75,
    )
    return forge, Server(config)


def serve(where: Listening, ready: Callable[[Forge], None]) -> None:
    """Serve until SIGTERM or SIGINT; raise OSError when the address is taken."""
    with bind(where.host, where.port) as listening:
        forge, server = prepare(where, listening)
        server.ready = lambda: ready(forge)
        server.run(sockets=[listening])


def import_repository(forge: Forge, source: Path, full_name: str) -> str:
    """Copy branches and tags of an existing git repository; return the clone address."""
    owner_login, _, name = full_name.partition("/")
    owner = people.ensure(forge.store, owner_login)
    repo = repositories.adopt(forge, owner, name, source)
    return f"{forge.url}/{repositories.full_name(repo)}.git"
