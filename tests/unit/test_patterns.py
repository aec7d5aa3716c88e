import itertools
import unicodedata

import greenery  # type: ignore[import-untyped] # it ships no types
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mergebot.domain.limits import PATTERN_CHARS_MAX
from mergebot.domain.names import fold
from mergebot.domain.patterns import Cover, Pattern, PatternFault, literal_of, overlaps, parse

SEGMENTS = ["".join(s) for n in (1, 2, 3) for s in itertools.product("ab", repeat=n)]
SHORT = SEGMENTS[:6]
PATHS = [*SEGMENTS, *("/".join(p) for n in (2, 3) for p in itertools.product(SHORT, repeat=n))]

wild_segments = st.text("ab*?", min_size=1, max_size=4).filter(lambda text: "**" not in text)
segments = st.one_of(wild_segments, st.just("**"))
texts = st.builds(
    lambda parts, end: "/".join(parts) + end,
    st.lists(segments, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
names = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=6)
names_of_files = st.lists(names, min_size=1, max_size=3).map("/".join)


def pattern(text: str) -> Pattern:
    parsed = parse(text)
    assert isinstance(parsed, Pattern), parsed
    return parsed


def slowly_matches(segments: list[str], path: list[str]) -> bool:
    """The language as DESIGN.md words it, with a search through every way to read a pattern."""
    if not segments:
        return not path
    head, rest = segments[0], segments[1:]
    if head == "**":
        fewest = 0 if rest else 1
        return any(slowly_matches(rest, path[n:]) for n in range(fewest, len(path) + 1))
    return bool(path) and segment_matches(head, path[0]) and slowly_matches(rest, path[1:])


def segment_matches(wild: str, name: str) -> bool:
    if not wild:
        return not name
    if wild[0] == "*":
        return any(segment_matches(wild[1:], name[n:]) for n in range(len(name) + 1))
    return bool(name) and wild[0] in {"?", name[0]} and segment_matches(wild[1:], name[1:])


def written(text: str) -> list[str]:
    return [*text.split("/")[:-1], "**"] if text.endswith("/") else text.split("/")


def regular_expression(text: str) -> str:
    """The same language for greenery: segments are words over a, b and c, none of them empty."""
    units = {"*": "[abc]*", "?": "[abc]"}
    parts = written(text)
    regex = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            regex += "[abc]+(/[abc]+)*" if last else "([abc]+/)*"
        else:
            word = "[abc]+" if part == "*" else "".join(units.get(char, char) for char in part)
            regex += word + ("" if last else "/")
    return regex


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("src/app.py", ["src/app.py"], ["src/app.pyc", "src/app", "x/src/app.py", "Src/app.py"]),
        ("src/", ["src/a", "src/a/b"], ["src", "src_evil/a", "a/src/b"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "src_evil/a", "SRC/a"]),
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("a?c", ["abc", "aéc", "a\udcffc"], ["ac", "a/c", "abbc"]),
        ("**/test_*.py", ["test_a.py", "x/y/test_.py"], ["test_a.py/x", "xtest_a.py"]),
        ("a/**/b", ["a/b", "a/x/y/b"], ["a", "ab", "a/b/c"]),
        ("**", ["a", "a/b", "a\nb"], []),
        ("a+b.c", ["a+b.c"], ["aab.c", "a+bxc"]),
        ("app/[slug]/{id}.ts", ["app/[slug]/{id}.ts"], ["app/s/{id}.ts", "app/[slug]/i.ts"]),
        ("a{b,c}/*", ["a{b,c}/d"], ["ab/d", "ac/d"]),
    ],
)
def test_a_pattern_names(text: str, inside: list[str], outside: list[str]) -> None:
    assert [path for path in inside if not pattern(text).matches(path)] == []
    assert [path for path in outside if pattern(text).matches(path)] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("/etc", "starts with /"),
        ("!src", "negation"),
        ("a/../b", '".."'),
        ("./a", '"."'),
        ("a//b", "empty segment"),
        ("/", "starts with /"),
        ("src//", "empty segment"),
        ("a\\b", "backslash"),
        ("a**", "stands alone"),
        ("src/***", "stands alone"),
        ("a\nb", "control"),
        ("a\x7f", "control"),
        ("a\ud800", "control"),
        (" a", "blank"),
        ("a" * (PATTERN_CHARS_MAX + 1), str(PATTERN_CHARS_MAX)),
    ],
)
def test_a_text_that_is_no_pattern_is_refused_with_one_sentence(text: str, word: str) -> None:
    fault = parse(text)
    assert isinstance(fault, PatternFault)
    assert word in fault.sentence
    assert fault.sentence.isprintable()
    assert len(fault.sentence) < 250


