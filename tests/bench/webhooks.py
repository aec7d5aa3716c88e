"""The receiver of webhooks on loopback while the queue works: steady, then as fast as it takes them."""

import hmac
import http.client
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic, sleep
from urllib.parse import urlsplit

from tests.bench.fleet import Fleet, gate_of, land_by_product, make_fleet
from tests.bench.report import Row, Samples, at_most
from tests.bench.stack import Bot, Stack, stack

COUNT = 20
RATE = 50
STEADY_S = 12.0
SENDERS = 8
BURST = 1500


@dataclass(slots=True)
class Sender:
    """Posts signed deliveries of one body, on a connection for each thread that keeps open."""

    bot: Bot
    body: bytes
    times: Samples = field(default_factory=Samples)
    _local: threading.local = field(default_factory=threading.local)

    def post(self, due: float) -> None:
        """Send one delivery; its time counts from when it was due, so that none hides a wait."""
        headers = _headers(self.bot, self.body)
        connection = self._connection()
        connection.request("POST", "/hooks/github", body=self.body, headers=headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 202:
            raise RuntimeError(f"a delivery was answered with {answer.status}")
        self.times.add(monotonic() - due)

    def _connection(self) -> http.client.HTTPConnection:
        made = getattr(self._local, "connection", None)
        if not isinstance(made, http.client.HTTPConnection):
            parts = urlsplit(self.bot.address)
            made = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
            self._local.connection = made
        return made


def measure() -> Iterator[Row]:
    """Measure p99 at a steady rate, and how many are accepted a second at most."""
    with stack() as running:
        fleet = make_fleet(running, "fleet", gate_of(0.5), count=COUNT)
        bot = running.bot([fleet.repo], workers=1)
        body = _sample(running, fleet)
        queue = threading.Thread(target=land_by_product, args=(running, fleet))
        queue.start()
        steady = _steady(Sender(bot, body))
        busy = queue.is_alive()
        queue.join()
        rate = _burst(Sender(bot, body))
    p99 = steady.percentile(0.99) * 1000
    size = f"{len(steady.seconds)} of {len(body) // 1024} KiB each, {SENDERS} connections"
    during = "" if busy else "; the queue was done before the deliveries"
    detail = f"median {steady.median * 1000:.1f} ms, {size}{during}"
    yield Row("webhooks", f"p99 at {RATE} deliveries/s", p99, "ms", at_most(50), detail)
    detail = f"{BURST} at once, each on disk before its answer"
    yield Row("webhooks", "accepted at most", rate, "/s", None, detail)


def _steady(sender: Sender) -> Samples:
    begun = monotonic()
    with ThreadPoolExecutor(SENDERS) as pool:
        sent = []
        for number in range(int(RATE * STEADY_S)):
            due = begun + number / RATE
            sleep(max(0.0, due - monotonic()))
            sent.append(pool.submit(sender.post, due))
        for each in sent:
            each.result()
    return sender.times


def _burst(sender: Sender) -> float:
    begun = monotonic()
    with ThreadPoolExecutor(SENDERS) as pool:
        for each in [pool.submit(sender.post, monotonic()) for _ in range(BURST)]:
            each.result()
    return BURST / (monotonic() - begun)


def _headers(bot: Bot, body: bytes) -> Mapping[str, str]:
    signature = hmac.new(bot.secret.encode(), body, "sha256").hexdigest()
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": "pull_request",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": f"sha256={signature}",
    }


def _sample(running: Stack, fleet: Fleet) -> bytes:
    """Return a real payload: an edit of a pull request that nobody queued."""
    hub, owner = running.hub, running.owner
    asked = {"title": "Not queued", "body": "", "head": "change-0", "base": "main"}
    pulls = f"/repos/{fleet.repo}/pulls"
    hub.ask(owner, "PATCH", f"{pulls}/{fleet.pulls[-1]}", {"title": asked["title"]})
    hook = hub.ask(owner, "GET", f"/repos/{fleet.repo}/hooks")[0]["id"]
    path = f"/repos/{fleet.repo}/hooks/{hook}/deliveries"
    newest = hub.ask(owner, "GET", path)[0]["id"]
    payload = hub.ask(owner, "GET", f"{path}/{newest}")["request"]["payload"]
    payload["number"] = payload["pull_request"]["number"] = 9_999
    return json.dumps(payload).encode()
