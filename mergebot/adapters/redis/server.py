"""Asking Redis: scripts by their digest, and its errors sorted once."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any

from redis import Redis
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.exceptions import (
    ConnectionError as RedisConnectionError,
)
from redis.exceptions import (
    TimeoutError as RedisTimeoutError,
)

from mergebot.ports.errors import Unavailable

Word = str | bytes | int | float

# In this order: some of these are kinds of others. None quotes the server or its address, so no
# password can be in it.
_SENTENCES: tuple[tuple[type[Exception], str], ...] = (
    (BusyLoadingError, "Redis is still loading its data; try again in a moment."),
    (AuthenticationError, "Redis refused the user name or password in its URL."),
    (AuthorizationError, "Redis refused the user name or password in its URL."),
    (NoPermissionError, "The Redis user lacks a permission that mergebot needs on keys mb:*."),
    (OutOfMemoryError, "Redis is out of memory and takes no writes; raise maxmemory."),
    (ReadOnlyError, "This Redis is a read-only replica; point mergebot at the primary."),
    (RedisTimeoutError, "Redis did not answer in time."),
    (RedisConnectionError, "Redis cannot be reached."),
)

_PREFIXES = {
    "MISCONF": "Redis takes no writes because it cannot save its data; look at its log and disk.",
    "LOADING": "Redis is still loading its data; try again in a moment.",
    "READONLY": "This Redis is a read-only replica; point mergebot at the primary.",
    "OOM": "Redis is out of memory and takes no writes; raise maxmemory.",
    "BUSY": "Redis is busy with a long script; try again in a moment.",
    "MASTERDOWN": "This Redis is a replica whose primary is down.",
    "CLUSTERDOWN": "The Redis cluster is down.",
    "NOREPLICAS": "Redis takes no writes because it has too few replicas.",
    "TRYAGAIN": "Redis is moving its data; try again in a moment.",
    "NOPERM": "The Redis user lacks a permission that mergebot needs on keys mb:*.",
    "NOAUTH": "Redis wants a password; put it into its URL.",
}


@contextmanager
def sorted_errors() -> Iterator[None]:
    """Turn what Redis raises into Unavailable with one sentence; a wrong command stays a bug."""
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError, ResponseError, OSError) as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        raise Unavailable(sentence) from None


def _sentence(error: Exception) -> str | None:
    for kind, sentence in _SENTENCES:
        if isinstance(error, kind):
            return sentence
    if isinstance(error, OSError):
        return "Redis cannot be reached."
    return _PREFIXES.get(str(error).split(" ", 1)[0])


@dataclass(frozen=True)
class Script:
    """A Lua script, known to the server by the digest of its text."""

    name: str

    @cached_property
    def text(self) -> str:
        """Return the script as it lies beside this module."""
        return files(__package__ or "").joinpath(f"{self.name}.lua").read_text(encoding="ascii")

    @cached_property
    def sha(self) -> str:
        """Return what EVALSHA calls it."""
        return hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class Server:
    """One Redis, asked through its client; every method raises Unavailable."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def ask(self, question: Callable[[Any], Any]) -> Any:
        """Return the answer to one command or pipeline.

        The client is untyped here: redis types every answer as that of a pipeline or a coroutine too.
        """
        with sorted_errors():
            return question(self._client)

    def run(self, script: Script, keys: Sequence[str], words: Sequence[Word] = ()) -> Any:
        """Return what a script returns; it is loaded where the server does not know it."""
        return self.ask(lambda client: _evaluate(client, script, [*keys, *words], len(keys)))


def _evaluate(client: Redis, script: Script, words: list[Word], keys: int) -> Any:
    call: Any = client.execute_command
    try:
        return call("EVALSHA", script.sha, keys, *words)
    except NoScriptError:
        return call("EVAL", script.text, keys, *words)
