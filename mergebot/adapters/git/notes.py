"""Receipts as git notes on `refs/notes/mergebot`, in the layout that `git notes` itself uses."""

import json
from collections.abc import Mapping, Sequence
from itertools import starmap
from time import time

from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.committer import UNSIGNED
from mergebot.adapters.git.locks import Area, locked
from mergebot.adapters.git.objects import batch, read_objects
from mergebot.adapters.git.refs import MIRROR
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.receipts import Receipt

_DRAFT = f"{MIRROR}/draft"
_HEX_LENGTHS = (40, 64)
_HALT = "halt"
"""A path that no note has, since notes are named by digits alone."""


def write_notes(git: GitDir, notes: Sequence[tuple[Sha, Receipt]], *, onto: Sha | None) -> Sha:
    """Store a notes commit on top of `onto` that adds each commit's receipt; return its id."""
    text = b"".join(starmap(_note, notes))
    return _commit(git, f"Landed {notes[-1][0]}\n", text, onto=onto)


def _commit(git: GitDir, text: str, changes: bytes, *, onto: Sha | None) -> Sha:
    message = text.encode()
    who = UNSIGNED.at(f"{int(time())} +0000".encode())
    lines = [
        f"reset {_DRAFT}",
        f"commit {_DRAFT}",
        "mark :1",
        f"committer {who.decode()}",
        f"data {len(message)}\n{message.decode()}",
        *([f"from {onto}"] if onto else []),
        "",
    ]
    stream = "\n".join(lines).encode() + changes + b"get-mark :1\ndone\n"
    options = ("--quiet", "--force", "--done", "--date-format=raw")
    with locked(git, Area.DRAFT):
        return parse_sha(git.run("fast-import", *options, stdin=stream).text)


def write_fence(git: GitDir, merged: Sha, generation: int, *, onto: Sha | None) -> Sha:
    """Store a notes commit on top of `onto` that fences `merged`; return its id."""
    fence = f"M 100644 inline {_fence(merged)}\ndata {len(str(generation))}\n{generation}\n"
    return _commit(git, f"Fenced {merged}\n", fence.encode(), onto=onto)


def write_halt(git: GitDir, text: str, *, onto: Sha | None) -> Sha:
    """Store a notes commit on top of `onto` that keeps a halt, or none where `text` is ""."""
    raw = text.encode()
    kept = f"M 100644 inline {_HALT}\ndata {len(raw)}\n".encode() + raw + b"\n"
    if not text:
        return _commit(git, "Resumed\n", f"D {_HALT}\n".encode(), onto=onto)
    return _commit(git, "Halted\n", kept, onto=onto)


def read_halt(git: GitDir, *, tip: Sha | None) -> str:
    """Return the halt that a notes commit keeps, "" for none."""
    ((_, kind, text),) = batch(git, [f"{tip}:{_HALT}"]) if tip else [("", "", b"")]
    return text.decode("utf-8", "replace") if kind == "blob" else ""


def read_fence(git: GitDir, merged: Sha, *, tip: Sha | None) -> int:
    """Return the generation up to which `merged` may land no more, -1 where nothing says so."""
    ((_, kind, text),) = batch(git, [f"{tip}:{_fence(merged)}"]) if tip else [("", "", b"")]
    return int(text) if kind == "blob" and text.isdigit() else -1


def _fence(merged: Sha) -> str:
    """Return a path that no note has, since notes are named by digits alone."""
    return f"fence/{merged}"


def _note(merged: Sha, receipt: Receipt) -> bytes:
    text = f"{receipt.text}\n".encode()
    return f"N inline {merged}\ndata {len(text)}\n".encode() + text + b"\n"


def read_receipt(git: GitDir, merged: Sha, *, tip: Sha | None) -> Receipt | None:
    """Return the receipt of one commit, None where the notes have none."""
    return read_receipts(git, tip).get(merged) if tip else None


def noted(git: GitDir, commits: Sequence[Sha], *, tip: Sha | None) -> bool:
    """Tell whether one of these commits has a note, however deep in folders, without reading all."""
    places = [f"{tip}:{place}" for commit in commits for place in _places(commit)]
    return tip is not None and any(kind == "blob" for _, kind, _ in batch(git, places))


def receipts_among(git: GitDir, commits: Sequence[Sha], *, tip: Sha | None) -> Sequence[Receipt]:
    """Return the receipts that some of these commits have, without reading all."""
    places = [f"{tip}:{place}" for commit in commits for place in _places(commit)]
    found = batch(git, places) if tip else ()
    texts = [
        raw.decode("utf-8", "replace").rstrip("\n") for _, kind, raw in found if kind == "blob"
    ]
    return [Receipt(text) for text in texts if _is_object(text)]


def _places(commit: Sha) -> tuple[str, ...]:
    """Return where a note may be: git puts them into more folders the more there are."""
    parts = (commit[:2], commit[2:4], commit[4:6])
    return tuple("/".join((*parts[:depth], commit[2 * depth :])) for depth in range(4))


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
