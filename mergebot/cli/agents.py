"""`mergebot init --agents`: what agents read in a repository, and the hook that checks a push."""

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import click

from mergebot.adapters.bot_api import Bot, of
from mergebot.cli.client import bot
from mergebot.domain.scope import Outside
from mergebot.domain.setup import with_agents_section
from mergebot.ports.errors import Refused, Unavailable

FILES = ("AGENTS.md", "CLAUDE.md")
MARK = "# Made by `mergebot init --agents`."
HOOK = f"""\
#!/bin/sh
{MARK} It refuses commits outside the claim on their branch; `--no-verify` passes by.
exec mergebot scope pre-push "$@"
"""
BRANCH = "refs/heads/"


def tell_agents(directory: Path) -> None:
    """Write the section into AGENTS.md, and into CLAUDE.md where there is one, and the hook."""
    for name in FILES:
        path = directory / name
        if path.is_symlink() or (name != FILES[0] and not path.exists()):
            continue
        before = path.read_text("utf-8") if path.exists() else ""
        after = with_agents_section(before)
        if before != after:
            path.write_text(after, "utf-8")
        click.echo(f"{'Wrote' if before != after else 'Unchanged:'} {name}.")
    _write_hook(directory)


def pushed_branches(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield branch and commit of what git says it is about to push; deletions are none."""
    for line in lines:
        local, commit, ref, _ = [*line.split(" "), "", "", "", ""][:4]
        if not commit.strip("0"):
            continue
        if ref.startswith(BRANCH):
            yield ref.removeprefix(BRANCH), commit
        elif ref.startswith("refs/for/"):
            yield local.removeprefix(BRANCH), commit


def outside_claim(remote: str, url: str, branch: str, commit: str) -> list[str]:
    """Return a sentence for each way in which a commit leaves the claim on its branch."""
    try:
        return _outside(bot(), remote, _repo_of(url), branch=branch, commit=commit)
    except (Refused, Unavailable) as error:
        click.echo(f"Not checked against a claim: {error}", err=True)
        return []


def _outside(running: Bot, remote: str, repo: str, *, branch: str, commit: str) -> list[str]:
    from mergebot.wiring.own_scope import Span, check_claimed, patterns_on  # noqa: PLC0415  # slow to import

    trunk = running.get(of(repo, "queue"))["trunk"]["branch"]
    if branch == trunk:
        return []
    span = Span(f"{remote}/{trunk}", commit)
    found = check_claimed(Path.cwd(), patterns_on(running, repo, branch), span)
    return list(found.details) if isinstance(found, Outside) else []


def _repo_of(url: str) -> str:
    """Return owner/name from the address of a remote, also one such as git@host:owner/name."""
    path = urlsplit(url).path if "://" in url else url.rpartition(":")[2]
    parts = path.strip("/").removesuffix(".git").split("/")[-2:]
    if len(parts) != 2:  # noqa: PLR2004 - owner and name
        raise Refused(f"{url[:100]!r} names no owner/name")
    return "/".join(parts)


def _write_hook(directory: Path) -> None:
    asked = ["git", "-C", str(directory.resolve()), "rev-parse", "--path-format=absolute"]
    found = subprocess.run(
        [*asked, "--git-path", "hooks/pre-push"], capture_output=True, check=False, text=True
    )
    if found.returncode:
        click.echo(f"{directory} is no git checkout, so there is no hook to write.", err=True)
        return
    path = Path(found.stdout.strip())
    if path.exists() and MARK not in path.read_text("utf-8", "replace"):
        click.echo(f"{path} is there already; call `mergebot scope pre-push` from it.", err=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HOOK, "utf-8")
    path.chmod(0o755)
    click.echo("The hook pre-push checks the claim from now on, in this clone.")
