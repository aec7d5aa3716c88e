"""Live news: which lane changed, sent to every open page as server-sent events.

One thread hears of changes and hands them to the event loop. A reader that is slow gets only the
newest revision of each lane, since what it does with it is to read the page again.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Thread

from sse_starlette.sse import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from mergebot.domain.ids import Lane
from mergebot.ports.changes import Changes
from mergebot.ports.errors import Unavailable
from mergebot.web.auth import visible_lane, visible_lanes

LISTEN_S = 1.0
"""How long the thread waits for news before it looks whether it should end."""

HEARTBEAT_S = 15
"""How often an idle stream says that it is alive: proxies close silent ones after thirty."""

RETRY_MS = 2000
"""How long a browser waits before it connects again."""

EVERY_LANE = "*"
"""The key of news that may concern any lane, sent after a time in which nothing was heard."""


@dataclass(eq=False, slots=True)
class Reader:
    """An open page: the newest revision of each lane that it was not told yet."""

    news: dict[str, int] = field(default_factory=dict)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, key: str, revision: int) -> None:
        """Note news."""
        self.news[key] = revision
        self.arrived.set()

    async def next(self) -> dict[str, int]:
        """Return the news since the last call, waiting for some."""
        await self.arrived.wait()
        self.arrived.clear()
        found, self.news = self.news, {}
        return found


class Hub:
    """Hands every change to every reader."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._readers: set[Reader] = set()
        self._ending = Event()

    def start(self) -> None:
        """Begin to listen; called from the event loop that readers live in."""
        loop = asyncio.get_running_loop()
        Thread(target=self._listen, args=(loop,), name="changes", daemon=True).start()

    def stop(self) -> None:
        """End listening; the thread notices within a second and nobody has to wait for it."""
        self._ending.set()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._ending.is_set():
            try:
                for change in self._changes.listen(timeout_s=LISTEN_S):
                    if self._ending.is_set():
                        return
                    if change is not None:
                        self._hand(loop, change.lane_key, change.revision)
            except Unavailable:
                self._ending.wait(LISTEN_S)
            self._hand(loop, EVERY_LANE, 0)

    def _hand(self, loop: asyncio.AbstractEventLoop, key: str, revision: int) -> None:
        # The loop may close between the question and the call.
        with suppress(RuntimeError):
            if not self._ending.is_set():
                loop.call_soon_threadsafe(self._tell, key, revision)

    def _tell(self, key: str, revision: int) -> None:
        for reader in self._readers:
            reader.tell(key, revision)

    def join(self) -> Reader:
        """Return a reader that is told everything from now on."""
        reader = Reader()
        self._readers.add(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        """Tell a reader nothing any more."""
        self._readers.discard(reader)


async def of_lane(request: Request) -> Response:
    """Stream the changes of one lane."""
    lane = await run_in_threadpool(visible_lane, request)
    return _stream(request, [lane])


async def of_all(request: Request) -> Response:
    """Stream the changes of every lane that the caller may see."""
    return _stream(request, await run_in_threadpool(visible_lanes, request))


def _stream(request: Request, lanes: list[Lane]) -> Response:
    hub: Hub = request.app.state.hub
    return EventSourceResponse(
        _events(hub, {lane.key: lane for lane in lanes}),
        ping=HEARTBEAT_S,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(hub: Hub, lanes: dict[str, Lane]) -> AsyncIterator[dict[str, object]]:
    reader = hub.join()
    try:
        yield {"event": "hello", "data": json.dumps({"lanes": len(lanes)}), "retry": RETRY_MS}
        while True:
            news = await reader.next()
            for key in lanes if EVERY_LANE in news else news.keys() & lanes.keys():
                revision = news.get(key, 0)
                data = {"repo": lanes[key].repo, "revision": revision}
                yield {"event": "revision", "id": str(revision), "data": json.dumps(data)}
    finally:
        hub.leave(reader)
