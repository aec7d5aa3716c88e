"""The key that signs mergebot's own commits, read from the file that `ssh-keygen` writes."""

import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from mergebot.adapters.git.committer import CommitKey
from mergebot.adapters.signing import OTHERS
from mergebot.ports.errors import Refused


def open_commit_key(path: Path) -> CommitKey:
    """Return the key in `path`; raises Refused for what is none."""
    try:
        text = path.read_bytes()
        status = path.stat()
    except OSError as error:
        raise Refused(f"The commit key {path} cannot be read: {error.strerror}.") from None
    if status.st_mode & OTHERS and status.st_uid == os.geteuid():
        raise Refused(f"The commit key {path} can be read by others here: chmod 600 {path}")
    try:
        key = load_ssh_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused(
            f"{path} holds no Ed25519 key of OpenSSH's that is open without a passphrase; make one"
            " with `ssh-keygen -t ed25519 -N ''`, or unset MERGEBOT_COMMIT_KEY_FILE."
        )
    return CommitKey.of(key)
