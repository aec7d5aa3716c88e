"""An HTTP server that answers as it is told: for what a good forge does only on a bad day."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Reply:
    """A plain answer; `content` is sent as JSON, bytes as they are."""

    status: int = 200
    content: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        if self.content is None:
            return b""
        return (
            self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()
        )


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset without an answer."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing comes back until the server stops."""


Act = Reply | Reset | Silence
Script = Callable[["Seen"], Act]


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    content: Any


class Scripted:
    """What the server was told to answer, and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[Seen] = []
        self.stopping = threading.Event()
        self._scripts: dict[tuple[str, str], Script] = {}

    def on(self, method: str, path: str, *acts: Act) -> None:
        """Answer with `acts` in turn; the last one stays."""
        left = list(acts)
        self._scripts[method, path] = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def run(self, method: str, path: str, script: Script) -> None:
        """Answer with what `script` returns, which may have effects first."""
        self._scripts[method, path] = script

    def asked(self, method: str) -> list[Seen]:
        return [each for each in self.seen if each.method == method]

    def act(self, seen: Seen) -> Act:
        self.seen.append(seen)
        script = self._scripts.get((seen.method, seen.path))
        return script(seen) if script else Reply(404, {"message": "Not Found"})


@contextmanager
def scripted() -> Iterator[Scripted]:
    """Run a server of its own for one test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    told = Scripted(f"http://127.0.0.1:{server.server_address[1]}")
    server.told = told  # type: ignore[attr-defined]  # how a stdlib handler reaches its surroundings
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield told
    finally:
        told.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body in one segment, or each answer waits 40 ms for an ACK

    def _answer(self) -> None:
        told: Scripted = self.server.told  # type: ignore[attr-defined]  # see scripted()
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        content = json.loads(raw) if raw else None
        act = told.act(
            Seen(self.command, parts.path, dict(parse_qsl(parts.query)), headers, content)
        )
        match act:
            case Silence():
                told.stopping.wait(30)
                self.close_connection = True
            case Reset():
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
            case Reply():
                self.send_response_only(act.status)  # without a Date of its own
                for name, value in act.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(act.body)))
                self.end_headers()
                self.wfile.write(act.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the stdlib's name
        """Say nothing."""


for _method in ("GET", "POST", "PATCH", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler._answer)
