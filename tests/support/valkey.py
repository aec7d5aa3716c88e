"""A real Valkey for tests: one server for a test session, emptied by those who share it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mergebot.adapters.redis.embedded import EmbeddedValkey


@contextmanager
def valkey_server() -> Iterator[str]:
    """Yield the address of a server that is as durable as the embedded one, then end it.

    Use it in a session-scoped fixture; its data lies in a temporary directory.
    """
    with (
        tempfile.TemporaryDirectory(prefix="mb-valkey-") as home,
        EmbeddedValkey(Path(home)) as server,
    ):
        yield server.url
