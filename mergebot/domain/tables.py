"""Reading TOML that people wrote: one table or one sentence, and the words for what was found."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from difflib import get_close_matches

from mergebot.domain.names import shown

Table = dict[str, object]
_BARE = re.compile(r"[A-Za-z0-9_-]{1,80}")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class TableFault:
    """Why a text is no TOML, in one sentence."""

    sentence: str


def read_table(text: str, *, name: str) -> Table | TableFault:
    """Return `text` as a table; `name` is what the sentence calls it."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        return TableFault(f"{name} nests values too deeply.")
    except ValueError as error:
        return TableFault(_invalid(text, str(error), name))


def _invalid(text: str, message: str, name: str) -> str:
    place = _PLACE.search(message)
    if "integer string conversion" in message:
        return f"{name} holds a number with too many digits."
    if place is None:
        return f"{name} is not valid TOML: {shown(message, 120)}."
    what = shown(message[: place.start()], 120)
    if place[1]:
        return f"{name} is not valid TOML at line {place[1]}, column {place[2]}: {what}."
    lines = text.rstrip("\n").split("\n")
    return (
        f"{name} is not valid TOML at line {len(lines)}, column {len(lines[-1]) + 1}, "
        f"where it ends: {what}."
    )


def found(value: object) -> str:
    """Return what a value of a table is, for a sentence: `the text "x"`, `the number 3`, ..."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {shown(value)}" if value else "an empty text"
        case int() | float():
            return f"the number {_number(value)}"
        case list():
            return f"a list of {len(value)}" if value else "an empty list"
        case dict():
            return "a table"
        case None:
            return "null"
        case date() | datetime() | time():
            return "a date or time"
        case _:
            return "something else"


def _number(value: float) -> str:
    if isinstance(value, int) and abs(value) >= 10**18:
        return "beyond 18 digits"
    return str(value)


def bare(key: str) -> str:
    """Return a key as TOML writes it: bare where that is possible, else quoted."""
    return key if _BARE.fullmatch(key) else shown(key)


def unknown_key(key: str, allowed: Iterable[str], *, inside: str) -> str:
    """Return the sentence for a key that means nothing in the table `inside` ("" is the whole).

    It names the nearest key that does, where one is near.
    """
    known = list(allowed)
    close = get_close_matches(key[:80], known, n=1, cutoff=0.7)
    hint = f"perhaps {close[0]} is meant; " if close else ""
    name, whole = (f"{inside}.{bare(key)}", f"of {inside}") if inside else (bare(key), "here")
    return f"{name} is no known key; {hint}the keys {whole} are {', '.join(known)}."
