"""A checkout that somebody works in: read only, through the same guarded git as the mirrors."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from mergebot.adapters.git.command import GitDir, environment
from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.adapters.git.remote import Remote
from mergebot.domain.ids import Sha, parse_sha
from mergebot.ports.errors import Refused


@dataclass(frozen=True, slots=True)
class Checkout:
    """The repository that holds the directory it was opened at."""

    directory: GitDir

    @property
    def git(self) -> MirrorGit:
        """Return its git without any remote."""
        return MirrorGit(Remote(self.directory, "", lambda: "", ()))

    def commit(self, name: str) -> Sha:
        """Return the commit that a person calls `name`; raises Refused."""
        answer = self.directory.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        if answer.code:
            raise Refused(f"{name[:100]!r} names no commit of this checkout; fetch it first.")
        return parse_sha(answer.text.strip())

    def fork_point(self, one: Sha, other: Sha) -> Sha:
        """Return the newest commit that both contain; raises Refused where there is none."""
        answer = self.directory.ask("merge-base", one, other)
        if answer.code:
            raise Refused("The two commits have no common history; fetch more of it.")
        return parse_sha(answer.text.split()[0])


def open_checkout(directory: Path) -> Checkout:
    """Return the checkout around `directory`; raises Refused where there is none."""
    found = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"],
        cwd=directory,
        env=environment(),
        capture_output=True,
        check=False,
        text=True,
    )
    if found.returncode:
        raise Refused(f"{directory} is no git checkout.")
    return Checkout(GitDir(Path(found.stdout.strip())))
