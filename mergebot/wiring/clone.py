"""A clone and the keys it is judged with, put together: nothing here asks Redis or a network."""

from collections.abc import Sequence
from pathlib import Path

from mergebot.adapters.git.checkout import open_checkout
from mergebot.adapters.git.history import CloneHistory
from mergebot.adapters.signing import PublicKeys, open_notary, read_public_keys
from mergebot.ports.errors import Refused
from mergebot.ports.history import History
from mergebot.settings import Settings


def history(directory: Path) -> History:
    """Return the past of the clone around a directory; raises Refused where there is none."""
    return CloneHistory(open_checkout(directory))


def keys(settings: Settings, files: Sequence[Path]) -> PublicKeys:
    """Return the keys in `files`, or this installation's own; raises Refused."""
    if files:
        return read_public_keys(files)
    if settings.signing_key.is_file():
        return read_public_keys([settings.signing_key])
    raise Refused("Give the public key with --key FILE; `mergebot receipt key` prints it.")


def public_key(settings: Settings) -> tuple[str, str]:
    """Return the name and the PEM of this installation's public key; raises Refused."""
    if not settings.signing_key.is_file():
        raise Refused(
            f"There is no signing key at {settings.signing_key} yet: the bot makes it when it is"
            " first started. Set MERGEBOT_HOME or MERGEBOT_SIGNING_KEY_FILE to those of the bot."
        )
    notary = open_notary(settings.signing_key)
    return notary.key_id, notary.public_pem
