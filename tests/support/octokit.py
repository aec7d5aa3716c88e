"""GitHub's own description of itself, from npm: fetched once, pinned, checked, and kept in .cache.

Where npm cannot be asked, `trouble()` says so in one sentence. Tests then go without the
description on a laptop and fail in CI, where nobody would notice its absence.
"""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parents[2] / ".cache" / "github"
FETCH_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Package:
    """One file of one version of a package; `integrity` is the SHA-512 of the tarball."""

    name: str
    version: str
    member: str
    kept_as: str
    integrity: str

    @property
    def path(self) -> Path:
        """Where the file is kept."""
        return CACHE / f"{self.kept_as}-{self.version}.json"


REST = Package(
    name="@octokit/openapi",
    version="23.0.2",
    member="package/generated/api.github.com.json",
    kept_as="rest",
    integrity="pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
)
WEBHOOKS = Package(
    name="@octokit/openapi-webhooks",
    version="12.1.0",
    member="package/generated/api.github.com.json",
    kept_as="webhooks",
    integrity="Z5eDsLCUNbx1zHpZb1LNQirADqdMTvWJQ/deahi0ws+tWWnwHXB+Pr4jfmM9OrETS9Y5iW8ZRu1fdbudObhLrg==",
)
EXAMPLES = Package(
    name="@octokit/webhooks-examples",
    version="7.6.1",
    member="package/api.github.com/index.json",
    kept_as="examples",
    integrity="De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
)


class Unfetched(Exception):
    """A package is not here and cannot be fetched; the text is one sentence."""


@cache
def trouble() -> str:
    """Return "" when the whole description is here, else why it is not."""
    try:
        for package in (REST, WEBHOOKS, EXAMPLES):
            _fetch(package)
    except Unfetched as error:
        if os.environ.get("CI") == "true":
            raise
        return str(error)
    return ""


def load(package: Package) -> Any:
    """Return a package's file; raises Unfetched."""
    _fetch(package)
    return json.loads(package.path.read_bytes())


def npm_install(place: Path, *packages: str) -> None:
    """Install packages, given as name@version, below the folder `place`; raises Unfetched."""
    with _one_at_a_time():
        if not (place / "node_modules").exists():
            place.mkdir(parents=True, exist_ok=True)
            _npm(place, "install", "--ignore-scripts", "--no-audit", "--no-fund", *packages)


def _fetch(package: Package) -> None:
    if package.path.exists():
        return
    with _one_at_a_time(), tempfile.TemporaryDirectory(dir=CACHE) as made:
        if package.path.exists():
            return
        folder = Path(made)
        _npm(folder, "pack", f"{package.name}@{package.version}")
        (tarball,) = folder.glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
        if found != package.integrity:
            raise Unfetched(f"{package.name}@{package.version} is not the file that was pinned")
        with tarfile.open(tarball) as archive, (folder / "kept").open("wb") as kept:
            member = archive.extractfile(package.member)
            if member is None:
                raise Unfetched(f"{package.name}@{package.version} holds no {package.member}")
            shutil.copyfileobj(member, kept)
        (folder / "kept").replace(package.path)


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _npm(folder: Path, *arguments: str) -> None:
    if shutil.which("npm") is None:
        raise Unfetched("npm is not installed, so GitHub's description was not checked against")
    command = ["npm", "--silent", "--fetch-retries=1", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, check=False, timeout=FETCH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise Unfetched(f"npm {arguments[0]} did not end in {FETCH_TIMEOUT_S} s") from error
    if done.returncode:
        raise Unfetched(f"npm {arguments[0]} failed: no package registry can be reached")
