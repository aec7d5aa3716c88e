"""Reading the claims file of a plain setup: lines `task | owner | time`, and perhaps `| files`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from mergebot.domain.claims import TASK_CHARS_MAX
from mergebot.domain.names import shown
from mergebot.domain.patterns import PatternFault, parse

LINES_MAX = 10_000
COLUMNS = ("task", "owner", "time")
_RULE = re.compile(r"[\s|:-]+")
_SECONDS = re.compile(r"\d{9,11}(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Line:
    """One claim of the file; `at` is when it was made, in Unix seconds."""

    number: int
    task: str
    owner: str
    at: float
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportFaults:
    """Why the file was refused as a whole, one sentence for each line that is wrong."""

    faults: tuple[str, ...]


def read_claims_file(text: str) -> tuple[Line, ...] | ImportFaults:
    """Return the claims of a file, or every fault of it; prose between them is no fault."""
    rows = text.splitlines()
    if len(rows) > LINES_MAX:
        return ImportFaults((f"The file has {len(rows)} lines; at most {LINES_MAX} are read.",))
    found = [_line(number, cells) for number, cells in _rows(rows)]
    faults = tuple(each for each in found if isinstance(each, str))
    return ImportFaults(faults) if faults else tuple(e for e in found if isinstance(e, Line))


def _rows(rows: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that have columns, without a table's head and the rule below it."""
    for number, row in enumerate(rows, 1):
        if "|" not in row or _RULE.fullmatch(row):
            continue
        cells = [
            cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")
        ]
        if tuple(cell.casefold() for cell in cells[:3]) != COLUMNS:
            yield number, cells


def _line(number: int, cells: list[str]) -> Line | str:
    if not len(COLUMNS) <= len(cells) <= len(COLUMNS) + 1:
        return f"Line {number} has {len(cells)} columns; it must be task | owner | time, or with files."
    task, owner, when = cells[:3]
    for name, value in (("task", task), ("owner", owner)):
        if not 0 < len(value) <= TASK_CHARS_MAX or not value.isprintable():
            return (
                f"Line {number}: the {name} must be one line of 1 to {TASK_CHARS_MAX} characters."
            )
    at = _instant(when)
    if at is None:
        return f"Line {number}: {shown(when)} is no time such as 2026-11-29T08:00Z or Unix seconds."
    patterns = tuple(dict.fromkeys(re.split(r"[\s,]+", cells[3]))) if cells[3:] and cells[3] else ()
    for each in patterns:
        if isinstance(fault := parse(each), PatternFault):
            return f"Line {number}: {fault.sentence}"
    return Line(number, task, owner, at, patterns)


def _instant(text: str) -> float | None:
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
