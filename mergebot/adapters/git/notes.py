"""Receipts as git notes on `refs/notes/mergebot`, in the layout that `git notes` itself uses."""

import json
from collections.abc import Mapping, Sequence
from itertools import starmap
from time import time

from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.locks import Area, locked
from mergebot.adapters.git.messages import NAME
from mergebot.adapters.git.objects import read_objects
from mergebot.adapters.git.refs import MIRROR
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.receipts import Receipt

_DRAFT = f"{MIRROR}/draft"
_HEX_LENGTHS = (40, 64)


def write_notes(git: GitDir, notes: Sequence[tuple[Sha, Receipt]], *, onto: Sha | None) -> Sha:
    """Store a notes commit on top of `onto` that adds each commit's receipt; return its id."""
    message = f"Landed {notes[-1][0]}\n".encode()
    lines = [
        f"reset {_DRAFT}",
        f"commit {_DRAFT}",
        "mark :1",
        f"committer {NAME.decode()} {int(time())} +0000",
        f"data {len(message)}\n{message.decode()}",
        *([f"from {onto}"] if onto else []),
        "",
    ]
    stream = "\n".join(lines).encode() + b"".join(starmap(_note, notes)) + b"get-mark :1\ndone\n"
    options = ("--quiet", "--force", "--done", "--date-format=raw")
    with locked(git, Area.DRAFT):
        return parse_sha(git.run("fast-import", *options, stdin=stream).text)


def _note(merged: Sha, receipt: Receipt) -> bytes:
    text = f"{receipt.text}\n".encode()
    return f"N inline {merged}\ndata {len(text)}\n".encode() + text + b"\n"


def read_receipts(git: GitDir, tip: Sha) -> Mapping[Sha, Receipt]:
    """Return every receipt under a notes commit; a note that is no JSON object is not one."""
    listing = git.run("ls-tree", "-r", "-z", "--full-tree", tip).out.split(b"\0")[:-1]
    rows = [row.decode("utf-8", "replace").partition("\t") for row in listing]
    blobs = {path.replace("/", ""): meta.split(" ")[2] for meta, _, path in rows}
    named = {name: blob for name, blob in blobs.items() if _names_a_commit(name)}
    found = read_objects(git, list(named.values()))
    texts = zip(named, (raw.decode("utf-8", "replace") for _, _, raw in found), strict=True)
    return {parse_sha(name): Receipt(text.rstrip("\n")) for name, text in texts if _is_object(text)}


def _names_a_commit(name: str) -> bool:
    return len(name) in _HEX_LENGTHS and not name.strip("0123456789abcdef")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
