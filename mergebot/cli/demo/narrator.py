"""Telling what happens as it happens: one aligned line per event, a pulse while nothing does."""

from collections.abc import Mapping
from time import monotonic
from typing import Any

import click

from mergebot.cli.printing import clean, coloured, cut, paint

COLOURS = {
    "landed": "green",
    "ejected": "red",
    "cancelled": "yellow",
    "parked": "yellow",
    "gating": "cyan",
    "verified": "cyan",
    "landing": "cyan",
}
STATE_COLUMNS = 10
TITLE_COLUMNS = 34
PULSE = "|/-\\"


class Narrator:
    """Prints lines with the seconds since the play began."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._pulse = 0

    def begin(self) -> None:
        """Set the play's clock to zero."""
        self._began = monotonic()

    @property
    def seconds(self) -> float:
        """Return the seconds since the play began."""
        return monotonic() - self._began

    def act(self, text: str) -> None:
        """Print the head of an act."""
        self._clear()
        click.echo()
        click.echo(click.style(text, bold=True) if coloured() else text)

    def say(self, text: str) -> None:
        """Print a line."""
        self._clear()
        click.echo(f"{self.seconds:6.1f} s  {clean(text)}")

    def state(self, entry: Mapping[str, Any]) -> None:
        """Print what became of a pull request."""
        state = str(entry["state"])
        word = paint(state.ljust(STATE_COLUMNS), COLOURS.get(state, "white"))
        title = cut(clean(entry["title"]), TITLE_COLUMNS).ljust(TITLE_COLUMNS)
        number = f"#{entry['pr']}"
        self._clear()
        line = f"{self.seconds:6.1f} s  {number:>4} {title}  {word} {_why(entry)}"
        click.echo(line.rstrip())

    def wait(self) -> None:
        """Show that something is still going on, where a terminal can take it back."""
        if coloured():
            self._pulse += 1
            click.echo(f"\r{PULSE[self._pulse % len(PULSE)]}", nl=False)

    def _clear(self) -> None:
        if coloured():
            click.echo("\r \r", nl=False)


def _why(entry: Mapping[str, Any]) -> str:
    reason = entry["reason"] or ""
    match reason:
        case "conflict":
            return f"{reason}: {', '.join(map(clean, entry['conflicts']))}"
        case "out_of_scope":
            return f"{reason}: {', '.join(map(clean, entry['strayed']))}"
        case "gate_failed":
            return f"{reason}: step {entry['step']}, exit code {entry['exit_code']}"
        case "":
            return "at " + str(entry["merged"])[:7] if entry["state"] == "landed" else ""
        case _:
            return str(reason)
