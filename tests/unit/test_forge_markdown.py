"""What the local forge's pages make of Markdown: its shape, and nothing active."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.localforge.markdown import rendered

NOTICES = sorted((Path(__file__).parents[1] / "golden" / "notices").glob("*.txt"))
SHOWN = {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "a", "code", "pre", "em", "strong", "s"),
    *("ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
    *("details", "summary", "sub", "sup", "kbd"),
}
ATTRIBUTES = {"href", "rel", "title", "class", "start", "open"}
HOSTILE = st.lists(
    st.sampled_from(
        [
            *(
                "<script>",
                "</script>",
                "<img src=x onerror=1>",
                "<details ontoggle=1>",
                "</details>",
            ),
            *("<summary>", "<!--", "-->", "<!-- mergebot:v1 {} -->", "[a](javascript:1)", "![i]("),
            *(
                "](data:text/html,1)",
                "```",
                "~~~",
                "|a|\n|-:|\n",
                "<svg/onload=1>",
                "<a href=x>",
                "\n",
            ),
            *(
                "<details open>",
                "&#60;script>",
                "[x]: javascript:1\n[x]",
                "<style>*{}",
                "\0",
                "\\",
                "<!",
            ),
        ]
    )
    | st.text(max_size=8),
    max_size=12,
).map("".join)


class Reader(HTMLParser):
    """Notes every element and attribute as a browser would take them."""

    def __init__(self) -> None:
        super().__init__()
        self.strange: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.strange += [tag] * (tag not in SHOWN)
        self.strange += [name for name, _ in attrs if name not in ATTRIBUTES]
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_comment(self, data: str) -> None:
        self.strange.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        self.strange.append(f"declaration {decl}")


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(rendered(text))
    reader.close()
    return reader


@given(HOSTILE)
def test_no_text_becomes_anything_but_plain_elements(text: str) -> None:
    reader = read(text)
    assert reader.strange == []
    assert all(link.lower().startswith(("https://", "http://", "#")) for link in reader.links)


@pytest.mark.parametrize("path", NOTICES, ids=lambda path: path.stem)
def test_every_notice_of_the_bot_is_shown_as_it_is_meant(path: Path) -> None:
    shown = rendered(path.read_text())
    assert read(path.read_text()).strange == []
    assert shown.lstrip().startswith("<h3>")
    assert not any(sign in shown for sign in ("mergebot:v1", "&lt;!--", "&lt;details", "```"))


def test_a_table_has_its_numbers_to_the_right() -> None:
    assert '<td class="right">1</td>' in rendered("| a |\n| -: |\n| 1 |\n")


def test_a_comment_inside_code_is_code() -> None:
    assert "<code>&lt;!-- x --&gt;</code>" in rendered("`<!-- x -->`")
