"""The page with one button that makes a GitHub App, and the address that GitHub comes back to."""

import html
import json
import os
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

import click

from mergebot.domain.setup import NewApp, manifest
from mergebot.ports.errors import Refused, Unavailable
from mergebot.wiring.setup import new_app, website_of

DEFAULT_API = "https://api.github.com"
PAGE = """<!doctype html><meta charset="utf-8"><title>mergebot: make the App</title>
<style>body{{font:1rem/1.5 sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}}
button{{font:inherit;padding:.6rem 1.2rem}}</style>
<h1>Make the GitHub App “{name}”</h1>
<p>The button takes you to {site}, which shows what the App may do and asks you to confirm.</p>
<form action="{action}" method="post"><input type="hidden" name="manifest" value="{manifest}">
<button>Make the App</button></form>"""
DONE = "<!doctype html><title>mergebot</title><p>The App is made; go back to the terminal.</p>"

Made = Callable[[NewApp], None]


class AppFlow:
    """Serves the page on a free port of this machine until the App is made."""

    def __init__(self, name: str, public_url: str, made: Made) -> None:
        self._api = os.environ.get("MERGEBOT_GITHUB_URL", DEFAULT_API)
        self._state = secrets.token_urlsafe(16)
        self._made = made
        self._over = threading.Event()
        self.trouble = ""
        flow = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, text = flow.answer(self.path)
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/"
        self._manifest = manifest(name, public_url, f"{self.address}made")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self) -> None:
        """Wait until the App is made; raises ClickException where it could not be."""
        while not self._over.wait(0.5):
            pass
        if self.trouble:
            raise click.ClickException(self.trouble)

    def answer(self, path: str) -> tuple[HTTPStatus, str]:
        """Return the page at `path`."""
        parts = urlsplit(path)
        if parts.path == "/":
            return HTTPStatus.OK, self._page()
        if parts.path != "/made":
            return HTTPStatus.NOT_FOUND, "There is nothing here."
        given = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if not secrets.compare_digest(given.get("state", ""), self._state):
            return HTTPStatus.FORBIDDEN, "This did not begin here; open the first page again."
        try:
            app = new_app(self._api, given.get("code", ""))
        except (Unavailable, Refused) as error:
            self.trouble = str(error)
        else:
            self._made(app)
        self._over.set()
        text = html.escape(self.trouble)
        return (HTTPStatus.BAD_GATEWAY, text) if self.trouble else (HTTPStatus.OK, DONE)

    def _page(self) -> str:
        site = website_of(self._api)
        return PAGE.format(
            name=html.escape(str(self._manifest["name"])),
            site=html.escape(site),
            action=html.escape(f"{site}/settings/apps/new?state={self._state}"),
            manifest=html.escape(json.dumps(self._manifest)),
        )
