"""A local forge as a process of its own, a git client for it, and a receiver for its webhooks."""

import contextlib
import hmac
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import github
import requests

from tests.support.github_report import JOURNAL, compare
from tests.support.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
START_TIMEOUT_S = 30
GIT_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "alice",
    "GIT_AUTHOR_EMAIL": "alice@example.org",
    "GIT_COMMITTER_NAME": "alice",
    "GIT_COMMITTER_EMAIL": "alice@example.org",
}


@dataclass
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Work:
    """A clone on disk, with its owner's token in the remote."""

    path: Path
    remote: str
    email: str = "alice@example.org"

    def git(self, *arguments: str, check: int = 1) -> Done:
        """Run git here; fail the test when git fails, unless `check` is 0."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=GIT_ENV | {"GIT_COMMITTER_EMAIL": self.email},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert not (check and done.returncode), f"git {arguments}: {done.stderr}"
        return Done(done.returncode, done.stdout.strip(), done.stderr)

    def commit(self, message: str, files: dict[str, str]) -> str:
        """Write files, commit them, and return the commit."""
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        """Return the commit that is checked out."""
        return self.git("rev-parse", "HEAD").out

    def start(self, branch: str, base: str = "origin/main") -> None:
        """Check out a new branch from a base as it is on the forge now."""
        self.git("fetch", "-q", "origin")
        self.git("checkout", "-q", "-B", branch, base)

    def push(self, *arguments: str, check: int = 1) -> Done:
        """Push to the forge."""
        return self.git("push", "origin", *arguments, check=check)


@dataclass
class ForgeProcess:
    """`mergebot forge serve` over a root; stop and start it as often as you like."""

    root: Path
    port: int = 0
    url: str = ""
    process: subprocess.Popen[str] | None = None
    tokens: dict[str, str] = field(default_factory=dict)

    def start(self) -> Self:
        """Start the forge and wait until it says that it is ready."""
        command = [sys.executable, "-m", "tests.support.recorded_forge", "serve", "--json"]
        options = ["--root", str(self.root), "--port", str(self.port)]
        journal = {"MERGEBOT_TEST_JOURNAL": str(self.root / JOURNAL)}
        # Its errors go to the test's own stderr, so that a crash is seen.
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, text=True, env=os.environ | journal,
            cwd=REPOSITORY,
        )  # fmt: skip
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, f"the forge ended with status {self.process.wait(START_TIMEOUT_S)}"
        self.url = json.loads(line)["url"]
        self.port = int(self.url.rsplit(":", 1)[1])
        return self

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        """Stop the forge and return its exit status."""
        assert self.process
        self.process.send_signal(sig)
        code = self.process.wait(START_TIMEOUT_S)
        if self.process.stdout:
            self.process.stdout.close()
        return code

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *_: object) -> None:
        if self.process and self.process.poll() is None:
            self.stop()
        faults = compare(self.root)
        assert kind or not faults, "GitHub would not say this:\n" + "\n".join(faults)

    @property
    def api_url(self) -> str:
        """The base that clients of the REST API use."""
        return f"{self.url}/api/v3"

    @property
    def admin_token(self) -> str:
        """The token of the user `admin`."""
        return (self.root / "admin-token").read_text().strip()

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> requests.Response:
        """Make a request as `token` (default: the admin); `/x` is REST, `/_forge/x` the forge's."""
        headers = dict(more.pop("headers", {}))
        token = more.pop("token", self.admin_token)
        if token:
            headers["Authorization"] = f"token {token}"
        base = self.url if path.startswith(("/_forge", "/api/")) else self.api_url
        data = more.pop("data", None if body is None else json.dumps(body))
        with requests.Session() as session:
            session.trust_env = False
            more.setdefault("allow_redirects", False)
            return session.request(
                method, base + path, data=data, headers=headers, timeout=30, **more
            )

    def asked(self, agent: str = "mergebot") -> list[str]:
        """Return every request to the API that spent quota, of one user agent, in order."""
        lines = (self.root / "requests.log").read_text().splitlines()
        mine = [line.split(" ", 2) for line in lines if line.startswith(f"{agent} ")]
        return [request for _, status, request in mine if status != "304"]

    def user(self, login: str) -> str:
        """Return a token of a user, created where missing."""
        if login not in self.tokens:
            made = self.call("POST", "/_forge/users", {"login": login, "name": login})
            self.tokens[login] = made.json()["token"]
        return self.tokens[login]

    def repo(self, full_name: str, **options: Any) -> dict[str, Any]:
        """Create a repository with one commit on main and return it as the API shows it."""
        owner, name = full_name.split("/")
        body = {"name": name, "auto_init": True} | options
        made = self.call("POST", "/user/repos", body, token=self.user(owner))
        assert made.status_code == 201, made.text
        found: dict[str, Any] = made.json()
        return found

    def remote(self, full_name: str, login: str) -> str:
        """Return a git address that carries a user's token."""
        return f"http://{login}:{self.user(login)}@{urlsplit(self.url).netloc}/{full_name}.git"

    def clone(self, full_name: str, into: Path, login: str | None = None) -> Work:
        """Clone a repository as its owner or as somebody else."""
        remote = self.remote(full_name, login or full_name.partition("/")[0])
        subprocess.run(["git", "clone", "-q", remote, str(into)], env=GIT_ENV, check=True)
        return Work(into, remote)

    def client(self, login: str = "admin") -> github.Github:
        """Return PyGithub, as a user, without its own pacing and retries."""
        token = self.admin_token if login == "admin" else self.user(login)
        return github.Github(
            base_url=self.api_url,
            auth=github.Auth.Token(token),
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            timeout=30,
        )

    def fault(self, kind: str, **rule: Any) -> int:
        """Add a fault and return its id."""
        made = self.call("POST", "/_forge/faults", {"kind": kind, **rule})
        assert made.status_code == 201, made.text
        return int(made.json()["id"])

    def switch(self, **values: Any) -> None:
        """Set switches of the forge."""
        assert self.call("POST", "/_forge/switches", values).status_code == 200

    def switch_off(self, name: str) -> None:
        """Return a switch to its default, even where it keeps requests from being answered."""
        with sqlite3.connect(self.root / "forge.sqlite3", timeout=10) as store:
            store.execute("DELETE FROM switches WHERE name = ?", (name,))
        store.close()


