"""Receivers of notifications over HTTP: a chat's incoming webhook, and a signed one of one's own.

The address is the operator's, from the environment, and a secret itself: it is in no log and no
error. Redirects are not followed, and nothing of an answer but its status is looked at, so nobody
learns by it what the bot can reach.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import requests

from mergebot.domain.announcing import Happening
from mergebot.domain.ids import Lane
from mergebot.domain.markdown import WORD_JOINER
from mergebot.domain.wording import iso
from mergebot.ports.errors import Unavailable

ANSWER_S = (3.0, 5.0)
"""To connect and to answer: a round waits no longer for one message."""


@dataclass(frozen=True, slots=True)
class ChatHerald:
    """An incoming webhook of Slack, or of what speaks like it (Mattermost, Rocket.Chat, Zulip)."""

    url: str = field(repr=False)
    pages: str

    def tell(self, lane: Lane, happening: Happening) -> None:
        """Post one message; raises Unavailable."""
        text = f"{lane.repo}: {happening.text}\n{_page(self.pages, lane, happening)}"
        # Slack has its links and mentions in angles, others ring for everybody at a mere @channel.
        safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        safe = safe.replace("@", f"@{WORD_JOINER}")
        _post(self.url, json.dumps({"text": safe}).encode(), {})


@dataclass(frozen=True, slots=True)
class SignedHerald:
    """A receiver that checks `X-Mergebot-Signature-256`: the HMAC of the body by a shared secret."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    pages: str

    def tell(self, lane: Lane, happening: Happening) -> None:
        """Post one message; raises Unavailable."""
        document = {
            "v": 1,
            "id": f"{lane.key}:{happening.key}",
            "event": happening.event,
            "at": iso(happening.at),
            "repo": lane.repo,
            "trunk": lane.trunk,
            "pr": happening.pr or None,
            "text": happening.text,
            "url": _page(self.pages, lane, happening),
        }
        body = json.dumps(document).encode()
        digest = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        signed = {
            "X-Mergebot-Event": happening.event,
            "X-Mergebot-Signature-256": f"sha256={digest}",
        }
        _post(self.url, body, signed)


def _page(pages: str, lane: Lane, happening: Happening) -> str:
    own = f"{pages.rstrip('/')}/{lane.repo}"
    return f"{own}/pull/{happening.pr}" if happening.pr else own


def _post(url: str, body: bytes, more: Mapping[str, str]) -> None:
    headers = {"Content-Type": "application/json", "User-Agent": "mergebot", **more}
    try:
        with requests.post(
            url, body, headers=headers, timeout=ANSWER_S, allow_redirects=False, stream=True
        ) as answer:
            status = answer.status_code
    except (requests.RequestException, ValueError):
        raise Unavailable("the receiver of notifications does not answer") from None
    if not 200 <= status < 300:  # noqa: PLR2004 - what HTTP calls success
        raise Unavailable(f"the receiver of notifications answers {status}")
