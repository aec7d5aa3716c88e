"""Identities: commits, people, repositories and lanes, parsed once at the edge."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import NewType

Sha = NewType("Sha", str)

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def parse_sha(text: str) -> Sha:
    """Return `text` as a commit id of 40 or 64 lower-case hex digits.

    Raises ValueError for anything else, so that nothing a user chose reaches git as an argument.
    """
    if not _SHA.fullmatch(text):
        raise ValueError(f"a commit id is 40 or 64 hex digits, not {text[:80]!r}")
    return Sha(text)


def short(sha: str) -> str:
    """Return the seven digits that people read."""
    return sha[:7]


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or bot on the forge; decisions compare `id` only, `login` is for reading."""

    id: int
    login: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One trunk of one repository; lanes share nothing and fail alone."""

    repo_id: int
    repo: str
    trunk: str

    @property
    def key(self) -> str:
        """Return a name that is safe in Redis keys and file names, whatever the branch is called."""
        return _key(self.repo_id, self.trunk)


@cache
def _key(repo_id: int, trunk: str) -> str:
    return f"{repo_id}-{hashlib.sha256(trunk.encode()).hexdigest()[:8]}"
