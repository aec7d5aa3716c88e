"""Lines of files that a failing step's output speaks of: pytest, JUnit XML, `file:line: message`."""

import re
from dataclasses import dataclass

REMARKS_MAX = 50
"""GitHub takes no more of them in one request, and nobody reads more."""

_MESSAGE_CHARS_MAX = 400
_LINE_CHARS_MAX = 1000
"""Of a line of output: what names a file and a line does so early."""

_LINE_MAX = 10_000_000
_PATH = r"(?P<path>(?:[\w.@+-]+/)*[\w.@+-]+\.\w{1,12})"
_PLAIN = re.compile(rf"^\s*{_PATH}:(?P<line>\d{{1,8}})(?::\d{{1,8}})?:\s*(?P<text>\S.*)$")
_PYTHON = re.compile(rf'^\s*File "{_PATH}", line (?P<line>\d{{1,8}})')
_JUNIT = re.compile(r"<testcase\b[^>]*>")
_ATTRIBUTE = re.compile(r'\b(?P<name>file|line|name)="(?P<value>[^"]*)"')


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said about one line of one file, both as the output gave them."""

    path: str
    line: int
    text: str


def remarks_in(output: str) -> tuple[Remark, ...]:
    """Return what `output` says about lines of files, the first word on each line only."""
    found: dict[tuple[str, int], Remark] = {}
    lines = output.splitlines()
    for number, line in enumerate(lines):
        remark = _remark(line[:_LINE_CHARS_MAX], lines[number + 1 : number + 3])
        if remark is not None:
            found.setdefault((remark.path, remark.line), remark)
        if len(found) == REMARKS_MAX:
            break
    return tuple(found.values())


def _remark(line: str, after: list[str]) -> Remark | None:
    if (plain := _PLAIN.match(line)) is not None:
        return _made(plain["path"], plain["line"], plain["text"])
    if (python := _PYTHON.match(line)) is not None:
        return _made(python["path"], python["line"], after[-1] if after else line)
    if (case := _JUNIT.search(line)) is not None and "<failure" in "".join([line, *after]):
        given = {each["name"]: each["value"] for each in _ATTRIBUTE.finditer(case[0])}
        return _made(given.get("file", ""), given.get("line", ""), given.get("name", "failed"))
    return None


def _made(path: str, line: str, text: str) -> Remark | None:
    number = int(line) if line.isascii() and line.isdecimal() else 0
    parts = path.split("/")
    if not path or ".." in parts or not 0 < number < _LINE_MAX:
        return None
    text = " ".join(text.split())[:_MESSAGE_CHARS_MAX]
    return Remark(path.removeprefix("./"), number, text or "failed here")
