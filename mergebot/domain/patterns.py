"""The language of claims: which paths a pattern names, and whether two patterns share one.

Patterns are anchored at the root of the repository and compared segment by segment, byte for byte.

    src/app.py      exactly that path
    src/  src/**    everything below src, at any depth, but not a file called src
    docs/*.md       `*` stands for any characters within one segment, `?` for exactly one
    **/test_*.py    `**` stands for any number of whole segments, also none

There is no negation, and brackets and braces stand for themselves, so that two patterns can be
compared exactly: `overlaps` intersects the two languages instead of listing files, and so speaks
for files that do not exist yet. It does so on folded patterns (names.fold), because two names that
differ only in case are one file on many machines.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from mergebot.domain.limits import PATTERN_CHARS_MAX
from mergebot.domain.names import fold, shown

DEEP = "**"
_WILD = re.compile(r"[*?]")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CACHE = 1 << 14


@dataclass(frozen=True, slots=True)
class PatternFault:
    """Why a text is no pattern, in one sentence."""

    sentence: str


@dataclass(frozen=True)
class Pattern:
    """One valid pattern. `segments` is its normal form: a final `**` is written `**`, `*`."""

    text: str
    segments: tuple[str, ...]

    @cached_property
    def is_literal(self) -> bool:
        """Tell whether it names exactly one path."""
        return not any(_WILD.search(segment) for segment in self.segments)

    @cached_property
    def root(self) -> tuple[str, ...]:
        """The leading segments without a wildcard: everything it matches starts with them."""
        wild = (n for n, segment in enumerate(self.segments) if _WILD.search(segment))
        return self.segments[: next(wild, len(self.segments))]

    @cached_property
    def folded(self) -> "Pattern":
        """The same pattern where case and Unicode composition do not count."""
        segments = tuple(fold(segment) for segment in self.segments)
        return self if segments == self.segments else Pattern(fold(self.text), segments)

    def matches(self, path: str) -> bool:
        """Tell whether `path` is one of the paths it names."""
        return self._regex.fullmatch(path) is not None

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(_regex_of(self.segments))


def parse(text: str) -> Pattern | PatternFault:
    """Return `text` as a pattern, or one sentence that says why it is none."""
    why = _fault(text)
    if why:
        return PatternFault(f"The pattern {shown(text)} {why}.")
    return _parsed(text)


def literal_of(path: str) -> str:
    """Return the narrowest pattern that names `path`; a character it cannot write becomes `?`."""
    return re.sub(r"^!|^\s|\s\Z|[*\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", "?", path)


def overlaps(a: Pattern, b: Pattern) -> bool:
    """Tell whether some path is named by both, where case and composition do not count."""
    if a.is_literal and b.is_literal:
        return a.folded.segments == b.folded.segments
    if any(x != y for x, y in zip(a.folded.root, b.folded.root, strict=False)):
        return False
    return _overlap(a.folded.segments, b.folded.segments)


class Cover:
    """Several patterns asked as one: a path is covered when any of them names it."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        """Sort the patterns by how they are asked, so that the usual question costs one lookup."""
        every = tuple(patterns)
        self._literal = frozenset(each.text for each in every if each.is_literal)
        self._below = tuple("/".join(each.root) + "/" for each in every if _is_subtree(each))
        self._other = tuple(e for e in every if not e.is_literal and not _is_subtree(e))

    def names(self, path: str) -> bool:
        """Tell whether a pattern without wildcards is exactly `path`."""
        return path in self._literal

    def covers(self, path: str) -> bool:
        """Tell whether some pattern names `path`."""
        if path in self._literal or path.startswith(self._below):
            return True
        return any(pattern.matches(path) for pattern in self._other)


def _is_subtree(pattern: Pattern) -> bool:
    return bool(pattern.root) and pattern.segments[len(pattern.root) :] == (DEEP, "*")


@lru_cache(_CACHE)
def _parsed(text: str) -> Pattern:
    written = text.split("/")
    if written[-1] == "":
        written[-1] = DEEP
    segments: list[str] = []
    for segment in written:
        if segment != DEEP or segments[-1:] != [DEEP]:
            segments.append(segment)
    if segments[-1] == DEEP:
        segments.append("*")
    return Pattern(text, tuple(segments))


def _fault(text: str) -> str:
    """Return why `text` is no pattern, as the end of a sentence, or nothing."""
    if not text.strip():
        return "is empty; write a path such as src/app.py or src/**"
    if len(text) > PATTERN_CHARS_MAX:
        return f"has {len(text)} characters; at most {PATTERN_CHARS_MAX} are allowed"
    if _HIDDEN.search(text):
        return "holds a control character or one that is not Unicode text; write it as ?"
    if text != text.strip():
        return "starts or ends with a blank; take it away, or write ? where it belongs to a name"
    if "\\" in text:
        return "holds a backslash; segments are separated by /, and nothing is escaped"
    if text.startswith("!"):
        return "starts with !; there is no negation, so name what is meant"
    if text.startswith("/"):
        return "starts with /; patterns begin at the root of the repository without it"
    return _segment_fault(text.split("/"))


def _segment_fault(segments: Sequence[str]) -> str:
    inner = segments[:-1] if segments[-1] == "" else segments
    for segment in inner:
        if segment == "":
            return "holds an empty segment (//); write a single /"
        if segment in {".", ".."}:
            return f'holds the segment "{segment}"; write the path from the root of the repository'
        if DEEP in segment and segment != DEEP:
            return "holds ** beside other characters; between two / it stands alone"
    return ""


def _regex_of(segments: Sequence[str]) -> str:
    """Return a regular expression that needs no more than quadratic time, whatever it is given.

    What stands between two wildcards of a kind is looked for from the left and kept once found
    (atomic groups); only the last wildcard has to try further.
    """
    blocks = _blocks(segments, DEEP)
    heads = ["".join(f"{_segment_regex(segment)}/" for segment in block) for block in blocks]
    tail = "/".join(map(_segment_regex, blocks[-1]))
    if len(blocks) == 1:
        return tail
    middle = "".join(f"(?>(?:[^/]++/)*?{head})" for head in heads[1:-1])
    return f"{heads[0]}{middle}(?:[^/]++/)*{tail}"


def _segment_regex(segment: str) -> str:
    if segment == "*":
        return "[^/]++"
    runs = [_run_regex(run) for run in segment.split("*")]
    if len(runs) == 1:
        return runs[0]
    middle = "".join(f"(?>[^/]*?{run})" for run in runs[1:-1] if run)
    return f"{runs[0]}{middle}[^/]*{runs[-1]}"


def _run_regex(run: str) -> str:
    return "".join("[^/]" if char == "?" else re.escape(char) for char in run)


def _blocks(segments: Sequence[str], divider: str) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for segment in segments:
        if segment == divider:
            blocks.append([])
        else:
            blocks[-1].append(segment)
    return blocks


@lru_cache(_CACHE)
def _overlap(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return _meet(a, b, star=DEEP, alike=_segments_meet)


@lru_cache(_CACHE)
def _segments_meet(a: str, b: str) -> bool:
    if not _WILD.search(a + b):
        return a == b
    return _meet(a, b, star="*", alike=lambda x, y: x == y or "?" in {x, y})


def _meet(
    a: Sequence[str], b: Sequence[str], *, star: str, alike: Callable[[str, str], bool]
) -> bool:
    """Tell whether two sequences with repeats have a common word, by walking both automata.

    A `star` stands for any number of any symbols; `alike` compares two other symbols.
    """
    goal = (len(a), len(b))
    seen = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        here = todo.pop()
        if here == goal:
            return True
        fresh = [place for place in _next(a, b, here, star=star, alike=alike) if place not in seen]
        seen.update(fresh)
        todo.extend(fresh)
    return False


def _next(
    a: Sequence[str],
    b: Sequence[str],
    here: tuple[int, int],
    *,
    star: str,
    alike: Callable[[str, str], bool],
) -> list[tuple[int, int]]:
    i, j = here
    left = a[i] if i < len(a) else None
    right = b[j] if j < len(b) else None
    places = []
    if left == star:
        places.append((i + 1, j))
        if right is not None:
            places.append((i, j + 1))
    if right == star:
        places.append((i, j + 1))
        if left is not None:
            places.append((i + 1, j))
    if left not in {None, star} and right not in {None, star} and alike(str(left), str(right)):
        places.append((i + 1, j + 1))
    return places
