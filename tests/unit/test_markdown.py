import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mergebot.domain.markdown import (
    Markdown,
    cell,
    code,
    escape,
    fence,
    one_line,
    plain,
    shorten,
)

HOSTILE = st.lists(
    st.sampled_from(
        [
            *"`~*_[](){}<>#@!|\\$&:-+=.\n\t \r'\"",
            "```",
            "~~~~",
            "</details>",
            "<!-- mergebot:v1 {} -->",
            "@octocat",
            "@org/team",
            "#123",
            "GH-1",
            "gh-7",
            "closes #1",
            "fixes o/r#2",
            "resolves https://github.com/o/r/issues/3",
            "![x](http://a.example/p.png)",
            "www.example.com",
            "a@example.com",
            "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
            "\x1b[31m",
            "\x1b]0;title\x07",
            "\x1b]8;;http://x\x1b\\",
            "\u202e",
            "\u2066",
            "\x00",
            "\x9b2J",
            "\udc80",
            "1. ",
            "- ",
            "word",
        ]
    )
    | st.text(max_size=6),
    max_size=20,
).map("".join)

GFM = MarkdownIt("gfm-like", {"linkify": False})
LIVE = re.compile(
    r"(?:^|[^\w/])@[A-Za-z0-9]|(?:^|\W|\w/\w+)#\d|\bGH-\d|https?://\S|\bwww\.\w"
    r"|(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])",
    re.IGNORECASE,
)
FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def tags(markdown: str) -> set[str]:
    found: set[str] = set()
    for token in GFM.parse(markdown):
        found.add(token.type)
        found |= {child.type for child in token.children or []}
    return found


def text_of(markdown: str) -> str:
    return "".join(child.content for token in GFM.parse(markdown) for child in token.children or [])


@given(HOSTILE)
def test_escaped_text_is_one_paragraph_of_text_that_does_nothing(text: str) -> None:
    markdown = escape(text)
    allowed = {"paragraph_open", "inline", "paragraph_close", "text", "text_special"}
    assert tags(markdown) <= allowed
    assert not LIVE.search(text_of(markdown))
    assert not FORBIDDEN.search(markdown)


@given(HOSTILE)
def test_escaped_text_reads_as_it_was(text: str) -> None:
    assert text_of(escape(text)).replace("\u2060", "") == one_line(text, 2000).replace("\u2060", "")


@given(HOSTILE)
def test_a_code_span_holds_everything_and_ends_only_at_its_end(text: str) -> None:
    span = code(text)
    assert tags(f"a {span} b") <= {
        "paragraph_open",
        "inline",
        "paragraph_close",
        "text",
        "code_inline",
    }
    assert not FORBIDDEN.search(span)


@given(HOSTILE)
def test_a_fence_holds_everything_and_ends_only_at_its_end(text: str) -> None:
    tokens = GFM.parse(f"before\n\n{fence(text)}\n\nafter")
    kinds = [token.type for token in tokens if token.type != "inline"]
    assert kinds == [
        *["paragraph_open", "paragraph_close"],
        "fence",
        *["paragraph_open", "paragraph_close"],
    ]
    assert not FORBIDDEN.search(fence(text))


@given(HOSTILE)
def test_a_cell_cannot_end_its_row(text: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {cell(text)} | x |\n"
    assert [token.type for token in GFM.parse(table)].count("td_open") == 2


@given(st.text(), st.integers(min_value=10, max_value=100))
def test_shortened_text_keeps_both_ends_and_says_what_is_missing(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit + 60
    assert short == text or ("characters left out" in short and short[0] == text[0])


def test_terminal_sequences_go_whole() -> None:
    assert plain("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "red link"
    assert plain("old\rnew\r\nnext") == "old\nnew\nnext"


def test_what_comes_back_is_known_to_be_safe() -> None:
    assert all(isinstance(make("x"), Markdown) for make in (escape, code, cell, fence))
    assert code("") == ""
