"""Building git repositories in tests: commits from plain dictionaries, the same ids every time."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mergebot.domain.ids import Sha, parse_sha

AUTHOR = "Ada <ada@example.org>"
Content = str | bytes | None

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_COMMITTER_NAME": "Grace",
    "GIT_COMMITTER_EMAIL": "grace@example.org",
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

    def git(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run git here and return its output without the last newline; fails on any error."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=stdin,
            capture_output=True,
            check=False,
            env=_ENVIRONMENT | dict(env or {}),
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
    ) -> Sha:
        """Commit `files` (None removes one) on the current branch and return the new commit.

        `parents`, where given, come after the branch's tip: that makes a merge commit.
        """
        tip = self.git("for-each-ref", "--format=%(objectname)", self.git("symbolic-ref", "HEAD"))
        tree = self._tree(tip, files or {})
        at = f"{_EPOCH_S + 60 * self._count()} +0100"
        name, _, email = author.removesuffix(">").partition(" <")
        env = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email}
        env |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        links = [word for p in (tip, *parents) if p for word in ("-p", self.sha(p))]
        text = message.encode() if isinstance(message, str) else message
        made = self.git("commit-tree", tree, *links, stdin=text, env=env)
        self.git("update-ref", "HEAD", made)
        return parse_sha(made)

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

    def _count(self) -> int:
        listing = self.git("count-objects", "-v").splitlines()[0]
        return int(listing.removeprefix("count: "))

    def _tree(self, tip: str, files: Mapping[str, Entry]) -> str:
        index = {"GIT_INDEX_FILE": str(self.path / "test-index")}
        self.git("read-tree", *([tip] if tip else ["--empty"]), env=index)
        rows = "".join(self._row(path, entry) for path, entry in files.items())
        stdin = rows.encode("utf-8", "surrogateescape")
        self.git("update-index", "-z", "--index-info", stdin=stdin, env=index)
        return self.git("write-tree", "--missing-ok", env=index)

    def _row(self, path: str, entry: Entry) -> str:
        match entry:
            case None:
                return f"0 {'0' * 40}\t{path}\0"
            case Submodule(sha):
                return f"160000 {sha}\t{path}\0"
            case Link(target):
                return f"120000 {self._blob(target.encode())}\t{path}\0"
            case Executable(content):
                return f"100755 {self._blob(content.encode())}\t{path}\0"
            case str() | bytes():
                raw = entry.encode() if isinstance(entry, str) else entry
                return f"100644 {self._blob(raw)}\t{path}\0"

    def _blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=content)
