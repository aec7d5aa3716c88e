"""`python -m tests.bench [PART ...]`: run the parts by name, all of them without one."""

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import click

from tests.bench.report import Row, load, table, write

PARTS = {
    "serial": "twenty candidates through the whole product, against a bare shell loop",
    "speculative": "four workers against one, and against the loop",
    "pool": "sixty changes that arrive one by one, against an oracle",
    "requests": "what a landing asks of the forge",
    "latency": "from being asked to being at work, and from being unwanted to being gone",
    "git": "replays, workspaces and pushes against checkouts, worktrees and clones",
    "webhooks": "the receiver while the queue works",
    "pages": "pages and API with 10, 1,000 and 10,000 entries",
    "claims": "claim attempts with 10, 1,000 and 10,000 live claims",
    "policies": "the planner on simulated time, against an oracle and other policies",
}


def main(words: Sequence[str]) -> int:
    """Measure, print the table, and return 0 even where an aim is missed: the table says so."""
    asked = _read(words)
    # Whoever stops a benchmark stops what it started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows: list[Row] = []
    loads = [load()]
    for part in asked.parts or _there():
        begun = monotonic()
        click.echo(f"{part}: {PARTS[part]} ...", err=True)
        rows += _measure(part)
        loads.append(load())
        click.echo(f"{part}: {monotonic() - begun:.0f} s, {loads[-1]}", err=True)
    click.echo(table(rows))
    click.echo(f"\nBefore: {loads[0]}. After: {loads[-1]}.")
    if asked.json:
        write(rows, asked.json, loads=loads)
    return 0


def _read(words: Sequence[str]) -> argparse.Namespace:
    lines = "\n".join(f"  {name:12} {about}" for name, about in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=f"Ratios measured inside one run.\n\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of: {', '.join(_there())}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    asked = parser.parse_args(words)
    if unknown := [part for part in asked.parts if part not in _there()]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(_there())}")
    return asked


def _there() -> list[str]:
    return [part for part in PARTS if find_spec(f"tests.bench.{part}")]


def _measure(part: str) -> Iterator[Row]:
    rows: Iterator[Row] = import_module(f"tests.bench.{part}").measure()
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
