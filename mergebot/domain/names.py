"""The names of files in a repository: how they are shown to people, and which are refused.

A path is its bytes decoded as UTF-8 with surrogate escapes, so that nothing is lost and two
different names never look the same. Names that a terminal, a page or a checkout on another system
would show or store as something else are refused when they are new.
"""

import re
import unicodedata

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that nobody sees: controls, format characters, separators, unassigned."""

_ASCII_ODD = re.compile(r'[\x00-\x1f\x7f\\"]')
_EDGE = re.compile(r"(?:^|/)[ -]|[ .](?:/|$)")
_BRANCH = re.compile(
    r"(?!-|refs/)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/\.|[./]$))(?![./])[^\s~^:?*\[\\\x7f]+"
)
BRANCH_CHARS_MAX = 200
"""git allows about 250."""

_SHORT_GIT = re.compile(r"git~[0-9]+")


def fold(path: str) -> str:
    """Return what `path` is on a file system that ignores case and Unicode composition."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def render_path(path: str) -> str:
    r"""Return `path` for people: what is invisible or ambiguous becomes `\xNN` or `\uNNNN`.

    One file name is one text, and two file names never are the same text.
    """
    if path.isascii() and path.isprintable() and "\\" not in path:
        return path
    composed = unicodedata.is_normalized("NFC", path)
    return "".join(_rendered(char, composed=composed) for char in path)


def _rendered(char: str, *, composed: bool) -> str:
    code = ord(char)
    if char == "\\":
        return "\\\\"
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - one undecodable byte, as surrogateescape has it
        return f"\\x{code - 0xDC00:02x}"
    if char.isprintable() and (composed or char.isascii()):
        return char
    if code < 0x80:  # noqa: PLR2004 - end of ASCII
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - end of the BMP


def shown(text: str, chars_max: int = 80) -> str:
    """Return user-chosen text for a sentence: quoted, on one line, cut to `chars_max`."""
    rendered = render_path(text[: chars_max + 1])
    cut = rendered if len(text) <= chars_max else f"{rendered[:chars_max]}..."
    return f'"{cut}"'


def is_branch(text: str) -> bool:
    """Tell whether a branch can have this name, without refs/heads/ before it."""
    fits = 0 < len(text) <= BRANCH_CHARS_MAX and text.isprintable()
    return fits and _BRANCH.fullmatch(text) is not None


def is_git_directory(path: str) -> bool:
    """Tell whether a segment of `path` is `.git` to git on some file system."""
    return any(_is_git(segment) for segment in path.split("/"))


def _is_git(segment: str) -> bool:
    if "git" not in segment.lower() and segment.isascii():
        return False
    seen = "".join(char for char in segment if unicodedata.category(char) != "Cf")
    name = fold(seen).split(":", 1)[0].rstrip(" .")
    return name == ".git" or _SHORT_GIT.fullmatch(name) is not None


def name_fault(path: str) -> str | None:
    """Return why a new file may not have this name, as the end of a sentence, or None."""
    if _ASCII_ODD.search(path):
        return "its name holds a control character, a backslash or a double quote"
    if _EDGE.search(path):
        return "a part of its name starts with a dash or a space, or ends with a space or a dot"
    if path.isascii():
        return None
    if any("\udc80" <= char <= "\udcff" for char in path):
        return "its name is not valid UTF-8"
    if not unicodedata.is_normalized("NFC", path):
        return "its name is not in Unicode's composed form (NFC)"
    if any(unicodedata.category(char) in HIDDEN for char in path):
        return "its name holds a character that nobody sees"
    return None
