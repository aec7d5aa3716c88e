"""Twenty pull requests with disjoint files, landed by the product and by a bare shell loop."""

import base64
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from mergebot.cli.demo.hub import Person
from tests.bench.stack import Stack, wait

LAND_S = 170.0
LABEL = "merge-queue"


@dataclass(frozen=True, slots=True)
class Fleet:
    """Open pull requests of one repository, oldest first; those in `broken` fail the gate."""

    repo: str
    bare: Path
    pulls: Sequence[int]
    broken: Sequence[int]
    gate: str

    @property
    def tip(self) -> str:
        """Return the trunk's tip, read from the forge's disk."""
        return (self.bare / "refs/heads/main").read_text().strip()

    def landed(self, since: str) -> int:
        """Return how many commits the trunk gained."""
        return int(git(self.bare, "rev-list", "--count", "--first-parent", f"{since}..{self.tip}"))


def gate_of(seconds: float) -> str:
    """Return a gate that sleeps, and that a file called `broken` turns red."""
    return f"sleep {seconds:g} && test ! -e broken" if seconds else "test ! -e broken"


def git(where: Path, *arguments: str, stdin: bytes = b"", who: Person | None = None) -> str:
    """Run git as somebody and return what it printed."""
    done = subprocess.run(
        ["git", "-C", str(where), *arguments],
        input=stdin,
        env=environment(who),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def environment(who: Person | None) -> dict[str, str]:
    """Return git's whole environment, with the person's token where git reads configuration."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"}
    if who is not None:
        basic = base64.b64encode(f"{who.login}:{who.token}".encode()).decode()
        header = f"Authorization: Basic {basic}"
        env |= {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "http.extraHeader",
            "GIT_CONFIG_VALUE_0": header,
        }
    return env


def rules_of(gate: str) -> str:
    """Return a rules file with one step."""
    step = f'[[gate.steps]]\nname = "test"\nrun = "{gate}"\n'
    return f'trunk = "main"\n\n[gate]\ntimeout = "5m"\n\n{step}'


def commit(mark: int, ref: str, files: dict[str, str], parent: str = "") -> str:
    """Return a commit in the language of `git fast-import`."""
    lines = [
        f"commit {ref}",
        f"mark :{mark}",
        f"committer Ada <ada@example.org> {1700000000 + mark} +0000",
    ]
    message = f"Change {ref.rpartition('/')[2]}"
    lines += [f"data {len(message)}", message, *([f"from {parent}"] if parent else [])]
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    return "\n".join(lines) + "\n"


def make_fleet(
    stack: Stack, name: str, gate: str, *, count: int = 20, broken: Sequence[int] = ()
) -> Fleet:
    """Make a repository with open pull requests; places in `broken` count from zero."""
    repo = stack.hub.create_repository(stack.owner, name)
    work = stack.home / f"seed-{name}"
    git(stack.home, "init", "--quiet", "--bare", "--initial-branch=main", str(work))
    base = {".mergebot.toml": rules_of(gate), "README.md": "# Fleet\n"}
    base |= {f"area-{n}/start.txt": f"start {n}\n" for n in range(count)}
    stream = commit(1, "refs/heads/main", base)
    for n in range(count):
        files = {f"area-{n}/change.txt": f"change {n}\n"}
        files |= {"broken": "yes\n"} if n in broken else {}
        stream += commit(n + 2, f"refs/heads/change-{n}", files, ":1")
    git(work, "fast-import", "--quiet", stdin=stream.encode())
    url = f"{stack.hub.url}/{repo}.git"
    git(work, "push", "--quiet", url, "refs/heads/main", who=stack.owner)
    git(work, "push", "--quiet", url, "refs/heads/change-*:refs/heads/change-*", who=stack.owner)
    pulls = []
    for n in range(count):
        asked = {"title": f"Change area {n}", "body": "", "head": f"change-{n}", "base": "main"}
        opened = stack.hub.ask(stack.owner, "POST", f"/repos/{repo}/pulls", asked)
        pulls.append(int(opened["number"]))
    red = [pulls[place] for place in broken]
    return Fleet(repo, stack.bare(repo), pulls, red, gate)


def land_by_product(stack: Stack, fleet: Fleet) -> float:
    """Label every pull request and return the seconds until the trunk has all that can land."""
    since, begun = fleet.tip, monotonic()
    for number in fleet.pulls:
        stack.hub.add_label(fleet.repo, stack.owner, number, LABEL)
    wanted = len(fleet.pulls) - len(fleet.broken)
    wait(lambda: fleet.landed(since) >= wanted, "the last landing", within_s=LAND_S)
    return monotonic() - begun


def land_by_loop(stack: Stack, fleet: Fleet) -> float:
    """Do what a person would script: fetch, rebase, gate, push; return the seconds it took."""
    work = stack.home / f"loop-{fleet.repo.rpartition('/')[2]}"
    url = f"{stack.hub.url}/{fleet.repo}.git"
    git(stack.home, "clone", "--quiet", url, str(work), who=stack.owner)
    script = work / ".git" / "loop.sh"
    script.write_text(LOOP)
    begun = monotonic()
    subprocess.run(
        ["sh", str(script), fleet.gate, *map(str, fleet.pulls)],
        cwd=work,
        env=environment(stack.owner),
        check=True,
        capture_output=True,
    )
    return monotonic() - begun


LOOP = """\
gate=$1
shift
for pull in "$@"; do
    git fetch --quiet origin main "refs/pull/$pull/head:refs/pulls/$pull" || exit 1
    git checkout --quiet --detach "refs/pulls/$pull" || exit 1
    git rebase --quiet origin/main || exit 1
    if sh -c "$gate"; then
        git push --quiet origin HEAD:refs/heads/main || exit 1
    fi
done
"""


def check_landed(stack: Stack, fleet: Fleet) -> None:
    """Raise AssertionError unless exactly the good pull requests are merged on the forge."""

    def merged(number: int) -> bool:
        return bool(stack.hub.pull(fleet.repo, number)["merged"])

    good = [number for number in fleet.pulls if number not in fleet.broken]
    wait(lambda: all(merged(number) for number in good), "every merge shown", within_s=30)
    assert not any(merged(number) for number in fleet.broken)
