"""Text that somebody else chose, disarmed for Markdown on the forge.

`plain` takes out what no reader should meet: terminal sequences, control characters, characters
that turn the direction of text. `escape`, `code` and `fence` then make it inert: no markup, no
mention, no reference to an issue or commit, no closing word, no link. What they return is a
`Markdown`, so that a template can tell text that is safe from text that is not.
"""

import re

WORD_JOINER = "\u2060"
_GAP = "… {} characters left out …"

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]P^_X][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINE_END = re.compile(r"\r\n?|[\u2028\u2029\x85]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#!|~$&^=])")
_LINE_START = re.compile(r"^(\s*)([-+=]|\d{1,9}(?=[.)]))", re.MULTILINE)
_REFERENCE = re.compile(r"(@|#|GH-|https?:|ftp:|www|mailto:)(?=\S)", re.IGNORECASE)
_COMMIT = re.compile(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{7,}(?![0-9a-zA-Z])")
_SIX = re.compile(r"(.{6})(?=.)")


class Markdown(str):
    """Text that is safe to stand in Markdown as it is."""

    __slots__ = ()


def plain(text: str) -> str:
    """Return `text` without terminal sequences, control characters and direction tricks.

    Line ends become newlines; newlines and tabs stay. Bytes that were no UTF-8 become U+FFFD.
    """
    text = _SEQUENCE.sub("", _LINE_END.sub("\n", text))
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def shorten(text: str, limit: int) -> str:
    """Return at most about `limit` characters of `text`, leaving out its middle, and saying so."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    gap = _GAP.format(len(text) - 2 * half)
    between = "\n" if "\n" in text else " "
    return f"{text[:half]}{between}{gap}{between}{text[-half:]}"


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` as one plain line of at most about `limit` characters."""
    return shorten(" ".join(plain(text).split()), limit)


def escape(text: str) -> Markdown:
    """Return `text` for running prose, on one line: it reads as it was, and does nothing."""
    text = one_line(text, 2000)
    text = _REFERENCE.sub(lambda found: found[1] + WORD_JOINER, text)
    text = _COMMIT.sub(lambda found: _SIX.sub(rf"\1{WORD_JOINER}", found[0]), text)
    text = _MARKUP.sub(r"\\\1", text)
    return Markdown(_LINE_START.sub(_inert_start, text))


def _inert_start(found: re.Match[str]) -> str:
    space, marker = found[1], found[2]
    return f"{space}{marker}{WORD_JOINER}" if marker.isdigit() else f"{space}\\{marker}"


def code(text: str) -> Markdown:
    """Return `text` as a code span that nothing in it can end; "" stays empty."""
    text = one_line(text)
    if not text:
        return Markdown("")
    ticks = "`" * (_longest_run(text, "`") + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return Markdown(f"{ticks}{pad}{text}{pad}{ticks}")


def cell(text: str) -> Markdown:
    """Return `text` as a code span for a table's cell, where a bar would end the cell."""
    return code(text.replace("|", "\u00a6"))


def fence(text: str, language: str = "text") -> Markdown:
    """Return `text` as a fenced block that nothing in it can end."""
    text = plain(text).strip("\n")
    ticks = "`" * max(_longest_run(text, "`") + 1, 3)
    return Markdown(f"{ticks}{language}\n{text}\n{ticks}")


def _longest_run(text: str, character: str) -> int:
    return max((len(run) for run in re.findall(f"{character}+", text)), default=0)
