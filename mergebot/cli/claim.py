"""`mergebot claim`: who may change which files, on the running bot's ledger."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mergebot.adapters.bot_api import Json, of
from mergebot.adapters.claim_tokens import ClaimTokens
from mergebot.cli.client import bot, repository
from mergebot.cli.printing import as_json, clean, paint, table
from mergebot.domain.wording import count
from mergebot.settings import load

Command = Callable[..., None]

TOKEN_VARIABLE = "MERGEBOT_CLAIM_TOKEN"  # noqa: S105  # the name of a variable
COLOURS = {"active": "green", "parked": "blue", "suspect": "yellow", "ended": "white"}


def _options(command: Command) -> Command:
    command = click.option("--json", "json_", is_flag=True, help="Print JSON.")(command)
    return click.option("--repo", default="", help="owner/name; the only one where left out.")(
        command
    )


ID = click.argument("claim_id", metavar="ID")
GENERATION = click.option(
    "--generation", type=click.IntRange(min=0), default=0, help="The generation you know of."
)


@click.group()
def claim() -> None:
    """Claim files for a task, give them back, and see who holds what.

    A session is known by its token, which `claim add` prints once and keeps under MERGEBOT_HOME;
    another machine passes it in MERGEBOT_CLAIM_TOKEN. Without one you act as the admin.
    """


@claim.command()
@click.argument("patterns", nargs=-1, required=True)
@click.option("--task", required=True, help="What for: a ticket such as #12, or any name.")
@click.option("--owner", default="", help="Who is shown as the holder.")
@click.option("--branch", default="", help="Where the work goes; the one checked out here.")
@click.option("--assumes", multiple=True, help="contract@revision that the work relies on.")
@_options
def add(patterns: tuple[str, ...], *, repo: str, json_: bool, **said: Any) -> None:
    """Claim files: nobody else can claim what PATTERNS name until the claim ends.

    Whether a change without any claim may land is up to `claims.required` in .mergebot.toml.
    """
    running = bot()
    body: Json = {
        "task": said["task"],
        "claims": list(patterns),
        "assumes": list(said["assumes"]),
        "branch": said["branch"] or _branch_here(),
        "owner": said["owner"],
    }
    found = running.post_once(of(repository(repo, running), "claims"), body)
    kept = _keep(found)
    if json_:
        as_json(found)
        return
    _say(found)
    click.echo(f"  token      {found['token']} (kept in {kept})")


@claim.command(name="next")
@click.argument("patterns", nargs=-1)
@click.option("--owner", default="", help="Who is shown as the holder.")
@click.option("--branch", default="", help="Where the work goes; task-N where left out.")
@_options
def next_task(
    patterns: tuple[str, ...], owner: str, branch: str, *, repo: str, json_: bool
) -> None:
    """Take the next ready task of the backlog; PATTERNS are claimed beside those of the issue."""
    running = bot()
    body: Json = {"owner": owner, "branch": branch}
    body |= {"claims": list(patterns)} if patterns else {}
    found = running.post_once(of(repository(repo, running), "claims", "next"), body)
    kept = _keep(found)
    if json_:
        as_json(found)
        return
    click.echo(f"#{found['issue']} {clean(found['title'])}")
    _say(found)
    click.echo(f"  token      {found['token']} (kept in {kept})")


@claim.command(name="list")
@_options
def list_claims(*, repo: str, json_: bool) -> None:
    """Show the pool and every claim."""
    running = bot()
    found = running.get(of(repository(repo, running), "claims"))
    if json_:
        as_json(found)
        return
    _say_pool(found["pool"])
    rows = [
        (
            each["id"] or "",
            each["state"],
            each["owner"],
            each["task"] or "",
            f"#{each['pr']}" if each["pr"] else each["branch"] or "",
            " ".join(each["claims"])
            or ("no files yet" if each["id"] else "anything but protected files"),
        )
        for each in found["claims"]
    ]
    for line in table(("ID", "STATE", "OWNER", "TASK", "WHERE", "FILES"), rows):
        click.echo(line)
    if found["cost"]["ceiling"] or found["cost"]["tasks_reported"]:
        click.echo(f"cost: {clean(found['cost']['text'])}")
    for advice in found["advice"]:
        click.echo(f"{clean(advice['text'])} ({clean(advice['evidence'])})")


@claim.command()
@ID
@_options
def show(claim_id: str, *, repo: str, json_: bool) -> None:
    """Show one claim and what happened to it."""
    running = bot()
    found = running.get(of(repository(repo, running), "claims", claim_id))
    if json_:
        as_json(found)
        return
    _say(found)
    for line in found["story"]:
        click.echo(f"  {line['at']}  {clean(line['by'])}: {clean(line['text'])}")


@claim.command()
@ID
@GENERATION
@click.option("--reason", default="", help="Why.")
@_options
def release(claim_id: str, generation: int, reason: str, *, repo: str, json_: bool) -> None:
    """Give the files back: the last act of a session."""
    _act(claim_id, "release", {"generation": generation, "reason": reason}, repo, json_=json_)


@claim.command()
@ID
@GENERATION
@click.option("--reason", required=True, help="Why nobody works on it for now.")
@click.option("--review", default="", help="The day to look again, such as 2026-12-24.")
@_options
def park(
    claim_id: str, generation: int, reason: str, review: str, *, repo: str, json_: bool
) -> None:
    """Keep the files while nobody works on them; no age and no audit ends this."""
    body: Json = {"generation": generation, "reason": reason}
    _act(claim_id, "park", body | ({"review_at": review} if review else {}), repo, json_=json_)


@claim.command()
@ID
@GENERATION
@_options
def unpark(claim_id: str, generation: int, *, repo: str, json_: bool) -> None:
    """Work on it again."""
    _act(claim_id, "unpark", {"generation": generation}, repo, json_=json_)


@claim.command()
@ID
@GENERATION
@_options
def renew(claim_id: str, generation: int, *, repo: str, json_: bool) -> None:
    """Say that its owner lives."""
    _act(claim_id, "renew", {"generation": generation}, repo, json_=json_)


@claim.command()
@ID
@click.argument("patterns", nargs=-1, required=True)
@GENERATION
@_options
def extend(
    claim_id: str, patterns: tuple[str, ...], generation: int, *, repo: str, json_: bool
) -> None:
    """Add PATTERNS to a claim."""
    body: Json = {"generation": generation, "claims": list(patterns)}
    _act(claim_id, "extend", body, repo, json_=json_)


@claim.command()
@ID
@click.option("--generation", type=click.IntRange(min=1), required=True, help="Exactly which.")
@click.option("--owner", default="", help="Who is shown as the holder.")
@_options
def reclaim(claim_id: str, generation: int, owner: str, *, repo: str, json_: bool) -> None:
    """Take a claim from a session that is gone, as an admin; the old one is fenced."""
    running = bot()
    body: Json = {"generation": generation} | ({"owner": owner} if owner else {})
    found = running.post(of(repository(repo, running), "claims", claim_id, "reclaim"), body)
    kept = _keep(found)
    if json_:
        as_json(found)
        return
    _say(found)
    click.echo(f"  token      {found['token']} (kept in {kept})")


@claim.command(name="report-cost")
@ID
@click.argument("amount", type=float)
@click.option("--unit", default="", help="That of the rules (fleet.cost_unit) where left out.")
@click.option("--reference", default="", help="Counts once; the claim as a whole where left out.")
@_options
def report_cost(
    claim_id: str, amount: float, unit: str, reference: str, *, repo: str, json_: bool
) -> None:
    """Say what a claim's task cost you; the fleet's ceiling counts it. Do so before `release`."""
    running = bot()
    token = os.environ.get(TOKEN_VARIABLE, "") or ClaimTokens(load().home).known(claim_id).get(
        "token", ""
    )
    body: Json = {"amount": amount, "unit": unit, "reference": reference, "token": token}
    found = running.post(of(repository(repo, running), "claims", claim_id, "cost"), body)
    if json_:
        as_json(found)
        return
    said = f"{found['amount']:g} {found['unit']} for {clean(found['task'])}"
    click.echo(f"{said}: {'counted' if found['counted'] else 'known already, not counted again'}")
    click.echo(f"  fleet      {clean(found['fleet']['text'])}")


@claim.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be freed.")
@_options
def audit(*, dry_run: bool, repo: str, json_: bool) -> None:
    """Look at the whole pool, item by item, and free what ticket, branch and queue agree on."""
    running = bot()
    path = of(repository(repo, running), "claims", "audit")
    found = running.get(path) if dry_run else running.post(path, {})
    if json_:
        as_json(found)
        return
    words = {"free": "would free" if dry_run else "freed", "flag": "decide"}
    rows = [
        (
            words.get(each["decision"], each["decision"]),
            each["id"],
            each["task"],
            each["owner"],
            each["because"],
        )
        for each in found["items"]
    ]
    for line in table(("", "ID", "TASK", "OWNER", "BECAUSE"), rows):
        click.echo(line)
    freed, kept = len(found["freed"]), len(found["kept"])
    click.echo(f"{count(kept, 'claim')} kept, {freed} {words['free']}.")
    click.echo(f"usable capacity: {found['usable_before']} before, {found['usable_after']} after")
    for each in found["flagged"]:
        click.echo(f"decide with: mergebot claim decide {each} push|abandon --reason ...")


@claim.command()
@ID
@click.argument("choice", type=click.Choice(["push", "abandon"]))
@click.option("--reason", required=True, help="Why; it is recorded.")
@_options
def decide(claim_id: str, choice: str, reason: str, *, repo: str, json_: bool) -> None:
    """Record what becomes of work that only one machine has; nothing is deleted by this."""
    running = bot()
    path = of(repository(repo, running), "claims", claim_id, "decide")
    found = running.post(path, {"choice": choice, "reason": reason})
    if json_:
        as_json(found)
        return
    click.echo(f"{claim_id}: {choice}, decided by {clean(found['by'])}.")


@claim.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_options
def import_file(file: Path, *, repo: str, json_: bool) -> None:
    """Take over a plain claims FILE: lines of task | owner | time, perhaps | files."""
    running = bot()
    path = of(repository(repo, running), "claims", "import")
    found = running.post(path, {"file": file.read_text("utf-8", "replace")})
    if json_:
        as_json(found)
        return
    for each in found["claims"]:
        outcome = each["id"] or f"left out: {clean(each['refused'])}"
        click.echo(f"{clean(each['task'])} of {clean(each['owner'])}: {outcome}")
    click.echo(f"{count(found['imported'], 'claim')} imported; nobody has their tokens.")


@claim.command(name="report-worktrees")
@click.argument("clones", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--host", default="", help="What this machine is called; its host name.")
@_options
def report_worktrees(clones: tuple[Path, ...], host: str, *, repo: str, json_: bool) -> None:
    """Tell the bot what this machine's CLONES hold that no remote has; by default the one here."""
    from mergebot.wiring.checkout import here, strays_of  # noqa: PLC0415  # slow to import

    trees = [tree for clone in clones or (Path.cwd(),) for tree in here(clone)]
    for stray in strays_of(trees):
        click.echo(f"{stray} is no ledger: claims count only where the bot keeps them.", err=True)
    running = bot()
    body: Json = {
        "host": host or socket.gethostname(),
        "worktrees": [
            {
                "path": clean(tree.path),
                "branch": clean(tree.branch),
                "head": tree.head,
                "dirty": tree.dirty,
                "ahead": tree.ahead,
            }
            for tree in trees
        ],
    }
    found = running.post(of(repository(repo, running), "claims", "worktrees"), body)
    if json_:
        as_json(found)
        return
    concerned = count(found["claims"], "claim")
    click.echo(f"{count(len(trees), 'local line')} of work reported, {concerned} concerned.")


