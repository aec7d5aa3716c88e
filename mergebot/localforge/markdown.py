"""Markdown as the pages show it: what people and bots write, with nothing of theirs left active.

The parser keeps raw HTML apart, and of that only the few tags that comments are made of come
through, each spelt exactly and without attributes. Everything else is shown as it was typed.
"""

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

CHARS_MAX = 65_536
"""GitHub's own limit of a comment; a longer text is cut."""

_PIECES = re.compile(r"(<!--.*?(?:-->|\Z)|</?[a-z]+>|<details open>)", re.DOTALL)
_TAGS = ("details", "summary", "sub", "sup", "kbd", "br")
_KEPT = {"<details open>", *(f"<{tag}>" for tag in _TAGS), *(f"</{tag}>" for tag in _TAGS)}
_LINKS = ("https://", "http://", "#")
_LINK = {"rel": "noreferrer nofollow"}


def rendered(text: str | None) -> Markup:
    """Return a text as HTML that is safe to show; comments in it are left out."""
    plain = (text or "").replace("\r\n", "\n").replace("\0", "\ufffd")[:CHARS_MAX]
    return Markup(_parser().render(plain))  # noqa: S704 - made of our own tags and escaped text


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "breaks": True})
    # What an image shows lies on a stranger's host: its address and its words are enough.
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _leads_somewhere  # type: ignore[assignment,method-assign]  # the library asks for it so
    parser.add_render_rule("html_block", _harmless)
    parser.add_render_rule("html_inline", _harmless)
    parser.add_render_rule("link_open", _link)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _cell)
    return parser


def _leads_somewhere(address: str) -> bool:
    return address.lower().startswith(_LINKS)


def _harmless(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    return "".join(map(_piece, _PIECES.split(tokens[at].content)))


def _piece(piece: str) -> str:
    if piece.startswith("<!--"):
        return ""
    return piece if piece in _KEPT else escape(piece)


def _link(
    renderer: Any, tokens: Sequence[Token], at: int, options: Any, more: MutableMapping[str, Any]
) -> str:
    tokens[at].attrs |= _LINK
    return str(renderer.renderToken(tokens, at, options, more))


def _cell(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    """Open a cell with its side as a class: the pages' policy takes no styles in the text."""
    to_the_right = str(tokens[at].attrs.get("style", "")).endswith("right")
    return f'<{tokens[at].tag} class="right">' if to_the_right else f"<{tokens[at].tag}>"