@given(st.text())
def test_every_text_is_a_pattern_or_refused(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Pattern | PatternFault)
    assert isinstance(parsed, PatternFault) or isinstance(parsed.matches(text), bool)


@given(texts)
@example("*a*b*/**/?/**/*")
def test_matching_agrees_with_trying_every_reading(text: str) -> None:
    fast = pattern(text)
    wrong = [p for p in PATHS if fast.matches(p) != slowly_matches(written(text), p.split("/"))]
    assert wrong == []


@given(texts, texts)
def test_patterns_that_share_a_path_overlap(a: str, b: str) -> None:
    both = [path for path in PATHS if pattern(a).matches(path) and pattern(b).matches(path)]
    assert overlaps(pattern(a), pattern(b)) or both == []


@pytest.mark.slow
@settings(max_examples=80)
@given(texts, texts)
def test_overlap_is_exactly_what_intersecting_the_automata_says(a: str, b: str) -> None:
    one, other = (greenery.parse(regular_expression(text)).to_fsm() for text in (a, b))
    assert overlaps(pattern(a), pattern(b)) != (one & other).empty()
    assert overlaps(pattern(b), pattern(a)) == overlaps(pattern(a), pattern(b))


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        ("src/**", "src/auth/login.py", True),
        ("src", "src/**", False),
        ("src/*.py", "src/auth/*.py", False),
        ("**/x", "a/**", True),
        ("a*b", "*ab*", True),
        ("a*b", "?c", False),
        ("SRC/**", "src/x", True),
        ("CAFÉ.md", unicodedata.normalize("NFD", "café.md"), True),
        ("straße/*", "STRASSE/x", True),
        ("docs/**", "src/**", False),
    ],
)
def test_overlap_ignores_case_and_composition(a: str, b: str, *, shared: bool) -> None:
    assert overlaps(pattern(a), pattern(b)) is shared
    assert overlaps(pattern(b), pattern(a)) is shared


@given(st.lists(texts, max_size=5))
def test_a_cover_is_its_patterns_asked_as_one(many: list[str]) -> None:
    cover = Cover(map(pattern, many))
    assert [p for p in PATHS if cover.covers(p) != any(pattern(t).matches(p) for t in many)] == []
    assert [p for p in PATHS if cover.names(p) != (p in many)] == []


@given(names_of_files)
@example("0\xa0")
@example("\u3000a ")
def test_every_path_has_a_pattern_that_names_it(path: str) -> None:
    if not {".", ".."} & set(path.split("/")) and path.strip():
        assert pattern(literal_of(path)).matches(path)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_a_hostile_pattern_takes_no_longer_than_another() -> None:
    stars = pattern("/".join(["*a" * 30 + "b"] * 8) + "/**/" + "**/a/" * 40 + "b")
    assert not stars.matches("/".join(["a" * 120] * 30))
    assert overlaps(stars, pattern("**/b"))
    assert not overlaps(stars, pattern("**/" + "?*" * 200))


def test_brackets_and_braces_meet_only_themselves_and_wildcards() -> None:
    route, pair = pattern("app/[slug]/x"), pattern("a{b,c}")
    assert [
        text for text in ("app/?slug?/x", "APP/*]/x") if not overlaps(route, pattern(text))
    ] == []
    assert [text for text in ("app/s/x", "app/slug/x") if overlaps(route, pattern(text))] == []
    assert overlaps(pair, pattern("a{*"))
    assert not overlaps(pair, pattern("ab"))


@pytest.mark.parametrize("path", ["app/[slug]/page.tsx", "a{b}.txt", "x]"])
def test_a_path_with_brackets_is_named_exactly(path: str) -> None:
    assert literal_of(path) == path
    assert Cover([pattern(path)]).names(path)
