"""House rules for Python code, each with what to do instead."""

import ast
import io
import re
import tokenize

from tests.tidy.tracked import CODE, Source, calls, functions, paths, sources, text

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# Files that may let time pass by themselves, each with its reason.
PACED = "a benchmark keeps a rate or lets a queue go idle: the pause is part of what it measures"
MAY_SLEEP: dict[str, str] = {
    "tests/bench/latency.py": PACED,
    "tests/bench/stack.py": PACED,
    "tests/bench/verdicts.py": PACED,
    "tests/bench/webhooks.py": PACED,
}

UNFINISHED = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")
SILENCER = re.compile(
    r"#\s*(?:noqa|type:\s*ignore)\b(?P<code>:\s*[A-Z0-9, ]+|\[[\w, -]+\])?(?P<why>.*)"
)
MARKS = {"skip", "skipif", "xfail", "importorskip"}
CHECKERS = re.compile(r"(?:^|[._])(?:assert|check|expect|eventually|raises|warns)")


def test_a_python_file_fits_its_one_purpose() -> None:
    long = [(p, n) for p in paths(under=CODE, ending=".py") if (n := lines(p)) > FILE_LINES_MAX]
    assert not long, f"split these by purpose, {FILE_LINES_MAX} lines at most"


def lines(path: str) -> int:
    return len(text(path).splitlines())


def test_a_function_fits_one_screen() -> None:
    long = [
        f"{source.at(node)} {node.name}: {length} lines"
        for source in sources()
        for node in functions(source)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert not long, f"{FUNCTION_LINES_MAX} lines at most"


def test_nothing_is_left_unfinished() -> None:
    words = [
        f"{path}:{number}"
        for path in paths(under=(*CODE, "templates/", "workflows/", ".ci/", "docs/", "Makefile"))
        for number, line in enumerate(text(path).splitlines(), 1)
        if not path.endswith(".png") and UNFINISHED.search(line)
    ]
    unwritten = [
        source.at(node)
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Raise) and node.exc and "NotImplemented" in ast.unparse(node.exc)
    ]
    assert not words + unwritten, "finish it, or file an issue and remove the note"


def test_nothing_sleeps_for_a_fixed_time() -> None:
    sleeping = [
        source.at(node)
        for source in sources()
        for name, node in calls(source)
        if name in {"time.sleep", "sleep"} and source.path not in MAY_SLEEP
    ]
    assert not sleeping, "wait for a condition: tests.support.waiting, or an Event in mergebot"


def test_the_list_of_sleepers_holds_no_file_that_is_gone() -> None:
    assert set(MAY_SLEEP) <= set(paths(under=CODE))


def test_no_command_goes_through_a_shell() -> None:
    shells = [
        source.at(node)
        for source in sources()
        for name, node in calls(source)
        if name in {"os.system", "os.popen"} or any(map(asks_for_a_shell, node.keywords))
    ]
    assert not shells, "give an argument list"


def asks_for_a_shell(keyword: ast.keyword) -> bool:
    off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
    return keyword.arg == "shell" and not off


def test_no_test_is_switched_off() -> None:
    off = [
        source.at(node)
        for source in sources("tests/")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in MARKS
        and ast.unparse(node.value) in {"pytest", "pytest.mark", "mark"}
    ]
    assert not off, "mend the test or remove it with its reason in the commit"


def test_every_test_asserts_something() -> None:
    silent = [
        f"{source.at(node)} {node.name}"
        for source in sources("tests/")
        for node in functions(source)
        if node.name.startswith("test_") and not asserts(node)
    ]
    assert not silent


def asserts(test: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and CHECKERS.search(ast.unparse(node.func)))
        for node in ast.walk(test)
    )


def test_a_silenced_check_names_its_code_and_its_reason() -> None:
    bare = [place for source in sources() for place in unexplained(source)]
    assert not bare, "write the code, and why, beside it or in a comment on the line above"


def unexplained(source: Source) -> list[str]:
    above = ["", *source.text.splitlines()]
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return [
        f"{source.path}:{token.start[0]}"
        for token in comments
        if (match := SILENCER.search(token.string))
        and not (
            match["code"]
            and (match["why"].strip(" #-:") or above[token.start[0] - 1].lstrip().startswith("#"))
        )
    ]


def test_no_error_is_swallowed() -> None:
    swallowed = [
        source.at(node)
        for source in sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
        and all(isinstance(statement, ast.Pass) for statement in node.body)
    ]
    assert not swallowed, "catch what you expect, and say what happens then"


def test_every_module_says_what_it_is_for() -> None:
    silent = [source.path for source in sources("mergebot/") if not ast.get_docstring(source.tree)]
    assert not silent
