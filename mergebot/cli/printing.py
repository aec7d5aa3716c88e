"""Text for terminals: aligned columns, colour only where a terminal shows it, nothing that acts."""

import json
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

import click

WIDTH_MAX = 140
GAP = "  "


def as_json(found: Any) -> None:
    """Print JSON, for programs; half of a surrogate pair, which no output takes, stays escaped."""
    text = json.dumps(found, indent=2, ensure_ascii=False)
    click.echo(text.encode("utf-8", "backslashreplace").decode())


def clean(text: object) -> str:
    """Return text on one line in which no character moves the cursor or turns the writing round."""
    return "".join(
        char if unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} else " "
        for char in str(text)
    )


def width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    wide = sum(unicodedata.east_asian_width(char) in {"W", "F"} for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)


def cut(text: str, columns: int) -> str:
    """Return a text that takes at most so many columns."""
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return aligned lines with a head; the widest column gives way when the terminal is narrow."""
    cells = [list(head), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(width(row[place]) for row in cells) for place in range(len(head))]
    room = min(shutil.get_terminal_size((100, 24)).columns, WIDTH_MAX)
    over = sum(widths) + len(GAP) * (len(widths) - 1) - room
    if over > 0:
        widest = widths.index(max(widths))
        widths[widest] = max(widths[widest] - over, 12)
    return [_line(row, widths) for row in cells]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = []
    for cell, columns in zip(row, widths, strict=True):
        shown = cut(cell, columns)
        padded.append(shown + " " * (columns - width(shown)))
    return GAP.join(padded).rstrip()


def coloured() -> bool:
    """Tell whether stdout is a terminal that shows colour."""
    return sys.stdout.isatty()


def paint(text: str, colour: str) -> str:
    """Return a text in a colour where one is shown."""
    return click.style(text, fg=colour) if coloured() else text
