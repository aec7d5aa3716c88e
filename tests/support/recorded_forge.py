"""`mergebot forge serve` that also writes down each new shape of answer, for comparison afterwards."""

import json
import os
import re
from pathlib import Path

from starlette.types import Message, Receive, Scope, Send

from mergebot.cli.forge import forge
from mergebot.localforge import server
from mergebot.localforge.app import Application
from mergebot.localforge.forge import Forge
from tests.support.described import distinct, shape

JOURNAL = "MERGEBOT_TEST_JOURNAL"
API = "/api/v3"
_NAMES = re.compile(r"(?<=/repos/)[^/]+/[^/]+|\d+|[0-9a-f]{40}|(?<=/labels/).+|(?<=/heads/).+")


class _Listener:
    """Hears one answer on its way out; `transport` is what the forge may cut."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.transport = getattr(getattr(send, "__self__", None), "transport", None)
        self.status, self.type, self.body = 0, "", b""

    async def hear(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message["headers"]}
            self.status, self.type = message["status"], headers.get(b"content-type", b"").decode()
        else:
            self.body += message.get("body", b"")
        await self._send(message)


class Recorded(Application):
    """The forge, with an ear at its outer door."""

    def __init__(self, served: Forge) -> None:
        super().__init__(served)
        self._journal = Path(os.environ[JOURNAL])
        self._requests = self._journal.with_name("requests.log")
        self._new = distinct(lambda entry: f"{entry[0]} {_NAMES.sub('_', entry[1])} {entry[2]}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and note its answer."""
        path = scope.get("path", "")
        if not path.startswith(API):
            await super().__call__(scope, receive, send)
            return
        listener = _Listener(send)
        await super().__call__(scope, receive, listener.hear)
        agent = dict(scope["headers"]).get(b"user-agent", b"").decode()
        with self._requests.open("a") as requests:
            requests.write(f"{agent} {listener.status} {scope['method']} {path}\n")
        self._note(scope["method"], path.removeprefix(API), listener)

    def _note(self, method: str, path: str, heard: "_Listener") -> None:
        if heard.body and not heard.type.startswith("application/json"):
            return
        body = json.loads(heard.body) if heard.body else None
        if heard.status and self._new((method, path, f"{heard.status} {shape(body)}")):
            entry = [method, path, heard.status, body]
            with self._journal.open("a") as journal:
                journal.write(json.dumps(entry) + "\n")


# The forge has no seam for a listener, and needs none.
vars(server)["Application"] = Recorded

if __name__ == "__main__":
    forge()
