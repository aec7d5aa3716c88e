"""What processes that speak for one account remember together: tags of answers, tokens, waits.

Losing any of it costs requests, never a wrong answer; so a shelf that cannot be reached is empty.
Nor can whoever writes to it make an answer up: each is sealed with the token that it was given to,
and tokens are locked with the App's own key.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from cryptography.fernet import Fernet, InvalidToken

TAGGED_S = 3600.0
"""How long an answer is kept to be asked about again; a queue looks at everything sooner."""

SHARED_CHARS_MAX = 64 * 1024
"""Of an answer that all processes share; longer ones are listings, which one process reads."""

OWN_CHARS_MAX = 8 * 1024 * 1024
OWN_MAX = 32
"""Listings kept in this process: 32 of eight megabytes are the most it may cost."""


SILENT_S = 600.0
"""How long a pull request without comments is taken for one: longer than a notice waits."""


class Shelf(Protocol):
    """Keeps short texts by name for a while; never raises."""

    def get(self, name: str) -> str | None:
        """Return what was put there, None once its time is over."""
        ...

    def put(self, name: str, text: str, ttl_s: float) -> None:
        """Keep a text for so many seconds."""
        ...


class OwnShelf:
    """A shelf of this process alone."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def get(self, name: str) -> str | None:
        """Return what was put there, None once its time is over."""
        with self._guard:
            ends_at, text = self._kept.get(name, (0.0, ""))
        return text if time.monotonic() < ends_at else None

    def put(self, name: str, text: str, ttl_s: float) -> None:
        """Keep a text for so many seconds."""
        with self._guard:
            self._kept.pop(name, None)
            self._kept[name] = (time.monotonic() + ttl_s, text)
            while len(self._kept) > OWN_MAX * 64:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Tagged:
    """An answer that may still be right: its tag, its body, and its link to the next page."""

    tag: str
    text: str
    link: str


class Tags:
    """Answers to GET requests, kept so that the forge may say "not changed" for free."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._guard = threading.Lock()
        self._own: OrderedDict[str, Tagged] = OrderedDict()

    def find(self, token: str, address: str) -> Tagged | None:
        """Return the answer that is kept for an address, as seen with a token."""
        name = _name("tag", token, address)
        with self._guard:
            own = self._own.get(name)
        if own is not None:
            return own
        seal, _, text = (self._shelf.get(name) or "").partition(" ")
        if not text or not hmac.compare_digest(seal, _seal(token, name + text)):
            return None
        return Tagged(*json.loads(text))

    def keep(self, token: str, address: str, answer: Tagged) -> None:
        """Keep an answer."""
        name = _name("tag", token, address)
        if len(answer.text) <= SHARED_CHARS_MAX:
            text = json.dumps([answer.tag, answer.text, answer.link])
            self._shelf.put(name, f"{_seal(token, name + text)} {text}", TAGGED_S)
        elif len(answer.text) <= OWN_CHARS_MAX:
            with self._guard:
                self._own.pop(name, None)
                self._own[name] = answer
                while len(self._own) > OWN_MAX:
                    self._own.popitem(last=False)


class Safe:
    """Texts that only holders of a key can read or write."""

    def __init__(self, shelf: Shelf, key: str) -> None:
        self._shelf = shelf
        digest = hashlib.sha256(b"mergebot's shelf\0" + key.encode()).digest()
        self._lock = Fernet(base64.urlsafe_b64encode(digest))

    def get(self, name: str) -> str | None:
        """Return what was put there, None once its time is over or where it was tampered with."""
        text = self._shelf.get(name)
        try:
            return self._lock.decrypt(text.encode()).decode() if text else None
        except (InvalidToken, ValueError):
            return None

    def put(self, name: str, text: str, ttl_s: float) -> None:
        """Keep a text for so many seconds."""
        self._shelf.put(name, self._lock.encrypt(text.encode()).decode(), ttl_s)


class Waits:
    """Rate limits that one process ran into, so that the others do not run into them too."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def left_s(self, token: str) -> float:
        """Return for how long the forge asked this token to be quiet."""
        text = self._shelf.get(_name("wait", token))
        return max(0.0, float(text) - time.time()) if text else 0.0

    def begin(self, token: str, seconds: float) -> None:
        """Be quiet for so many seconds."""
        if seconds > 0:
            self._shelf.put(_name("wait", token), str(time.time() + seconds), seconds)


class Silences:
    """Pull requests that nobody has commented on, as the forge told when it showed them."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def told(self, repo: str, number: int, comments: int) -> None:
        """Learn how many comments a pull request has."""
        self._note(repo, number, "" if comments else "silent")

    def broken(self, repo: str, number: int) -> None:
        """Learn that somebody writes there now."""
        self._note(repo, number, "")

    def holds(self, repo: str, number: int) -> bool:
        """Tell whether there was no comment a moment ago."""
        return self._shelf.get(f"silence:{repo}#{number}") == "silent"

    def _note(self, repo: str, number: int, word: str) -> None:
        self._shelf.put(f"silence:{repo}#{number}", word, SILENT_S)


def address_of(path: str, query: Mapping[str, str | int]) -> str:
    """Return a request's address as one text."""
    return path + "?" + json.dumps(dict(query), sort_keys=True)


def _seal(token: str, text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hmac.new(token.encode(), data, hashlib.sha256).hexdigest()


def _name(kind: str, *parts: str) -> str:
    text = "\n".join(parts).encode("utf-8", "surrogatepass")
    return f"{kind}:{hashlib.sha256(text).hexdigest()}"
