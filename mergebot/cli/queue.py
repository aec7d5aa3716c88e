"""The commands that ask the running bot, and steer it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from mergebot.adapters.bot_api import Json, of
from mergebot.cli.client import bot, repository
from mergebot.cli.printing import as_json, clean, paint, table
from mergebot.domain.ids import short
from mergebot.domain.wording import count, duration, from_iso

Command = Callable[..., None]

COLOURS = {"green": "green", "red": "red", "unknown": "yellow"}


def _options(command: Command) -> Command:
    command = click.option("--json", "json_", is_flag=True, help="Print JSON.")(command)
    return click.option("--repo", default="", help="owner/name; the only one where left out.")(
        command
    )


class _PullRequest(click.ParamType[int]):
    """A pull request by its number, with or without the sign before it."""

    name = "pr"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number."""
        text = str(value).removeprefix("#")
        if not (text.isascii() and text.isdecimal() and int(text) > 0):
            self.fail(f"{value!r} is no pull request: give its number, such as 7", param, ctx)
        return int(text)


PR = click.argument("pr", type=_PullRequest())


@click.command()
@_options
def status(*, repo: str, json_: bool) -> None:
    """Show the trunk's health, the queue and what ended lately."""
    running = bot()
    found = running.get(of(repository(repo, running), "queue"))
    if json_:
        as_json(found)
        return
    trunk = found["trunk"]
    health = paint(trunk["health"], COLOURS[trunk["health"]])
    tip = short(trunk["sha"]) if trunk["sha"] else "no commit seen yet"
    click.echo(f"{found['repo']}: {trunk['branch']} is {health} at {tip}")
    if halted := found["halted"]:
        click.echo(f"{paint('halted', 'red')}: {clean(halted['reason'])}")
        click.echo(f"  ends {clean(halted['ends_when'])}")
    if waiting := found["waiting"]:
        click.echo(f"waiting: {clean(waiting)}")
    _print_entries(found["entries"])
    click.echo(f"{count(found['workers'], 'gate')} at once")


def _print_entries(entries: list[Json]) -> None:
    if not entries:
        click.echo("The queue is empty.")
        return
    rows = [
        (
            each["position"],
            f"#{each['pr']}",
            each["state"] + (f" ({each['reason']})" if each["reason"] else ""),
            each["step"] or "",
            _age(each["enqueued_at"]),
            each["author"]["login"],
            each["title"],
        )
        for each in entries
    ]
    for line in table(("", "PR", "STATE", "STEP", "AGE", "AUTHOR", "TITLE"), rows):
        click.echo(line)


def _age(since: str) -> str:
    return duration(datetime.now(UTC).timestamp() - from_iso(since))


@click.command()
@PR
@_options
def show(pr: int, *, repo: str, json_: bool) -> None:
    """Show one pull request's story."""
    running = bot()
    found = running.get(of(repository(repo, running), "candidates", pr))
    if json_:
        as_json(found)
        return
    _say(found)
    for name in ("claimed", "strayed", "conflicts", "repro"):
        for line in found[name]:
            click.echo(f"  {name:<10} {clean(line)}")
    if found["first_error"]:
        for line in str(found["first_error"]).splitlines():
            click.echo(f"  | {clean(line)}")
    if found["log_url"]:
        click.echo(f"  log        {found['log_url']}")
    for line in found["story"]:
        click.echo(f"  {line['at']}  {clean(line['text'])}")


@click.command()
@PR
@_options
def enqueue(pr: int, *, repo: str, json_: bool) -> None:
    """Queue a pull request at its present head, by setting its label."""
    _act(repo, ("candidates", pr), {}, json_=json_)


@click.command()
@PR
@_options
def cancel(pr: int, *, repo: str, json_: bool) -> None:
    """Take a pull request out of the queue, by removing its label."""
    _act(repo, ("candidates", pr, "cancel"), {}, json_=json_)


@click.command()
@PR
@click.option("--reason", required=True, help="Why it may end otherwise this time.")
@_options
def retry(pr: int, reason: str, *, repo: str, json_: bool) -> None:
    """Try the same head once more."""
    _act(repo, ("candidates", pr, "retry"), {"reason": reason}, json_=json_)


@click.command()
@click.argument("reason")
@_options
def halt(reason: str, *, repo: str, json_: bool) -> None:
    """Let nothing land until `mergebot resume`; REASON is shown to everybody."""
    _act(repo, ("halt",), {"reason": reason}, json_=json_)


@click.command()
@click.argument("reason", default="resumed by hand")
@_options
def resume(reason: str, *, repo: str, json_: bool) -> None:
    """End a halt that a person or an odd trunk made."""
    _act(repo, ("resume",), {"reason": reason}, json_=json_)


def _act(repo: str, what: tuple[Any, ...], body: Json, *, json_: bool) -> None:
    running = bot()
    found = running.post(of(repository(repo, running), *what), body)
    if json_:
        as_json(found)
    elif "state" in found:
        _say(found)
    elif halted := found.get("halted"):
        click.echo(f"halted: {clean(halted['reason'])}; ends {clean(halted['ends_when'])}")
    elif "trunk" in found:
        click.echo(f"Nothing is halted; {found['trunk']['branch']} is {found['trunk']['health']}.")
    else:
        click.echo("Done.")


def _say(found: Json) -> None:
    reason = f" ({found['reason']})" if found["reason"] else ""
    click.echo(f"#{found['pr']} {clean(found.get('title', ''))}: {found['state']}{reason}")
    if found.get("text"):
        click.echo(f"  {clean(found['text'])}")
    if found.get("next_action"):
        click.echo(f"  next: {clean(found['next_action'])}")
