"""Planted secrets, and everything that leaves the product, to be searched for them."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

import requests
from redis import Redis

from tests.support.stack import ADMIN, REPO, Stack

PAGES = ("", "/claims", "/landings", "/stats", "/audit")
TWINS = ("/queue", "/claims", "/landings", "/stats", "/health", "/audit")
PROGRAMS = {"git", "git-remote-http", "bwrap"}
GATE_HOME = b"HOME=/tmp/home"


def forms(secret: str) -> Iterator[str]:
    """Yield how a secret might be written."""
    yield secret
    yield base64.b64encode(secret.encode()).decode().rstrip("=")
    yield json.dumps(secret)[1:-1]


@dataclass
class Watch:
    """Looks at every process that the bot starts, as often as it can, for as long as it is open."""

    bot: Stack
    lines: set[bytes] = field(default_factory=set)
    environments: set[bytes] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    _over: Event = field(default_factory=Event)

    def __enter__(self) -> Self:
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.001):
            for each in Path("/proc").iterdir():
                if each.name.isdecimal():
                    with suppress(OSError):
                        self._look(each)

    def _look(self, process: Path) -> None:
        line = (process / "cmdline").read_bytes()
        self.lines.add(line)
        around = (process / "environ").read_bytes()
        program = Path(line.split(b"\0")[0].decode(errors="replace")).name
        inside = GATE_HOME in around
        if inside or program in PROGRAMS:
            self.environments.add(around)
            self.seen.add("step" if inside else program)


@dataclass(frozen=True)
class Leaving:
    """Everything that leaves, by where it was found."""

    bot: Stack
    redis: Redis

    def all(self) -> Mapping[str, str]:
        """Return every text, by its place."""
        found = dict(self._answers())
        found |= {f"comments of #{pr}": "\n".join(self.bot.comments(pr)) for pr in self._pulls()}
        found["log"] = self.bot.log.read_text()
        if any("landed" in self.bot.state(pr) for pr in self._pulls()):
            found["notes"] = json.dumps(self.bot.receipts())
        found |= {f"redis {key}": text for key, text in self._record()}
        return found

    def _pulls(self) -> list[int]:
        found = self.bot.forge.call("GET", f"/repos/{REPO}/pulls?state=all").json()
        return [int(each["number"]) for each in found]

    def _answers(self) -> Iterator[tuple[str, str]]:
        home, api = self.bot.address, f"{self.bot.address}/api/v1/repos/{REPO}"
        addresses = [f"{home}/", f"{home}/login", f"{home}/metrics", f"{home}/healthz"]
        addresses += [f"{home}/{REPO}{path}" for path in PAGES]
        addresses += [f"{api}{path}" for path in TWINS]
        for pr in self._pulls():
            addresses += [f"{home}/{REPO}/pull/{pr}", f"{api}/candidates/{pr}"]
            run = self.bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}").get("run")
            addresses += [f"{home}/{REPO}/pull/{pr}/log/{run}"] if run else []
        headers = {"Authorization": f"Bearer {ADMIN}"}
        for address in addresses:
            answer = requests.get(address, headers=headers, timeout=30)
            yield address, f"{answer.headers}\n{answer.text}"

    def _record(self) -> Iterator[tuple[str, str]]:
        read: dict[bytes, Callable[[bytes], Any]] = {
            b"string": self.redis.get,
            b"hash": self.redis.hgetall,
            b"list": lambda key: self.redis.lrange(key, 0, -1),
            b"set": self.redis.smembers,
            b"zset": lambda key: self.redis.zrange(key, 0, -1, withscores=True),
            b"stream": self.redis.xrange,
        }
        for key in self.redis.scan_iter(count=1000):
            kind: Any = self.redis.type(key)
            yield repr(key), repr(read[kind](key)) if kind in read else ""
