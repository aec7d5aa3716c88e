"""Webhooks: signed as GitHub signs them, sent in order per hook, logged, and never retried by itself."""

import hashlib
import hmac
import http.client
import json
import logging
import ssl
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote_from_bytes, urlsplit

from mergebot.localforge.faults import Faults
from mergebot.localforge.store import Row, Store
from mergebot.localforge.times import instant, now

TIMEOUT_S = 10
PAYLOAD_BYTES_MAX = 25 * 1024 * 1024
KEPT_BODY_BYTES_MAX = 65_536
SENDERS = 16
KEPT_S = 3 * 24 * 3600
REORDER_PATIENCE_S = 0.5
_ACCEPTED = range(200, 300)

log = logging.getLogger(__name__)


def signatures(secret: str, body: bytes) -> dict[str, str]:
    """Return the two signature headers over the exact bytes of a body."""
    key = secret.encode()
    return {
        "X-Hub-Signature": "sha1=" + hmac.new(key, body, hashlib.sha1).hexdigest(),
        "X-Hub-Signature-256": "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest(),
    }


def queue(store: Store, hook: Row, event: str, payload: dict[str, Any]) -> None:
    """Put one delivery into a hook's queue, inside the transaction that caused it."""
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    if len(body) > PAYLOAD_BYTES_MAX:
        return
    if hook["content_type"] == "form":
        body = b"payload=" + quote_from_bytes(body, safe="").encode()
    installation = payload.get("installation") or {}
    store.run(
        "INSERT INTO deliveries (hook_id, guid, event, action, repo_id, installation_id,"
        " redelivery, pending, payload, delivered_at) VALUES (?, ?, ?, ?, ?, ?, 0, 1, ?, ?)",
        *(hook["id"], str(uuid.uuid1()), event, payload.get("action"), hook["repo_id"]),
        *(installation.get("id"), body, now()),
    )


def redeliver(store: Store, delivery: Row) -> None:
    """Queue a delivery again, under the same GUID."""
    store.run(
        "INSERT INTO deliveries (hook_id, guid, event, action, repo_id, installation_id,"
        " redelivery, pending, payload, delivered_at) SELECT hook_id, guid, event, action,"
        " repo_id, installation_id, 1, 1, payload, ? FROM deliveries WHERE id = ?",
        *(now(), delivery["id"]),
    )


class Dispatcher:
    """The postman: one delivery of a hook after the other, different hooks side by side."""

    def __init__(self, store: Store, faults: Faults) -> None:
        self._store = store
        self._faults = faults
        self._guard = threading.Lock()
        self._busy: dict[int, bool] = {}
        self._pool = ThreadPoolExecutor(SENDERS, "webhooks")
        self._stopping = threading.Event()

    def start(self) -> None:
        """Forget deliveries older than GitHub keeps them; send what a previous run left over."""
        with self._store.write():
            self._store.run(
                "DELETE FROM deliveries WHERE pending = 0 AND delivered_at < ?",
                instant(time.time() - KEPT_S),
            )
        for row in self._store.all("SELECT DISTINCT hook_id FROM deliveries WHERE pending = 1"):
            self.wake(row["hook_id"])

    def stop(self) -> None:
        """Finish the deliveries under way; the others stay queued for the next start."""
        self._stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def wake(self, hook_id: int) -> None:
        """Say that a hook's queue has grown."""
        with self._guard:
            if self._stopping.is_set():
                return
            if hook_id in self._busy:
                self._busy[hook_id] = True
                return
            self._busy[hook_id] = False
            self._pool.submit(self._drain, hook_id)

    def _drain(self, hook_id: int) -> None:
        while True:
            try:
                while not self._stopping.is_set() and (delivery := self._next(hook_id)):
                    self._send(hook_id, delivery)
            except Exception:
                log.exception("deliveries of hook %s stopped", hook_id)
            with self._guard:
                if self._stopping.is_set() or not self._busy[hook_id]:
                    del self._busy[hook_id]
                    return
                self._busy[hook_id] = False

    def _pending(self, hook_id: int) -> list[Row]:
        return self._store.all(
            "SELECT * FROM deliveries WHERE hook_id = ? AND pending = 1 ORDER BY id LIMIT 2",
            hook_id,
        )

    def _next(self, hook_id: int) -> Row | None:
        waiting = self._pending(hook_id)
        if not waiting:
            return None
        if not self._faults.take("reorder_webhooks", "POST", waiting[0]["event"]):
            return waiting[0]
        deadline = time.monotonic() + REORDER_PATIENCE_S
        while len(waiting) == 1 and time.monotonic() < deadline:
            self._stopping.wait(0.01)
            waiting = self._pending(hook_id)
        return waiting[-1]

    def _send(self, hook_id: int, delivery: Row) -> None:
        hook = self._store.one("SELECT * FROM hooks WHERE id = ?", hook_id)
        if hook is None or self._faults.take("drop_webhooks", "POST", delivery["event"]):
            self._finish(delivery, {"status": "dropped", "status_code": 0})
            return
        headers = self._headers(hook, delivery)
        twice = self._faults.take("duplicate_webhooks", "POST", delivery["event"])
        if twice:
            post(hook["url"], headers, delivery["payload"])
        started = time.monotonic()
        outcome = post(hook["url"], headers, delivery["payload"])
        outcome["duration"] = round(time.monotonic() - started, 3)
        self._finish(delivery, outcome | {"request_headers": json.dumps(headers)})

    def _headers(self, hook: Row, delivery: Row) -> dict[str, str]:
        form = hook["content_type"] == "form"
        target = "repository" if hook["repo_id"] else "integration"
        headers = {
            "Accept": "*/*",
            "Content-Type": "application/x-www-form-urlencoded" if form else "application/json",
            "User-Agent": f"GitHub-Hookshot/{hook['id']:07x}",
            "X-GitHub-Delivery": delivery["guid"],
            "X-GitHub-Event": delivery["event"],
            "X-GitHub-Hook-ID": str(hook["id"]),
            "X-GitHub-Hook-Installation-Target-ID": str(hook["repo_id"] or hook["app_id"]),
            "X-GitHub-Hook-Installation-Target-Type": target,
        }
        return headers | (signatures(hook["secret"], delivery["payload"]) if hook["secret"] else {})

    def _finish(self, delivery: Row, outcome: dict[str, Any]) -> None:
        with self._store.write():
            self._store.run(
                "UPDATE deliveries SET pending = 0, status = ?, status_code = ?, duration = ?,"
                " request_headers = ?, response_headers = ?, response_body = ? WHERE id = ?",
                *(outcome["status"], outcome["status_code"], outcome.get("duration", 0)),
                *(outcome.get("request_headers", "{}"), outcome.get("response_headers", "{}")),
                *(outcome.get("response_body", ""), delivery["id"]),
            )


def post(url: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Send one body and return what came back, or how it failed; never raises for the network."""
    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        return {"status": "invalid URL", "status_code": 0, "response_body": str(error)}
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("POST", target, body=body, headers=headers)
        response = connection.getresponse()
        answer = response.read(KEPT_BODY_BYTES_MAX).decode("utf-8", "replace")
    except TimeoutError:
        return {"status": "timed out", "status_code": 504}
    except (OSError, http.client.HTTPException) as error:
        return {"status": "failed to connect to host", "status_code": 502} | {
            "response_body": str(error)
        }
    finally:
        connection.close()
    good = response.status in _ACCEPTED
    return {
        "status": "OK" if good else f"Invalid HTTP Response: {response.status}",
        "status_code": response.status,
        "response_headers": json.dumps(dict(response.getheaders())),
        "response_body": answer,
    }
