"""`mergebot demo`: set the stage, play, and say whether everything ended as it should."""

import json
from collections.abc import Sequence

import click

from mergebot.cli.demo.fleet import FILES, SETTINGS, play
from mergebot.cli.demo.hub import HubError
from mergebot.cli.demo.narrator import Narrator
from mergebot.cli.demo.play import Outcome, Play, PlayError
from mergebot.cli.demo.stage import Scenery, Stage, StageError, set_up
from mergebot.cli.printing import paint, table
from mergebot.cli.supervisor import CannotStart, Interrupted

INTERRUPTED = 130
FOR_EVER_S = 10.0**9


@click.command()
@click.option("--keep", is_flag=True, help="Leave page and forge up until Ctrl-C.")
@click.option("--json", "json_", is_flag=True, help="End with the outcomes as JSON.")
@click.option("--fleet", is_flag=True, help="Play twelve agents with a backlog of tasks instead.")
@click.option(
    "--tasks", type=click.IntRange(1, 1000), default=40, show_default=True, help="With --fleet."
)
def demo(tasks: int, *, keep: bool, json_: bool, fleet: bool) -> int:
    """Watch the whole product work on this machine: no account, no network."""
    click.echo("Starting forge, Valkey, page, workers and reconciler ...")
    sandbox = _sandbox()
    try:
        if fleet:
            with set_up(Scenery(sandbox, FILES, SETTINGS)) as stage:
                return play(stage, tasks)
        with set_up(Scenery(sandbox)) as stage:
            return _play(stage, keep=keep, json_=json_)
    except Interrupted:
        click.echo("Stopped.", err=True)
        return INTERRUPTED
    except (StageError, PlayError, HubError, CannotStart) as error:
        raise click.ClickException(f"The demo did not go on: {str(error).rstrip('.')}.") from None


def _sandbox() -> str:
    from mergebot.wiring.gates import trouble_with  # noqa: PLC0415  # slow to import

    trouble = trouble_with("bubblewrap")
    if trouble:
        click.echo(f"Gates run without a sandbox here: {trouble}", err=True)
    return "none" if trouble else "bubblewrap"


def _play(stage: Stage, *, keep: bool, json_: bool) -> int:
    click.echo(f"  page   {stage.bot.address}/{stage.repo}")
    click.echo(f"  forge  {stage.hub.url}/{stage.repo}")
    outcomes = Play(stage, Narrator()).perform()
    wrong = [each for each in outcomes if not each.as_expected]
    if json_:
        click.echo(json.dumps([_document(each) for each in outcomes], indent=2))
    else:
        _show(outcomes)
    if keep:
        _keep(stage)
    if not wrong:
        click.echo("Every pull request ended as it should.")
        return 0
    for each in wrong:
        ended = each.reason or each.state
        click.echo(f"#{each.pr} ended as {ended}, but should as {each.expected}.", err=True)
    return 1


def _show(outcomes: Sequence[Outcome]) -> None:
    rows = [
        (f"#{each.pr}", each.title, each.state, each.reason, f"{each.seconds:.1f}")
        for each in outcomes
    ]
    head, *lines = table(("PR", "TITLE", "OUTCOME", "REASON", "SECONDS"), rows)
    click.echo(f"\n{head}")
    for each, line in zip(outcomes, lines, strict=True):
        click.echo(line if each.as_expected else paint(line, "red"))
    click.echo()


def _document(outcome: Outcome) -> dict[str, object]:
    return {
        "pr": outcome.pr,
        "title": outcome.title,
        "state": outcome.state,
        "reason": outcome.reason or None,
        "seconds": round(outcome.seconds, 1),
        "expected": outcome.expected,
    }


def _keep(stage: Stage) -> None:
    click.echo("Left running, until Ctrl-C:")
    click.echo(f"  page   {stage.bot.address}/{stage.repo}")
    click.echo(f"  forge  {stage.hub.url}/{stage.repo}")
    try:
        stage.wait(lambda: False, FOR_EVER_S)
    except Interrupted:
        click.echo("Stopping ...")
