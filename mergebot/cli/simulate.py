"""`mergebot simulate`: the production planner on a trace, beside an oracle and plain policies."""

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from mergebot.cli.printing import as_json, table
from mergebot.domain.policy import Hedging, QueuePolicy
from mergebot.domain.wording import count, duration
from mergebot.services.simulation import comparing, measuring, traces
from mergebot.services.simulation.plotting import plot
from mergebot.services.simulation.world import Change, Conditions

LATE = (0.3, 1.0)
EARLY = (0.05, 0.4)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")


class Duration(click.ParamType[float]):
    """A length of time such as 90s, 10m or 1h, in seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value))
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not 0 < seconds <= 7 * 24 * 3600:  # a week
            self.fail(
                f"{value!r} is no length of time from 1s to 168h, such as 90s or 10m.", param, ctx
            )
        return seconds


class Share(click.ParamType[float]):
    """A share such as 5% or 0.05."""

    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the share as a number from 0 to 1."""
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"{text!r} is no share from 0% to 100%, such as 5% or 0.05.", param, ctx)
        return share


class Batch(click.ParamType[int]):
    """The largest group: a number from 1 to 64, or auto."""

    name = "batch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, 0 for auto."""
        text = str(value)
        if text == "auto":
            return 0
        if not text.isdecimal() or not 1 <= int(text) <= 64:  # noqa: PLR2004  # as in .mergebot.toml
            self.fail(f"{text!r} is neither auto nor a number from 1 to 64.", param, ctx)
        return int(text)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the world, the pace of arrivals, the rules, and how many pools of changes."""

    conditions: Conditions
    pace: traces.Pace
    queue: QueuePolicy
    changes: int
    pools: int
    seed: int


@click.command()
@click.argument("trace", required=False, type=click.Path(path_type=Path))
@click.option("--workers", default=8, show_default=True, type=click.IntRange(1, 1000))
@click.option(
    "--cores",
    default=0,
    type=click.IntRange(0, 1000),
    help="Gates compute and share so many cores [one for each worker].",
)
@click.option("--gate", default="10m", show_default=True, type=Duration(), help="A gate's time.")
@click.option("--landing", default="6s", show_default=True, type=Duration(), help="A push's time.")
@click.option("--fail", default="5%", show_default=True, type=Share(), help="Bad changes.")
@click.option(
    "--load",
    default=0.6,
    show_default=True,
    type=click.FloatRange(0.01, 100),
    help="Stretch the arrivals: the share of the workers' time that one gate for each change takes.",
)
@click.option("--as-recorded", is_flag=True, help="Keep the trace's own times.")
@click.option("--clash", default="0%", type=Share(), help="Pairs that share a file and clash.")
@click.option("--flake", default="0%", type=Share(), help="Runs that fail for nothing.")
@click.option("--memo", default="100%", type=Share(), help="What finished steps cost again.")
@click.option("--early", is_flag=True, help="Failing gates stop in their first 5 to 40 %.")
@click.option("--batch", default="1", show_default=True, type=Batch(), help="Groups: N or auto.")
@click.option(
    "--hedge",
    default=Hedging.OFF.value,
    show_default=True,
    type=click.Choice([each.value for each in Hedging]),
    help="What idle workers gate ahead of a failure.",
)
@click.option("--foreseen", default="0%", type=Share(), help="Bad changes that look risky.")
@click.option("--suspected", default="0%", type=Share(), help="Good changes that look risky.")
@click.option("--changes", default=900, show_default=True, type=click.IntRange(1, 100_000))
@click.option("--pools", default=1, show_default=True, type=click.IntRange(1, 1000))
@click.option("--seed", default=1, show_default=True, type=int)
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Write an SVG here.")
def simulate(trace: Path | None, *, json_: bool, picture: Path | None, **asked: Any) -> None:
    """Play the production planner on the arrivals of TRACE, a CSV file of a real queue.

    Without TRACE the arrivals are drawn. Beside it an oracle that knows every outcome, a serial
    queue, fixed batches that are halved, and a fixed prefix window, on the same drawn world.
    """
    question = _question(asked)
    pools = _pools(trace, question)
    drawn = list(comparing.worlds(pools, question.conditions, question.seed))
    plays = comparing.policies(question.conditions, question.queue)
    played = comparing.compare(drawn, plays, _progress(len(drawn), json_=json_))
    _progress_ends()
    if picture is not None:
        _draw(picture, played, _title(trace, question))
    if json_:
        as_json(_document(trace, question, played))
    else:
        _print(played, _title(trace, question))


def _question(asked: dict[str, Any]) -> Question:
    conditions = Conditions(
        workers=asked["workers"],
        cores=asked["cores"],
        gate_s=asked["gate"],
        landing_s=asked["landing"],
        fail=asked["fail"],
        clash=asked["clash"],
        flake=asked["flake"],
        rerun=asked["memo"],
        stops=EARLY if asked["early"] else LATE,
        foreseen=(asked["foreseen"], asked["suspected"]),
    )
    pace = traces.AsRecorded() if asked["as_recorded"] else traces.Load(asked["load"])
    queue = QueuePolicy(batch=asked["batch"], hedge=Hedging(asked["hedge"]))
    return Question(conditions, pace, queue, asked["changes"], asked["pools"], asked["seed"])


def _pools(trace: Path | None, question: Question) -> list[tuple[Change, ...]]:
    """Return the pools of changes, paced; raises ClickException for a trace that is none."""
    number = range(question.pools)
    if trace is None:
        if isinstance(question.pace, traces.AsRecorded):
            raise click.UsageError("--as-recorded needs a trace; without one, arrivals are drawn.")
        found = [traces.poisson(question.changes, question.seed + each) for each in number]
    else:
        whole = _read(trace)
        found = [
            traces.pool(whole, question.changes, number=each, of=question.pools) for each in number
        ]
    return [traces.paced(each, question.pace, question.conditions) for each in found]


def _read(trace: Path) -> tuple[Change, ...]:
    try:
        with trace.open(encoding="utf-8", newline="") as lines:
            return traces.read_trace(lines, trace.name)
    except OSError as error:
        raise click.ClickException(f"{trace} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"{trace} is no text in UTF-8, so it is no trace.") from None


def _progress(pools: int, *, json_: bool) -> Any:
    shown = sys.stderr.isatty() and not json_

    def tell(name: str, done: int) -> None:
        if shown:
            click.echo(f"\r\033[Kpool {done + 1} of {pools}: {name} ...", err=True, nl=False)

    return tell


def _progress_ends() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)


def _draw(picture: Path, played: Sequence[comparing.Played], title: str) -> None:
    try:
        picture.write_text(plot(played, title), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{picture} cannot be written: {error.strerror}.") from None


def _title(trace: Path | None, question: Question) -> str:
    world = question.conditions
    name = trace.stem if trace else "drawn arrivals"
    workers = count(world.workers, "worker")
    workers += f" on {count(world.cores, 'core')}" if world.cores else ""
    pace = question.pace
    load = f"load {pace.share:g}" if isinstance(pace, traces.Load) else "as recorded"
    return f"{name}: {workers}, gates of {duration(world.gate_s)}, {world.fail:.0%} failing, {load}"


HEAD = ("policy", "mean", "p50", "p95", "until no", "landings/h", "min/landing", "landed")


def _print(played: Sequence[comparing.Played], title: str) -> None:
    rows = []
    for each in played:
        times = [
            f"{_brief(each.mean(field))} {_times(each, field)}"
            for field in ("mean_s", "p50_s", "p95_s", "no_s")
        ]
        landings = f"{each.mean('landings_per_hour'):.3g} {_times(each, 'landings_per_hour')}"
        minutes = each.mean("gate_s_per_landing") / 60
        cost = f"{minutes:.3g} {_times(each, 'gate_s_per_landing')}"
        rows.append([each.name, *times, landings, cost, sum(pool.landed for pool in each.pools)])
    click.echo(title)
    click.echo("\n".join(table(HEAD, rows)))
    click.echo("In brackets, each as a multiple of the oracle's, which knows every outcome.")


def _brief(seconds: float) -> str:
    """Return a time with three digits in its largest unit, so that columns stay narrow."""
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"


def _times(played: comparing.Played, field: str) -> str:
    return f"({played.ratios[field].mean:.2f})"


def _document(
    trace: Path | None, question: Question, played: Sequence[comparing.Played]
) -> dict[str, Any]:
    load = question.pace.share if isinstance(question.pace, traces.Load) else None
    return {
        "trace": trace.name if trace else None,
        "conditions": {**asdict(question.conditions), "load": load},
        "batch": question.queue.batch or "auto",
        "hedge": question.queue.hedge.value,
        "changes": question.changes,
        "pools": question.pools,
        "seed": question.seed,
        "policies": [
            {
                "name": each.name,
                "landed": sum(pool.landed for pool in each.pools),
                "refused": sum(pool.refused for pool in each.pools),
                **{field: each.mean(field) for field in measuring.FIELDS},
                "to_oracle": {field: asdict(each.ratios[field]) for field in measuring.FIELDS},
            }
            for each in played
        ],
    }
