"""Evidence is what a person reads: short, readable, about the first error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain import limits
from mergebot.domain.evidence import first_error, readable, shorten_middle, tail


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"\x1b[31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]52;c;aGVsbG8=\nnext", "\nnext"),
        (b"10%\r50%\r100%\r\ndone\n", "100%\ndone\n"),
        (b"tab\there\n", "tab\there\n"),
        (b"bell\x07 nul\x00", "bell\\x07 nul\\x00"),
        ("csi \u009b31mred \u0085".encode(), "csi red \\x85"),
        ("a\u202eb\u2066c\u200bd\ufeff".encode(), "a\\u202eb\\u2066c\\u200bd\\ufeff"),
        ("line\u2028para\u2029".encode(), "line\\u2028para\\u2029"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        ("日本語 ü €".encode(), "日本語 ü €"),
    ],
)
def test_output_is_shown_as_text(output: bytes, text: str) -> None:
    assert readable(output) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "collected 1\n\n    def test():\n>       assert 1 == 2\nE       assert 1 == 2\n",
            "E       ",
        ),
        ("....\nFAILED tests/x.py::test_a - boom\n1 failed", "FAILED tests/x.py::test_a"),
        ("cc -c a.c\na.c:3:5: error: unknown type name 'in'\n 3 | in x;", "a.c:3:5: error:"),
        ("ok\nerror[E0308]: mismatched types\n --> src/main.rs:2:5", "error[E0308]"),
        ("x\nTypeError: undefined is not a function\n at f", "TypeError:"),
        ("gcc\nmake: *** [Makefile:2: all] Error 2", "make: *** [Makefile:2"),
        ("fine\nsrc/app.py:10: undefined name 'y'\nmore", "src/app.py:10: undefined"),
        ("ok  a\n--- FAIL: TestB (0.00s)\n    b_test.go:9: no", "--- FAIL: TestB"),
        ("ERROR: t\n-\nTypeError: no\n\nRan 1 test\n\nFAILED (errors=1)", "TypeError: no"),
        ("nothing\n\n\nof note\n\n", "nothing\nof note"),
    ],
)
def test_the_first_error_is_found(text: str, expected: str) -> None:
    assert expected in first_error(text)


def test_a_traceback_is_given_whole_and_alone() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyError: 1'
    assert first_error(f"before\n{trace}\nafter\n") == trace


def test_what_was_left_out_of_the_middle_is_counted() -> None:
    start, gap, end = shorten_middle("-" * 600 + "+" * 600, 200).split("\n")
    assert gap == f"[... {1200 - len(start) - len(end)} characters left out ...]"
    assert set(start) == {"-"}
    assert set(end) == {"+"}


def test_a_tail_starts_with_a_whole_line_where_one_is_near() -> None:
    assert tail("first line\nsecond line\nthird line\n", 26) == "second line\nthird line"


@given(st.binary(max_size=2000))
def test_any_bytes_become_text_without_controls(output: bytes) -> None:
    text = readable(output)
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text if char not in "\n\t")


@given(st.text(max_size=500), st.integers(0, 300))
def test_no_excerpt_is_longer_than_asked(text: str, most: int) -> None:
    assert len(shorten_middle(text, most)) <= most
    assert len(tail(text, most)) <= most
    assert len(first_error(text, most)) <= most


@given(st.text(max_size=300))
def test_what_fits_is_not_changed(text: str) -> None:
    assert shorten_middle(text, 300) == text


@pytest.mark.parametrize("unit", ["a.", "\x1b]", "E ", "a:1", "/a", "\r", "Error", " "])
def test_hostile_output_is_read_in_linear_time(unit: str) -> None:
    output = (unit * limits.LOG_BYTES_MAX)[: limits.LOG_BYTES_MAX].encode()
    assert len(first_error(readable(output))) <= limits.FIRST_ERROR_CHARS
