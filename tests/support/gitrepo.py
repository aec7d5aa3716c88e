"""Building git repositories in tests: commits from plain dictionaries, the same ids every time."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mergebot.domain.ids import Sha, parse_sha

AUTHOR = "Ada <ada@example.org>"
GRACE = "Grace <grace@example.org>"
Content = str | bytes | None

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
_EPOCH_S = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link's target, as the content of a file."""

    target: str


@dataclass(frozen=True, slots=True)
class Executable:
    """An executable file's content."""

    content: str


@dataclass(frozen=True, slots=True)
class Submodule:
    """The commit that a submodule points at, as the content of a file."""

    sha: str


Entry = Content | Link | Executable | Submodule


@dataclass(frozen=True, slots=True)
class Repo:
    """A bare repository whose commits are made without a work tree.

    `commit` adds to the current branch: the last one made by `branch`, at first `main`.
    """

    path: Path

    @classmethod
    def init(cls, path: Path) -> "Repo":
        """Make an empty bare repository at `path`."""
        path.mkdir(parents=True)
        repo = cls(path)
        repo.git("init", "-q", "--bare", "-b", "main", "--template=", ".")
        return repo

    @property
    def url(self) -> str:
        """Return the address under which git reaches it by file."""
        return f"file://{self.path}"

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git here and return its output without the last newline; fails on any error."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=stdin,
            capture_output=True,
            check=False,
            env=_ENVIRONMENT,
            timeout=60,
        )
        said = done.stderr.decode("utf-8", "replace")
        assert done.returncode == 0, f"git {' '.join(arguments)}: {said}"
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def sha(self, name: str = "HEAD") -> Sha:
        """Return the commit that a branch, ref or id names."""
        return parse_sha(self.git("rev-parse", "--verify", f"{name}^{{commit}}"))

    def branch(self, name: str, at: str = "") -> Sha | None:
        """Go to a branch, made at `at` (a branch, ref or id) where given."""
        self.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
        if not at:
            return None
        self.git("update-ref", f"refs/heads/{name}", self.sha(at))
        return self.sha()

    def commit(
        self,
        message: str | bytes,
        files: Mapping[str, Entry] | None = None,
        *,
        author: str = AUTHOR,
        parents: tuple[str, ...] = (),
        encoding: str = "",
    ) -> Sha:
        """Commit `files` (None removes one) on the current branch and return the new commit.

        `parents`, where given, come after the branch's tip: that makes a merge commit.
        """
        ref = self.git("symbolic-ref", "HEAD")
        tip = self.git("for-each-ref", "--format=%(objectname)", ref)
        text = message.encode() if isinstance(message, str) else message
        at = f"{self._tick()} +0100"
        head = [f"commit {ref}", "mark :1", f"author {author} {at}", f"committer {GRACE} {at}"]
        head += [f"encoding {encoding}"] if encoding else []
        body = [f"from {tip}"] if tip else []
        body += [f"merge {self.sha(parent)}" for parent in parents]
        stream = _lines(*head) + _data(text) + _lines(*body)
        stream += b"".join(_change(path, entry) for path, entry in (files or {}).items())
        stream += b"\nget-mark :1\ndone\n"
        options = ("--quiet", "--force", "--done", "--date-format=raw")
        return parse_sha(self.git("fast-import", *options, stdin=stream))

    def pull(self, number: int, sha: str) -> None:
        """Let a pull request's head stand at a commit."""
        self.git("update-ref", f"refs/pull/{number}/head", sha)

    def log(self, name: str = "main") -> list[str]:
        """Return the subjects of a branch's first-parent line, newest first."""
        return self.git("log", "--first-parent", "--format=%s", name, "--").splitlines()

    def files(self, name: str = "main") -> dict[str, str]:
        """Return every file of a commit with its content."""
        listing = self.git("ls-tree", "-r", "-z", "--name-only", name).split("\0")
        return {path: self.git("show", f"{name}:{path}") for path in listing if path}

    def _tick(self) -> int:
        clock = self.path / "test-clock"
        now = int(clock.read_text()) + 60 if clock.exists() else _EPOCH_S
        clock.write_text(str(now))
        return now


def _lines(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _change(path: str, entry: Entry) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    name = b'"' + escaped + b'"\n'
    match entry:
        case None:
            return b"D " + name
        case Submodule(sha):
            return f"M 160000 {sha} ".encode() + name
        case Link(target):
            return b"M 120000 inline " + name + _data(target.encode())
        case Executable(content):
            return b"M 100755 inline " + name + _data(content.encode())
        case str():
            return b"M 100644 inline " + name + _data(entry.encode())
        case bytes():
            return b"M 100644 inline " + name + _data(entry)
