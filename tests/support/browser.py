"""A real Chromium on a real server: each test opens a context of its own."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from playwright.sync_api import Browser, sync_playwright
from starlette.applications import Starlette

from tests.support.waiting import eventually

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """Return where Debian's Chromium is."""
    found = shutil.which("chromium")
    if found is None:
        raise AssertionError("the browser tests need Debian's package chromium: install it")
    return found


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """Serve an application on a free port and give its address."""
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: server.started, within_s=20, what="the server answers")
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def launched() -> Iterator[Browser]:
    """Give a browser; each of its contexts starts with a fresh profile."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
