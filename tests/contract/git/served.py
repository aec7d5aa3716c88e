"""A repository over HTTP: `git http-backend` behind a token, with faults on demand."""

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from tests.contract.git.scenes import TOKEN
from tests.support.gitrepo import Repo

DROP, DROP_AFTER, ECHO = 1, 2, 3
ALLOWED = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()


@dataclass(slots=True)
class Served:
    """The server's knobs: `faults` by the end of a path, and what was seen of this machine.

    `elsewhere` is where a fault that redirects points, ECHO says aloud what it was sent in secret.
    """

    root: Path
    port: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    elsewhere: str = ""
    requests: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/origin.git"


def everything_visible() -> list[str]:
    """Return command line and environment of every process that this one may look at."""
    seen = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            texts = [(folder / name).read_bytes() for name in ("cmdline", "environ")]
        except OSError:
            continue
        seen.append(b" ".join(texts).decode("utf-8", "replace").replace("\0", " "))
    return seen


@contextmanager
def serving(repo: Repo) -> Iterator[Served]:
    repo.git("config", "http.receivepack", "true")
    served = Served(repo.path.parent)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(self, served)

        def do_POST(self) -> None:
            answer(self, served)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.port = server.server_port
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()


def answer(handler: BaseHTTPRequestHandler, served: Served) -> None:
    body = received(handler)
    path = urlsplit(handler.path).path
    served.requests.append(f"{handler.command} {path}")
    served.processes += everything_visible()
    fault = next((code for end, code in served.faults.items() if path.endswith(end)), 0)
    if fault == DROP:
        handler.close_connection = True
        return
    if fault == ECHO:
        told = f"you said {handler.headers.get('Authorization')}\n".encode()
        send(handler, 403, {"Content-Type": "text/plain"}, told)
        return
    if fault > ECHO:
        send(handler, fault, {"Location": f"{served.elsewhere}{handler.path}"}, b"no\n")
        return
    if handler.headers.get("Authorization") != ALLOWED:
        send(handler, 401, {"WWW-Authenticate": 'Basic realm="git"'}, b"who are you\n")
        return
    status, headers, content = backend(handler, served, body)
    if fault == DROP_AFTER:
        handler.close_connection = True
        return
    send(handler, status, headers, content)


def received(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding") != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    parts = []
    while size := int(handler.rfile.readline(), 16):
        parts.append(handler.rfile.read(size))
        handler.rfile.readline()
    handler.rfile.readline()
    return b"".join(parts)


def backend(
    handler: BaseHTTPRequestHandler, served: Served, body: bytes
) -> tuple[int, dict[str, str], bytes]:
    url = urlsplit(handler.path)
    env = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(served.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
        "REQUEST_METHOD": handler.command,
        "PATH_INFO": url.path,
        "QUERY_STRING": url.query,
        "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
        "REMOTE_USER": "bot",
        "REMOTE_ADDR": "127.0.0.1",
    }
    done = subprocess.run(
        ["git", "http-backend"], input=body, env=env, capture_output=True, check=False, timeout=60
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    rows = (line.partition(": ") for line in head.decode().splitlines())
    headers = {name: value for name, _, value in rows}
    return int(headers.pop("Status", "200").split()[0]), headers, content


def send(
    handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)
