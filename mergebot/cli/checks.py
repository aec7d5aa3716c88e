"""Checks that need no running bot: a repository's rules, and a change against its claim."""

import os
import sys
from pathlib import Path

import click

from mergebot.cli.printing import as_json
from mergebot.domain.planning import CONFIG_PATHS
from mergebot.domain.policy import EXAMPLE, Policy, PolicyFaults
from mergebot.domain.scope import Enqueuer, Inside, Outside
from mergebot.domain.wording import count

JSON = click.option("--json", "json_", is_flag=True, help="Print JSON.")


@click.group()
def config() -> None:
    """Check .mergebot.toml."""


@config.command(name="check")
@click.argument("path", default="", type=click.Path(path_type=Path))
@JSON
def check_config(path: Path, *, json_: bool) -> None:
    """Check the rules at PATH: a file, or a directory that holds them; by default this one."""
    from mergebot.adapters.policy_toml import TomlRules  # noqa: PLC0415  # slow to import

    try:
        file = _rules_file(path)
    except click.ClickException as error:
        if json_:
            as_json({"file": os.fspath(path), "valid": False, "faults": [error.message.rstrip()]})
        raise
    try:
        found = TomlRules().parse(file.read_bytes())
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}.") from None
    faults = _faults(found, file)
    if json_:
        as_json({"file": str(file), "valid": not faults, "faults": faults})
    if faults:
        if not json_:
            click.echo("\n".join(faults), err=True)
        raise click.exceptions.Exit(1)
    if isinstance(found, Policy) and not json_:
        steps = ", ".join(step.name for step in found.gate.steps) or "external checks"
        click.echo(f"{file} is valid; the gate is {steps}.")


def _faults(found: Policy | PolicyFaults, file: Path) -> list[str]:
    match found:
        case PolicyFaults(faults=faults):
            return list(faults)
        case Policy(gate=gate) if gate.empty:
            return [
                f"{file.name} has no gate, so nothing could land. The smallest one is:\n\n{EXAMPLE}"
            ]
        case Policy():
            return []


def _rules_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.exists():
        raise click.ClickException(f"{path} does not exist.")
    tried = [path / name for name in CONFIG_PATHS]
    file = next((each for each in tried if each.is_file()), None)
    if file is None:
        where = os.fspath(path) if path != Path() else "this directory"
        raise click.ClickException(
            f"There is no {' or '.join(CONFIG_PATHS)} in {where}. The smallest one is:\n\n{EXAMPLE}"
        )
    return file


@click.group()
def scope() -> None:
    """Check a change against its claim."""


@scope.command(name="check")
@click.option("--base", required=True, help="The commit of the trunk to compare with.")
@click.option("--head", required=True, help="The commit that is proposed.")
@click.option(
    "--claim-file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the pull request's description, the claim block in it.",
)
@click.option(
    "--admin", is_flag=True, help="Check as if an admin set the label (for protected paths)."
)
@JSON
def check_scope(base: str, head: str, claim_file: Path, *, admin: bool, json_: bool) -> None:
    """Check in a checkout whether HEAD changes only what its claim covers.

    The rules are read at BASE. It tells an author early; the bot checks again what lands.
    """
    from mergebot.wiring.checkout import Question, check_checkout  # noqa: PLC0415  # slow to import

    enqueuer = Enqueuer.ADMIN if admin else Enqueuer.MEMBER
    body = claim_file.read_text("utf-8", "replace")
    found = check_checkout(Path.cwd(), Question(base, head, body, enqueuer))
    inside = isinstance(found, Inside)
    if json_:
        as_json(
            {
                "inside": inside,
                "paths": list(found.paths) if isinstance(found, Inside) else [],
                "reason": found.reason if isinstance(found, Outside) else None,
                "strayed": list(found.strayed) if isinstance(found, Outside) else [],
                "details": list(found.details) if isinstance(found, Outside) else [],
            }
        )
    elif isinstance(found, Inside):
        click.echo(f"{count(len(found.paths), 'changed path')} inside the claim and the rules.")
    else:
        click.echo("\n".join(found.details), err=True)
    if not inside:
        raise click.exceptions.Exit(1)


@scope.command(name="pre-push", hidden=True)
@click.argument("remote")
@click.argument("url")
def pre_push(remote: str, url: str) -> None:
    """Refuse a push of commits outside the claim on their branch: git's hook `pre-push`.

    A push that cannot be checked goes on and says so; the gate checks everything again.
    """
    from mergebot.cli.agents import outside_claim, pushed_branches  # noqa: PLC0415  # slow to import

    strays = 0
    for branch, commit in pushed_branches(sys.stdin):
        for sentence in outside_claim(remote, url, branch, commit):
            click.echo(f"{branch}: {sentence}", err=True)
            strays += 1
    if strays:
        raise click.ClickException(
            "This push leaves its claim, so it was refused: take these paths out of the commits, or"
            " `mergebot claim extend`."
        )
