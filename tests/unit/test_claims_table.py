"""The table of requirements in docs/claims.md names tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (S\d\d) \| (.+) \| (.+) \| (.+) \|$",
    (ROOT / "docs" / "claims.md").read_text("utf-8"),
    re.MULTILINE,
)


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


def test_every_requirement_has_one_row_in_order() -> None:
    assert [row[0] for row in ROWS] == [f"S{number:02}" for number in range(1, 43)]


def test_every_row_names_tests_that_exist() -> None:
    named = {
        number: re.findall(r"`([a-z0-9_/]+\.py)::(test_\w+)`", tests)
        for number, _, _, tests in ROWS
    }
    missing = [
        f"{number}: {file}::{name}"
        for number, tests in named.items()
        for file, name in tests
        if name not in names_in(file)
    ]
    assert missing == []
    assert [number for number, tests in named.items() if not tests] == ["S40"]
