import ast

from tests.support.attacks import TABLE, table

LISTED = (
    *range(1, 8),
    *range(10, 18),
    *range(20, 31),
    *range(40, 47),
    *range(50, 60),
)
ROOT = TABLE.parents[1] / "tests"


def test_every_attack_has_a_row() -> None:
    numbers = [f"A{number:02}" for number in LISTED] + [f"E{number:02}" for number in range(1, 20)]
    assert sorted(table()) == sorted(numbers)


def test_every_row_names_tests_that_exist_or_a_reason() -> None:
    wrong = []
    for number, tests in table().items():
        for file, name in tests:
            path = ROOT / file
            names = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)} if path.is_file() else set()  # fmt: skip
            if not names or (name and name not in names):
                wrong.append(f"{number}: {file}::{name}")
    assert wrong == []
    assert [number for number, tests in table().items() if not tests] == ["E18"]
