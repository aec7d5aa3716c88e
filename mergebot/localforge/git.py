"""One bare repository: its refs and objects, read and changed by git itself."""

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ZERO = "0" * 40
SHA = re.compile(r"[0-9a-f]{40}\Z")
_GIT_TIMEOUT_S = 120

# No configuration of the host or of a user may change what the forge does.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "Local Forge",
    "GIT_AUTHOR_EMAIL": "noreply@forge.localhost",
    "GIT_COMMITTER_NAME": "Local Forge",
    "GIT_COMMITTER_EMAIL": "noreply@forge.localhost",
}


class GitError(Exception):
    """git refused or failed; carries its exit status and what it said."""

    def __init__(self, code: int, stderr: str) -> None:
        super().__init__(stderr.strip() or f"git ended with status {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """What one git command returned."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """The output as text, whatever its bytes."""
        return self.out.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Update:
    """One ref moved from an old to a new commit; forty zeros stand for absent."""

    ref: str
    old: str
    new: str


@lru_cache(maxsize=65536)
def _known(path: str, sha: str) -> bool:
    """Remember only presence: objects never vanish from a repository of the forge."""
    if Bare(Path(path)).ask("cat-file", "-e", f"{sha}^{{commit}}").code:
        raise KeyError(sha)
    return True


@dataclass(frozen=True, slots=True)
class Bare:
    """A bare repository on disk."""

    path: Path

    def ask(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Answer:
        """Run git and return its answer, whatever its exit status."""
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=ENVIRONMENT | (env or {}),
            timeout=_GIT_TIMEOUT_S,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def run(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> str:
        """Run git and return its output; raise GitError when it fails."""
        answer = self.ask(*arguments, stdin=stdin, env=env)
        if answer.code:
            raise GitError(answer.code, answer.err.decode("utf-8", "replace"))
        return answer.text

    def create(self, default_branch: str) -> None:
        """Make an empty bare repository."""
        self.path.mkdir(parents=True)
        self.run("init", "-q", "--bare", "-b", default_branch, "--template=", ".")

    def ref(self, name: str) -> str | None:
        """Return what a full ref name points at, read from disk without starting git."""
        try:
            text = (self.path / name).read_text("ascii").strip()
        except (OSError, ValueError):
            text = ""
        if SHA.match(text):
            return text
        try:
            packed = (self.path / "packed-refs").read_text("utf-8")
        except OSError:
            return None
        found = re.search(rf"^([0-9a-f]{{40}}) {re.escape(name)}$", packed, re.MULTILINE)
        return found[1] if found else None

    def branch(self, name: str) -> str | None:
        """Return a branch's tip, or None."""
        return self.ref(f"refs/heads/{name}") if valid_ref(f"refs/heads/{name}") else None

    def refs(self, prefix: str) -> list[tuple[str, str, str]]:
        """Return (ref, object id, object type) of every ref that starts with a prefix."""
        listing = self.run("for-each-ref", "--format=%(refname) %(objectname) %(objecttype)")
        rows = (line.split(" ") for line in listing.split("\n") if line)
        return [(name, sha, kind) for name, sha, kind in rows if name.startswith(prefix)]

    def resolve(self, name: str) -> str | None:
        """Return the commit that a branch, a tag, a ref or a SHA names, or None."""
        if SHA.match(name):
            return name if self.has(name) else None
        for ref in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            if ref.startswith("refs/") and valid_ref(ref) and self.ref(ref):
                answer = self.ask("rev-parse", "-q", "--verify", f"{ref}^{{commit}}")
                return answer.text.strip() or None
        if re.fullmatch(r"[0-9a-f]{7,39}", name):
            answer = self.ask("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
            return answer.text.strip() or None
        return None

    def has(self, sha: str) -> bool:
        """Tell whether a commit is here."""
        try:
            return bool(SHA.match(sha)) and _known(str(self.path), sha)
        except KeyError:
            return False

    def contains(self, tip: str, sha: str) -> bool:
        """Tell whether a commit is reachable from a tip."""
        return tip == sha or self.ask("merge-base", "--is-ancestor", sha, tip).code == 0

    def merge_base(self, one: str, other: str) -> str | None:
        """Return a best common ancestor of two commits, or None."""
        return self.ask("merge-base", one, other).text.strip() or None

    def move(self, updates: Iterable[Update]) -> None:
        """Move refs together, each only from its old value; raise GitError when one moved."""
        lines = [
            f"delete {u.ref} {u.old}" if u.new == ZERO else f"update {u.ref} {u.new} {u.old}"
            for u in updates
        ]
        self.run("update-ref", "--stdin", stdin="".join(f"{x}\n" for x in lines).encode())

    def set_ref(self, name: str, sha: str) -> None:
        """Point a ref of the forge's own (refs/pull) somewhere, whatever it was."""
        self.run("update-ref", name, sha)

    def fetch(self, source: Path, sha: str, ref: str) -> None:
        """Bring a commit from another repository of the forge and point a ref at it."""
        allow = ["-c", "uploadpack.allowAnySHA1InWant=true"]
        config = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "uploadpack.allowAnySHA1InWant",
            "GIT_CONFIG_VALUE_0": "true",
        }
        options = ("-q", "--no-tags", "--no-write-fetch-head")
        self.run(*allow, "fetch", *options, str(source), f"+{sha}:{ref}", env=config)


@lru_cache(maxsize=4096)
def valid_ref(name: str) -> bool:
    """Tell whether a full ref name is one that git accepts."""
    if any(ord(c) <= ord(" ") or c in "~^:?*[\\\x7f" for c in name) or "@{" in name:
        return False
    parts = name.split("/")
    bad = any(not p or p.startswith((".", "-")) or p.endswith((".lock", ".")) for p in parts)
    return not bad and ".." not in name
