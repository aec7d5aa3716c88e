import pytest

from mergebot.domain.remarks import REMARKS_MAX, Remark, remarks_in


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (
            "tests/test_total.py:41: AssertionError",
            Remark("tests/test_total.py", 41, "AssertionError"),
        ),
        ("src/main.c:3:17: error: expected ';'", Remark("src/main.c", 3, "error: expected ';'")),
        ("./a.go:7: undefined: x", Remark("a.go", 7, "undefined: x")),
        (
            '  File "app/x.py", line 9, in f\n    boom()\nValueError: no',
            Remark("app/x.py", 9, "ValueError: no"),
        ),
        (
            '<testcase name="adds" file="t.py" line="4">\n<failure message="no"/>',
            Remark("t.py", 4, "adds"),
        ),
    ],
)
def test_a_line_of_a_file_is_found_in_what_a_tool_prints(output: str, expected: Remark) -> None:
    assert remarks_in(f"noise\n{output}\nmore noise") == (expected,)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "12:30:01: started",
        "/etc/passwd:1: root",
        "../../x.py:1: no",
        "a.py:0: none",
        '<testcase name="ok" file="t.py" line="4"/>',
        "http://example.org:80: refused",
    ],
)
def test_what_names_no_line_of_a_file_of_the_repository_is_left_out(output: str) -> None:
    assert remarks_in(output) == ()


def test_a_line_is_remarked_once_and_there_are_never_more_than_the_forge_takes() -> None:
    twice = remarks_in("a.py:1: first\na.py:1: second\n")
    many = remarks_in("\n".join(f"a.py:{n}: no" for n in range(1, 200)))
    assert [each.text for each in twice] == ["first"]
    assert len(many) == REMARKS_MAX
