"""`mergebot receipt`: what landed, read and proved from a clone alone."""

import json
from pathlib import Path
from typing import Any

import click

from mergebot.cli.printing import as_json, clean, paint, table
from mergebot.domain.ids import short
from mergebot.domain.proving import Proof
from mergebot.domain.receipts import DSSE, Receipt
from mergebot.domain.wording import count
from mergebot.services.verifying import Question, landed
from mergebot.services.verifying import verify as judge
from mergebot.settings import load

JSON = click.option("--json", "json_", is_flag=True, help="Print JSON.")
TRUNK = click.option(
    "--trunk",
    default="",
    metavar="REV",
    help="The trunk's tip in this clone [origin/HEAD, else HEAD].",
)


@click.group()
def receipt() -> None:
    """Read and prove what landed, from this clone alone.

    The receipts are git notes: git fetch origin refs/notes/mergebot:refs/notes/mergebot
    """


@receipt.command(name="list")
@TRUNK
@click.option("--limit", default=20, type=click.IntRange(1, 10_000), show_default=True)
@JSON
def list_receipts(trunk: str, limit: int, *, json_: bool) -> None:
    """List the newest landings of the trunk."""
    found = _landed(trunk)[:limit]
    if json_:
        as_json([_document(each) for each in found])
        return
    rows = [_row(each) for each in found]
    for line in table(["COMMIT", "PR", "LANDED", "QUEUED BY", "RECEIPT"], rows):
        click.echo(line)


@receipt.command()
@click.argument("pr", type=click.IntRange(1))
@TRUNK
@JSON
def show(pr: int, trunk: str, *, json_: bool) -> None:
    """Show the receipt of the newest landing of PR."""
    found = next((each for each in _landed(trunk) if each.fields.get("pr") == pr), None)
    if found is None:
        raise click.ClickException(f"No receipt in this clone is for #{pr}.")
    fields = {key: value for key, value in found.fields.items() if json_ or key != DSSE}
    if json_:
        as_json({**fields, "digest": found.digest})
        return
    for name, value in fields.items():
        click.echo(f"{name:12} {clean(value if isinstance(value, str) else json.dumps(value))}")
    click.echo(f"{'digest':12} {found.digest}")


@receipt.command()
@TRUNK
@click.option("--since", default="", metavar="REV", help="Begin after this commit.")
@click.option(
    "--key",
    "keys_",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with a public key; several while a key is rotated [this installation's].",
)
@JSON
def verify(trunk: str, since: str, keys_: tuple[Path, ...], *, json_: bool) -> None:
    """Prove that every commit of the trunk was landed by a signed receipt, or name the others.

    It looks at the first-parent line, since the base of the oldest receipt unless --since says
    otherwise. It needs this clone and the public key, nothing else.
    """
    from mergebot.wiring.clone import history, keys  # noqa: PLC0415  # slow to import

    known = keys(load(), keys_)
    proof = judge(history(Path.cwd()), known, Question(_tip(trunk), since))
    if json_:
        as_json(_proved(proof))
    else:
        _say(proof)
    if not proof.whole:
        raise click.exceptions.Exit(1)


@receipt.command()
@JSON
def key(*, json_: bool) -> None:
    """Show the public key of this installation."""
    from mergebot.wiring.clone import public_key  # noqa: PLC0415  # slow to import

    name, pem = public_key(load())
    if json_:
        as_json({"keyid": name, "algorithm": "ed25519", "pem": pem})
    else:
        click.echo(pem, nl=False)


def _tip(trunk: str) -> str:
    from mergebot.ports.errors import Refused  # noqa: PLC0415  # as below
    from mergebot.wiring.clone import history  # noqa: PLC0415  # slow to import

    if trunk:
        return trunk
    try:
        history(Path.cwd()).commit("origin/HEAD")
    except Refused:
        return "HEAD"
    return "origin/HEAD"


def _landed(trunk: str) -> list[Receipt]:
    from mergebot.wiring.clone import history  # noqa: PLC0415  # slow to import

    found = landed(history(Path.cwd()), Question(_tip(trunk)))
    return [each for _, each in found]


def _row(found: Receipt) -> tuple[object, ...]:
    fields = found.fields
    by = fields.get("enqueued_by")
    who = by.get("login", "") if isinstance(by, dict) else ""
    merged = short(str(fields.get("merged", "")))
    return merged, f"#{fields.get('pr')}", fields.get("landed_at", ""), who, found.digest[:12]


def _document(found: Receipt) -> dict[str, Any]:
    fields = {key: value for key, value in found.fields.items() if key != DSSE}
    return {**fields, "digest": found.digest}


def _proved(proof: Proof) -> dict[str, Any]:
    return {
        "whole": proof.whole,
        "adopted": proof.adopted,
        "tip": proof.tip,
        "commits": proof.commits,
        "landings": list(proof.landings),
        "findings": [
            {"commit": each.commit, "flaw": each.flaw, "text": each.text} for each in proof.findings
        ],
    }


def _say(proof: Proof) -> None:
    since = f"since {short(proof.adopted)}" if proof.adopted else "since its first commit"
    looked = f"{count(proof.commits, 'commit')} {since}"
    if proof.whole:
        words = f"{looked}: all of them were landed, by {count(len(proof.landings), 'receipt')}."
        click.echo(paint(words, "green"))
        return
    for each in proof.findings:
        click.echo(f"{short(each.commit)} {paint(each.flaw, 'red')}: {clean(each.text)}")
    found = count(len(proof.findings), "finding")
    click.echo(f"{looked}, {count(len(proof.landings), 'valid receipt')}, {found}.", err=True)
