"""A pull request's title and description as the text of a commit that mergebot writes.

What they say stays readable and does nothing: nobody is mentioned, no issue is linked or closed and
no check is skipped, in this repository and in every fork. The claim block and comments are left
out. Trailers and the addresses in them stay.
"""

import re

from mergebot.domain.claims import without_claim
from mergebot.domain.markdown import WORD_JOINER

_COMMENT = re.compile(r"<!--.*?-->|^ {0,3}<!--.*\Z", re.DOTALL | re.MULTILINE)
_ADDRESS = r"\bhttps?://[^\s<>]+"
_CLOSES = r"\b(?:clos|fix|resolv)(?:e|es|ed)?(?=:?\s+" + _ADDRESS + ")"
_MARKS = (
    r"(?<![\w.+%-])@(?=\w)",
    r"#(?=\d)",
    r"\bGH-(?=\d)",
    r"\[(?=\s*(?:(?:skip|no)[ _-]\w+|\w+[ _-]skip)\s*\])",
    r"\*\*\*(?=NO_CI\*\*\*)",
    r"\bskip-checks(?=\s*:)",
    _CLOSES,
)
_LIVE = re.compile(f"(?P<live>{'|'.join(_MARKS)})|{_ADDRESS}", re.IGNORECASE)
_GAP = re.compile(r"\n(?:[ \t]*\n){2,}")


def inert(text: str) -> str:
    """Return `text` with what a forge would act on broken by a character that nobody sees."""
    return _LIVE.sub(_broken, text)


def commit_body(description: str) -> str:
    """Return the body of a commit message that says what a description says."""
    text = _COMMENT.sub("", without_claim(description.replace("\r\n", "\n")))
    return inert(_GAP.sub("\n\n", text).strip("\n").rstrip())


def _broken(found: re.Match[str]) -> str:
    live = found["live"]
    return found[0] if live is None else f"{live[:1]}{WORD_JOINER}{live[1:]}"
