"""Rendering with Jinja2: letters for the forge in Markdown, pages in HTML.

In a letter every value is escaped unless it is `Markdown`, which only the filters make; in a page
Jinja2 escapes every value as HTML. A name that is not there is an error in both.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

import mergebot
from mergebot.domain import markdown, wording
from mergebot.domain.ids import short
from mergebot.domain.limits import PR_CHARS_MAX
from mergebot.domain.markdown import Markdown

CUTS = (20_000, 6_000, 2_000, 600, 200)
"""Characters that a letter's long parts are shortened to, one after the other, until it fits."""

LIST_MAX = 50
"""Paths of one list that a letter shows."""


def template_root() -> Path:
    """Return where templates lie: in the installed package, or beside it in the repository."""
    package = Path(mergebot.__file__).parent
    installed = package / "_templates"
    return installed if installed.is_dir() else package.parent / "templates"


class MarkdownLetters:
    """Renders what people read on the forge."""

    def __init__(self, root: Path | None = None) -> None:
        self._environment = _letters(root or template_root())

    def render(self, name: str, facts: Mapping[str, object]) -> str:
        """Return the Markdown of the notice called `name`, within the forge's length limit.

        What is too long loses the middle of its logs and the ends of its lists, never the hidden
        line nor what to do next.
        """
        template = self._environment.get_template(name)
        text = template.render(facts)
        for cut in CUTS:
            if len(text) <= PR_CHARS_MAX:
                break
            text = template.render(_cut(facts, cut))
        return text


class HtmlPages:
    """Renders the pages."""

    def __init__(self, root: Path | None = None) -> None:
        self._environment = _pages(root or template_root())

    def render(self, name: str, facts: Mapping[str, object]) -> str:
        """Return the HTML of the page called `name`."""
        return self._environment.get_template(f"pages/{name}").render(facts)


@cache
def _letters(root: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(root),
        # Markdown, not HTML: `finalize` escapes every value instead.
        autoescape=False,  # noqa: S701 - see above
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    environment.filters |= {
        "code": _on_text(markdown.code),
        "cell": _on_text(markdown.cell),
        "fence": markdown.fence,
        "url": _url,
        "short": _on_text(lambda sha: markdown.code(short(sha))),
        "duration": lambda seconds: Markdown(wording.duration(seconds)),
        "diffstat": diffstat,
        "mark": lambda state: Markdown(MARKS.get(state, MARKS["queued"])),
    }
    environment.globals["list_max"] = LIST_MAX
    return environment


MARKS = {
    "queued": "\N{HOURGLASS WITH FLOWING SAND}",
    "gating": "\N{HOURGLASS WITH FLOWING SAND}",
    "parked": "\N{DOUBLE VERTICAL BAR}\N{VARIATION SELECTOR-16}",
    "verified": "\N{LARGE GREEN CIRCLE}",
    "landing": "\N{LARGE GREEN CIRCLE}",
    "landed": "\N{WHITE HEAVY CHECK MARK}",
    "ejected": "\N{CROSS MARK}",
    "cancelled": "\N{LEFTWARDS ARROW WITH HOOK}\N{VARIATION SELECTOR-16}",
}


@cache
def _pages(root: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(root),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "plain": _on_text(markdown.plain),
        "short": _on_text(short),
        "duration": wording.duration,
        "age": wording.age,
        "count": wording.count,
        "diffstat": diffstat,
        "seconds": wording.from_iso,
    }
    return environment


def _finalize(value: object) -> str:
    return value if isinstance(value, Markdown) else markdown.escape(str(value))


def _on_text(filter_: Callable[[str], str]) -> Callable[[object], str]:
    return lambda value: filter_(str(value))


def _url(address: object) -> Markdown:
    """Return an address that can stand in a Markdown link, "#" for what is no web address."""
    text = str(address)
    if not text.startswith(("http://", "https://")):
        return Markdown("#")
    return Markdown(quote(text, safe=":/?#=&%~.-_+,@!$;"))


def diffstat(patch: str) -> list[Mapping[str, object]]:
    """Return each file of a patch with the lines added and removed; nothing for a broken one."""
    try:
        files = PatchSet.from_string(patch) if patch else []
    except UnidiffParseError:
        return []
    return [{"path": each.path, "added": each.added, "removed": each.removed} for each in files]


def _cut(facts: Mapping[str, object], limit: int) -> dict[str, object]:
    return {key: _shorter(value, limit) for key, value in facts.items()}


def _shorter(value: object, limit: int) -> object:
    match value:
        case Markdown():
            return value
        case str():
            return markdown.shorten(value, limit)
        case list():
            return [_shorter(each, limit) for each in value[: max(limit // 100, 3)]]
        case dict():
            return {key: _shorter(each, limit) for key, each in value.items()}
        case _:
            return value