@dataclass
class Delivery:
    """One webhook as it arrived."""

    event: str
    headers: dict[str, str]
    raw: bytes

    @property
    def payload(self) -> dict[str, Any]:
        """The body as JSON."""
        found: dict[str, Any] = json.loads(self.raw)
        return found

    @property
    def name(self) -> str:
        """`event.action`, or the event alone."""
        action = self.payload.get("action")
        return f"{self.event}.{action}" if action else self.event

    def signed_with(self, secret: str) -> bool:
        """Tell whether the signature fits the exact bytes."""
        expected = "sha256=" + hmac.new(secret.encode(), self.raw, "sha256").hexdigest()
        return hmac.compare_digest(self.headers.get("x-hub-signature-256", ""), expected)


@dataclass
class Receiver:
    """A webhook receiver that keeps what it gets and answers as it is told."""

    url: str
    got: list[Delivery] = field(default_factory=list)
    answer: int = 202

    def names(self) -> list[str]:
        """Return `event.action` of everything that came, pings left out."""
        return [delivery.name for delivery in list(self.got) if delivery.event != "ping"]

    def wait_for(self, *names: str) -> list[str]:
        """Wait until all these have come, and return everything that has."""
        eventually(lambda: set(names) <= set(self.names()), within_s=15, what=f"{names} came")
        return self.names()

    def last(self, name: str) -> dict[str, Any]:
        """Return the payload of the latest delivery of a name."""
        return [d for d in list(self.got) if d.name == name][-1].payload


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a webhook receiver on a free port."""
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Delivery(headers["x-github-event"], headers, raw))
            self.send_response(receiver.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
