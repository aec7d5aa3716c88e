"""A bare mirror on this host, shared by every process here: made once, fetched under a lock.

Refs live under refs/mergebot-mirror/, in names of digits only. Nothing is ever collected: what a
candidate was built from stays readable for as long as the mirror does.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.locks import Area, locked
from mergebot.adapters.git.refs import (
    MIRROR,
    MIRROR_NOTES,
    NOTES,
    branch_ref,
    mirror_pull,
    mirror_trunk,
    pull_ref,
)
from mergebot.adapters.git.remote import FETCH, Malformed, RefGone, Remote
from mergebot.domain.ids import Sha, parse_sha
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import RemoteHeads

_FETCH = (
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--no-show-forced-updates",
    "--stdin",
    "--end-of-options",
)

_NAMED_REFS_MAX = 100
"""Of one listing: beyond it all of the mirror's refs are listed, and the command stays short."""


def open_mirror(path: Path) -> GitDir:
    """Return the bare repository at `path`, made there if nobody did; safe at the same time.

    Raises Refused when it belongs to another user, whose configuration would be obeyed.
    """
    if not (path / "HEAD").exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
    if path.stat().st_uid != os.geteuid():
        raise Refused(f"The mirror {path} belongs to another user of this host")
    return GitDir(path)


def _make(path: Path) -> None:
    fresh = Path(mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        GitDir(fresh).run("init", "--quiet", "--bare", "--template=", "--initial-branch=none")
        # Renaming onto a mirror that another process finished first fails, and theirs is as good.
        fresh.rename(path)
    except OSError as error:
        if not (path / "HEAD").exists():
            raise Unavailable(f"The mirror {path} cannot be made: {error.strerror}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def fetch_heads(remote: Remote, trunk: str, pulls: Sequence[int]) -> RemoteHeads:
    """Bring in the trunk and the heads of `pulls` in one connection, and say where they stand.

    A head that git refuses as malformed is Refused when it is the only one, else it stays away
    alone: one pull request cannot keep the others out.
    """
    wanted = {branch_ref(trunk): mirror_trunk(trunk)}
    wanted |= {pull_ref(number): mirror_pull(number) for number in pulls}
    with locked(remote.git, Area.FETCHED):
        brought = _bring(remote, wanted)
        tips = _tips(remote.git, brought)
    head = tips.get(pull_ref(pulls[0])) if len(pulls) == 1 else None
    return RemoteHeads(trunk=tips.get(branch_ref(trunk)), head=head)


def _bring(remote: Remote, wanted: Mapping[str, str]) -> Mapping[str, str]:
    """Fetch what there is of `wanted`, and return that part."""
    try:
        _fetch(remote, wanted)
    except RefGone:
        there = remote.refs(*wanted)
        return _bring(remote, {ref: local for ref, local in wanted.items() if ref in there})
    except Malformed:
        trunk_and_one = 2
        if len(wanted) <= trunk_and_one:
            raise
        for ref, local in wanted.items():
            with suppress(Malformed, RefGone):
                _fetch(remote, {ref: local})
    return wanted


def fetch_commits(remote: Remote, commits: Sequence[Sha]) -> None:
    """Bring in commits by their ids; no ref keeps them, since nothing is ever collected here."""
    if not commits:
        return
    with locked(remote.git, Area.FETCHED):
        remote.read(
            *_FETCH, remote.url, stdin="".join(f"{sha}\n" for sha in commits).encode(), limits=FETCH
        )


def fetch_notes(remote: Remote) -> Sha | None:
    """Bring in the notes of the landings and return their tip, None where there are none."""
    with locked(remote.git, Area.FETCHED):
        try:
            _fetch(remote, {NOTES: MIRROR_NOTES})
        except RefGone:
            remote.git.run("update-ref", "-d", MIRROR_NOTES)
            return None
        return known_notes(remote.git)


def known_notes(git: GitDir) -> Sha | None:
    """Return the notes' tip as this host last saw it."""
    return _tips(git, {NOTES: MIRROR_NOTES}).get(NOTES)


def _fetch(remote: Remote, wanted: Mapping[str, str]) -> None:
    if not wanted:
        return
    remote.read(
        *_FETCH,
        remote.url,
        stdin="".join(f"+{ref}:{local}\n" for ref, local in wanted.items()).encode(),
        limits=FETCH,
    )


def _tips(git: GitDir, wanted: Mapping[str, str]) -> Mapping[str, Sha]:
    listing = git.run("for-each-ref", "--format=%(objectname) %(refname)", *_patterns(wanted))
    rows = {name: sha for sha, _, name in (row.partition(" ") for row in listing.lines)}
    return {ref: parse_sha(rows[local]) for ref, local in wanted.items() if local in rows}


def _patterns(wanted: Mapping[str, str]) -> Sequence[str]:
    local = tuple(wanted.values())
    return local if len(local) <= _NAMED_REFS_MAX else (MIRROR,)
