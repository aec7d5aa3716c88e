"""The key of this installation: it signs receipts with Ed25519, and seals what Redis only keeps.

Seals are HMAC-SHA256 with keys that are derived from the private key, one for each purpose. So who
can write to Redis can neither sign nor seal, and every host of one installation needs the same
key file.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from mergebot.ports.errors import Refused

KEY_BYTES = 32
OTHERS = 0o077
"""The permission bits of a key file that let anybody but its owner in."""


class PublicKeys:
    """Public keys, each called by the SHA-256 of its DER form."""

    def __init__(self, keys: Iterable[Ed25519PublicKey]) -> None:
        self._keys = {key_id_of(each): each for each in keys}

    @property
    def key_ids(self) -> tuple[str, ...]:
        """Return the names of the keys."""
        return tuple(self._keys)

    def signed(self, key_id: str, message: bytes, signature: bytes) -> bool:
        """Tell whether the key called `key_id` is known here and signed `message`."""
        key = self._keys.get(key_id)
        if key is None:
            return False
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


class KeyNotary(PublicKeys):
    """What holds the private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        super().__init__([key.public_key()])
        self._key = key
        self._raw = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        self._sealing: dict[str, bytes] = {}

    @property
    def key_id(self) -> str:
        """Return the name of the key."""
        return key_id_of(self._key.public_key())

    @property
    def public_pem(self) -> str:
        """Return the public key, as `receipt verify` takes it."""
        form = PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(Encoding.PEM, form).decode()

    def sign(self, message: bytes) -> bytes:
        """Return the signature of `message`."""
        return self._key.sign(message)

    def seal(self, purpose: str, text: str) -> str:
        """Return the seal of `text`, as hex digits."""
        return hmac.new(self._key_for(purpose), text.encode(), hashlib.sha256).hexdigest()

    def sealed(self, purpose: str, text: str, seal: str) -> bool:
        """Tell whether this installation sealed `text` for `purpose`."""
        return hmac.compare_digest(self.seal(purpose, text).encode(), seal.encode())

    def _key_for(self, purpose: str) -> bytes:
        if purpose not in self._sealing:
            about = f"mergebot seal v1: {purpose}".encode()
            derived = HKDF(SHA256(), KEY_BYTES, salt=None, info=about).derive(self._raw)
            self._sealing[purpose] = derived
        return self._sealing[purpose]


def key_id_of(key: Ed25519PublicKey) -> str:
    """Return the name of a public key."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def open_notary(path: Path) -> KeyNotary:
    """Return the holder of the private key in `path`; raises Refused for what is none."""
    try:
        pem = path.read_bytes()
        mode = path.stat().st_mode
    except OSError as error:
        raise Refused(f"The signing key {path} cannot be read: {error.strerror}.") from None
    if mode & OTHERS and path.stat().st_uid == os.geteuid():
        raise Refused(f"The signing key {path} can be read by others here: chmod 600 {path}")
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Refused(
            f"{path} holds no Ed25519 private key in PEM; make one with"
            " `openssl genpkey -algorithm ed25519`, or unset MERGEBOT_SIGNING_KEY_FILE."
        )
    return KeyNotary(key)


def make_key(path: Path) -> None:
    """Write a new private key to `path`, for this user alone, unless there is one."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    form = PrivateFormat.PKCS8
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, form, NoEncryption())
    written = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())
    try:
        # Linking fails where another process was first; then its key is everybody's.
        path.hardlink_to(written)
    except FileExistsError:
        return
    finally:
        written.unlink()


def read_public_keys(paths: Iterable[Path]) -> PublicKeys:
    """Return the public keys in these files; raises Refused for a file that holds none.

    A file may hold several, one after the other; a private key is taken for its public half.
    """
    return PublicKeys(key for path in paths for key in _keys_in(path))


def _keys_in(path: Path) -> list[Ed25519PublicKey]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Refused(f"The key {path} cannot be read: {error.strerror}.") from None
    blocks = [b"-----BEGIN " + each for each in text.split(b"-----BEGIN ")[1:]]
    keys = [key for key in map(_public, blocks) if key is not None]
    if not keys:
        raise Refused(f"{path} holds no Ed25519 key in PEM; `mergebot receipt key` prints one.")
    return keys


def _public(pem: bytes) -> Ed25519PublicKey | None:
    try:
        if b"PRIVATE KEY" in pem:
            private = load_pem_private_key(pem, password=None)
            return private.public_key() if isinstance(private, Ed25519PrivateKey) else None
        key = load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Ed25519PublicKey) else None
