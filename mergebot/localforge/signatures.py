"""Signatures of commits, verified by git against the signing keys that accounts have registered.

As on GitHub a signature is verified where its key belongs to an account and the commit's committer
has an address of that account.
"""

import base64
import binascii
import hashlib
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mergebot.localforge.git import Bare
from mergebot.localforge.store import Row, Store

KINDS = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256")
_MARK = "\ngpgsig "
_GOOD = ("G", "U")


@dataclass(frozen=True, slots=True)
class Verification:
    """What is known of a commit's signature; `reason` is one of GitHub's words."""

    reason: str
    signature: str = ""
    payload: str = ""

    @property
    def verified(self) -> bool:
        """Tell whether it is whose it seems to be."""
        return self.reason == "valid"


def addresses(user: Row) -> tuple[str, ...]:
    """Return the addresses that an account has shown to be its own."""
    login, host = user["login"], "users.noreply.localhost"
    return f"{login}@{host}", f"{user['id']}+{login}@{host}"


def fingerprint(key: str) -> str:
    """Return the fingerprint of a public key's line, "" for what is none."""
    words = key.split()
    if len(words) < 2 or words[0] not in KINDS:  # noqa: PLR2004 - its kind and itself
        return ""
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        return ""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"


def verify(store: Store, bare: Bare, sha: str) -> Verification:
    """Return what is known of a commit's signature."""
    signature, payload = _parted(bare, sha)
    if not signature:
        return Verification("unsigned")
    if "SSH SIGNATURE" not in signature:
        return Verification("unknown_key", signature, payload)
    return Verification(_reason(store, bare, sha), signature, payload)


def _reason(store: Store, bare: Bare, sha: str) -> str:
    rows = store.all(
        "SELECT signing_keys.*, users.login FROM signing_keys JOIN users ON users.id = user_id"
    )
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as allowed:
        for row in rows:
            allowed.write(f'key-{row["id"]} namespaces="git" {row["key"]}\n')
        allowed.flush()
        options = ("-c", f"gpg.ssh.allowedSignersFile={allowed.name}")
        told = bare.ask(*options, "log", "-1", "--format=%G?%n%GF%n%ce", sha, "--").text
    status, print_, email = [*told.split("\n"), "", ""][:3]
    if status not in _GOOD:
        return "invalid"
    key = next((row for row in rows if row["fingerprint"] == print_), None)
    if status != "G" or key is None:
        return "unknown_key"
    user = {"login": key["login"], "id": key["user_id"]}
    return "valid" if email in addresses(user) else "no_user"


def _parted(bare: Bare, sha: str) -> tuple[str, str]:
    return _parted_once(str(bare.path), sha)


@lru_cache(maxsize=16384)
def _parted_once(path: str, sha: str) -> tuple[str, str]:
    """Return a commit's signature, and the commit without it: what the signature is of."""
    text = Bare(Path(path)).run("cat-file", "commit", sha)
    head, gap, message = text.partition("\n\n")
    before, mark, rest = head.partition(_MARK)
    if not mark:
        return "", ""
    lines = rest.split("\n")
    end = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith(" ")), len(lines))
    signature = "\n".join([lines[0], *(line[1:] for line in lines[1:end])])
    left = "\n".join([before, *lines[end:]])
    return signature, f"{left}{gap}{message}"
