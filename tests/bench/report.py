"""What a benchmark says: rows with an aim, as a table or as JSON."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Aim:
    """What a value is held to: at most `limit`, or at least it."""

    limit: float
    at_least: bool = False

    def missed_by(self, value: float) -> float:
        """Return by which share of the limit the value misses it; 0 where it is met."""
        over = (self.limit - value if self.at_least else value - self.limit) / self.limit
        return max(0.0, over)

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {number(self.limit)}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value. `note` says what it was made of, or why it misses its aim."""

    part: str
    what: str
    value: float
    unit: str = ""
    aim: Aim | None = None
    note: str = ""


def at_most(limit: float) -> Aim:
    """Return an upper aim."""
    return Aim(limit)


def at_least(limit: float) -> Aim:
    """Return a lower aim."""
    return Aim(limit, at_least=True)


@dataclass(slots=True)
class Samples:
    """Seconds of one thing, measured several times."""

    seconds: list[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """Add one measurement."""
        self.seconds.append(seconds)

    @property
    def median(self) -> float:
        """Return the middle."""
        return median(self.seconds)

    @property
    def best(self) -> float:
        """Return the least: what a machine that others keep busy would show if it were calm."""
        return min(self.seconds)

    def percentile(self, share: float) -> float:
        """Return the value that `share` of the measurements do not exceed."""
        ranked = sorted(self.seconds)
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def number(value: float) -> str:
    """Return a number with as many digits as mean something."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"


def load() -> str:
    """Return how busy this machine is: nothing measured means much without it."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (1 min), {five:.1f} (5 min) on {os.cpu_count()} cores"


def table(rows: Sequence[Row]) -> str:
    """Return the rows as aligned text."""
    head = ("part", "what", "seen", "aim", "missed by", "note")
    cells = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head) - 1)]
    return "\n".join(_line(line, widths) for line in cells)


def _cells(row: Row) -> tuple[str, ...]:
    seen = f"{number(row.value)} {row.unit}".rstrip()
    if row.aim is None:
        return (row.part, row.what, seen, "", "", row.note)
    missed = row.aim.missed_by(row.value)
    by = f"{missed:.0%}" if missed else "met"
    return (row.part, row.what, seen, f"{row.aim} {row.unit}".rstrip(), by, row.note)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*fitted, cells[-1]]).rstrip()


def write(rows: Iterable[Row], into: Path, *, loads: Sequence[str]) -> None:
    """Write the rows as JSON, with what they were measured on."""
    about = {"python": platform.python_version(), "cores": os.cpu_count(), "loads": list(loads)}
    document = {"machine": about, "rows": [asdict(row) for row in rows]}
    into.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
