"""Names of refs: the mirror's own, made of digits, and branch names that people chose."""

import hashlib
import re

from mergebot.ports.errors import Refused

NOTES = "refs/notes/mergebot"
MIRROR = "refs/mergebot-mirror"
MIRROR_NOTES = f"{MIRROR}/notes"
OUTGOING = f"{MIRROR}/outgoing"

_BRANCH_BYTES_MAX = 1000
# What `git check-ref-format` forbids anywhere in a name.
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def branch_ref(name: str) -> str:
    """Return the full ref of a branch that somebody named; raises Refused for an unsafe name.

    The rules are those of `git check-ref-format refs/heads/NAME`. With the prefix such a name is
    no option, and it cannot hold the characters that give a refspec a second half or a wildcard.
    """
    parts = name.split("/")
    bad = any(not p or p.startswith(".") or p.endswith(".lock") for p in parts)
    if (
        bad
        or name.endswith(".")
        or _FORBIDDEN.search(name)
        or not 0 < len(_encoded(name)) <= _BRANCH_BYTES_MAX
    ):
        raise Refused(f"{name[:80]!r} is not a name that git allows for a branch")
    return f"refs/heads/{name}"


def _encoded(name: str) -> bytes:
    try:
        return name.encode()
    except UnicodeEncodeError:
        return b""


def pull_ref(number: int) -> str:
    """Return where the forge keeps a pull request's head."""
    return f"refs/pull/{number:d}/head"


def candidate_ref(number: int) -> str:
    """Return where a merged commit is published for `repro` and for statuses."""
    return f"refs/mergebot/candidate/{number:d}"


def trial_ref(number: int) -> str:
    """Return the branch on which others' CI sees a merged commit."""
    return f"refs/heads/mergebot/trial/{number:d}"


def mirror_trunk(trunk: str) -> str:
    """Return the mirror's ref for a trunk, whatever the trunk is called."""
    return f"{MIRROR}/trunk/{hashlib.sha256(trunk.encode()).hexdigest()[:16]}"


def mirror_pull(number: int) -> str:
    """Return the mirror's ref for a pull request's head."""
    return f"{MIRROR}/pull/{number:d}"
