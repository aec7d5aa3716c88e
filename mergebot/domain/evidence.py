"""What a failing step printed, made fit for people: readable, short, the first error found."""

import re

from mergebot.domain import limits

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|\x9c|$)"  # titles, links, device strings, to their end
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|[\x90\x98\x9d-\x9f].*?(?:\x07|\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?",
    re.MULTILINE,
)
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)

_PYTEST = re.compile(r"^(?:E {2,}\S|FAILED [^\s(]|ERROR [^\s(])")
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\)")
_ERROR = re.compile(
    r"^(?:\S.*?:\d+(?::\d+)?: ?(?:fatal )?(?:error|Error|ERROR)\b"  # file:line: error: message
    r"|\s*(?:fatal )?(?:error|Error|ERROR|FATAL|fatal|panic)(?:\[\w+\])?: ?\S"
    r"|\s*\w*(?:Error|Exception): \S"
    r"|\S.*: (?:fatal )?error: \S"
    r"|make(?:\[\d+\])?: \*\*\* \S"
    r"|--- FAIL: \S|not ok \d|npm ERR! \S|thread '.*' panicked at )"
)
_PLACE = re.compile(r"^(?:[\w.@+-]*/)*[\w.@+-]+\.\w+:\d+(?::\d+)?: \S")
_LINES_AFTER = 12
_LINES_BEFORE = 2
_LAST_LINES = 10
_LOOK_CHARS = 1000
"""Of a line: an error says so early, and patterns take quadratic time on what an author may print."""


def readable(output: bytes) -> str:
    """Return output as text that shows what it says.

    Colours, titles and links of terminals are taken out; other control characters, those that
    reorder text and those that nobody sees are written as escapes. A carriage return within a
    line starts it anew, as on a terminal, so only what it was overwritten with is kept.
    """
    text = _ESCAPES.sub("", output.decode("utf-8", errors="replace"))
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _UNSEEN.sub(lambda match: escape(match[0]), text)


def escape(char: str) -> str:
    """Return the escape that people write for an unseen character."""
    number = ord(char)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"  # noqa: PLR2004  one byte


def shorten_middle(text: str, max_chars: int) -> str:
    """Return `text` within `max_chars`, its middle replaced by a line that says how much is gone."""
    if len(text) <= max_chars:
        return text
    # The number is longest for the whole text, so what is left out can only make it shorter.
    room = max_chars - len(_gap(len(text)))
    if room <= 0:
        return text[: max(0, max_chars)]
    start = room // 2
    end = room - start
    return text[:start] + _gap(len(text) - room) + text[len(text) - end :]


def _gap(chars: int) -> str:
    return f"\n[... {chars} characters left out ...]\n"


def tail(text: str, max_chars: int = limits.LOG_TAIL_CHARS) -> str:
    """Return the end of `text` within `max_chars`, from the start of a line where one is near."""
    kept = text.rstrip()
    if len(kept) <= max_chars:
        return kept
    kept = kept[len(kept) - max_chars :] if max_chars > 0 else ""
    first, newline, rest = kept.partition("\n")
    return rest if newline and len(first) < max_chars // 4 else kept


def first_error(text: str, max_chars: int = limits.FIRST_ERROR_CHARS) -> str:
    """Return the lines around the first error in `text`, or its last lines where none is plain.

    The search is for what pytest, compilers, make and common runtimes print, in that order of
    trust; a line such as `file.c:12: message` counts only where nothing says "error".
    """
    lines = [line.rstrip() for line in text.split("\n")]
    excerpt = (
        _from_first(lines, _PYTEST)
        or _traceback(lines)
        or _from_first(lines, _ERROR)
        or _from_first(lines, _PLACE)
        or [line for line in lines if line][-_LAST_LINES:]
    )
    return shorten_middle("\n".join(excerpt).strip("\n"), max_chars)


def _from_first(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the first line that matches, with a few around it."""
    for number, line in enumerate(lines):
        if pattern.match(line, 0, _LOOK_CHARS):
            return lines[max(0, number - _LINES_BEFORE) : number + _LINES_AFTER]
    return []


def _traceback(lines: list[str]) -> list[str]:
    """Return the first Python traceback up to the line that names the exception."""
    for number, line in enumerate(lines):
        if not _TRACEBACK.match(line):
            continue
        indent = len(line) - len(line.lstrip())
        for last in range(number + 1, len(lines)):
            here = lines[last]
            if here.strip() and len(here) - len(here.lstrip()) <= indent:
                return lines[number : last + 1]
        return lines[number:]
    return []
