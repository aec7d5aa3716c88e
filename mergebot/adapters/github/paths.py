"""Addresses within the forge's API, built from names that were checked and quoted."""

import re
from urllib.parse import quote

from mergebot.ports.errors import Refused

REPOSITORY_NAME = re.compile(
    r"(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}/(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}"
)


def at(repo: str, *parts: str | int) -> str:
    """Return the path of something in `repo`; raises Refused for what is no repository's name."""
    if not REPOSITORY_NAME.fullmatch(repo):
        raise Refused(f"{repo[:200]!r} is no name of a repository; it must be owner/name.")
    # Dots would be resolved on the way: `labels/.` names every label there is.
    if odd := [part for part in parts if part in {"", ".", ".."}]:
        raise Refused(f"{odd[0]!r} can be no part of an address on the forge.")
    return "/".join(("/repos", repo, *(quote(str(part), safe="") for part in parts)))
