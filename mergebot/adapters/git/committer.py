"""Whose the commits are that mergebot makes: one committer, and the key that signs them.

Signing happens in this process, so that the key is in no argument, environment or configuration of
git. An Ed25519 signature of the same bytes is the same on every host, so a replay stays what it is.
"""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mergebot.adapters.git.objects import Commit, raw_commit

EMAIL = "mergebot@users.noreply.github.com"

_NAMESPACE, _HASH, _KIND = b"git", b"sha512", b"ssh-ed25519"
_MAGIC, _VERSION = b"SSHSIG", (1).to_bytes(4)
_COLUMNS = 70


@dataclass(frozen=True, slots=True)
class CommitKey:
    """A key that signs commits as `ssh-keygen -Y sign -n git` does, for a signature of git's kind.

    Two are the same where their public halves are.
    """

    public: bytes
    private: Ed25519PrivateKey = field(compare=False, repr=False)

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> "CommitKey":
        """Return the key of a private half."""
        return cls(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw), private)

    @property
    def line(self) -> str:
        """Return the public half as accounts of a forge take it."""
        return f"{_KIND.decode()} {b64encode(self._blob).decode()}"

    def sign(self, message: bytes) -> bytes:
        """Return the armoured signature of `message`."""
        about = _string(_NAMESPACE) + _string(b"") + _string(_HASH)
        signed = _MAGIC + about + _string(hashlib.sha512(message).digest())
        signature = _string(_KIND) + _string(self.private.sign(signed))
        blob = _MAGIC + _VERSION + _string(self._blob) + about + _string(signature)
        lines = wrap(b64encode(blob).decode(), _COLUMNS)
        text = ("-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----")
        return "\n".join(text).encode()

    @property
    def _blob(self) -> bytes:
        return _string(_KIND) + _string(self.public)


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


@dataclass(frozen=True, slots=True)
class Committer:
    """Whom mergebot's own commits name as their committer; without a key they are not signed."""

    email: str = EMAIL
    key: CommitKey | None = None

    def at(self, when: bytes) -> bytes:
        """Return the header of a commit made at `when`."""
        return f"mergebot <{self.email}> ".encode() + when

    def keeps(self, commits: Sequence[Commit]) -> bool:
        """Tell whether the authors' own commits may land: with a key, only if all are signed."""
        return self.key is None or all(commit.signed for commit in commits)

    def object_of(self, commit: Commit) -> bytes:
        """Return a commit of mergebot's own as git stores it, signed where there is a key."""
        plain = raw_commit(commit)
        if self.key is None:
            return plain
        head, _, message = plain.partition(b"\n\n")
        signature = self.key.sign(plain).replace(b"\n", b"\n ")
        return head + b"\ngpgsig " + signature + b"\n\n" + message


UNSIGNED = Committer()