def _act(claim_id: str, what: str, body: Json, repo: str, *, json_: bool) -> None:
    running = bot()
    known = ClaimTokens(load().home).known(claim_id)
    token = os.environ.get(TOKEN_VARIABLE, "") or known.get("token", "")
    if token:
        body = {**body, "token": token, "generation": body["generation"] or known["generation"]}
    found = running.post(of(repository(repo, running), "claims", claim_id, what), body)
    if token:
        _keep(found | {"token": token})
    if json_:
        as_json(found)
    else:
        _say(found)


def _say(found: Json) -> None:
    state = paint(found["state"], COLOURS.get(found["state"], "white"))
    where = f"#{found['pr']}" if found["pr"] else found["branch"] or "no branch yet"
    click.echo(f"{found['id']} {clean(found['task'])}: {state}, generation {found['generation']}")
    click.echo(f"  owner      {clean(found['owner'])}, {clean(where)}")
    for pattern in found["claims"]:
        click.echo(f"  claims     {clean(pattern)}")
    if found.get("parked"):
        parked = found["parked"]
        click.echo(f"  parked     {clean(parked['reason'])}; review {parked['review_at'][:10]}")
    for name in ("why", "evidence"):
        if found.get(name):
            click.echo(f"  {name:<10} {clean(found[name])}")


def _say_pool(pool: Json) -> None:
    kinds = ", ".join(f"{pool[kind]} {kind}" for kind in ("active", "parked", "suspect", "free"))
    click.echo(f"{kinds}: {pool['size']} in the pool")


def _branch_here() -> str:
    from mergebot.wiring.checkout import branch_here  # noqa: PLC0415  # slow to import

    return branch_here(Path.cwd())


def _keep(found: Json) -> Path:
    """Keep a session's token for the next commands, readable by nobody else."""
    return ClaimTokens(load().home).keep(found)
