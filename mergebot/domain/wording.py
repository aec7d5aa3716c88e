"""Times, durations and counts in the words that people read."""

from datetime import UTC, datetime

MINUTE_S = 60
HOUR_S = 3600
DAY_S = 86_400


def iso(at: float) -> str:
    """Return Unix seconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_iso(text: str) -> float:
    """Return the Unix seconds of an ISO 8601 time; raises ValueError."""
    return datetime.fromisoformat(text).timestamp()


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units: `41 s`, `2 min 5 s`, `3 h 10 min`."""
    if 0 < seconds < 1:
        return "under 1 s"
    whole = max(round(seconds), 0)
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return _two(whole, MINUTE_S, ("min", "s"), 1)
    if whole < DAY_S:
        return _two(whole, HOUR_S, ("h", "min"), MINUTE_S)
    return _two(whole, DAY_S, ("d", "h"), HOUR_S)


def age(seconds: float) -> str:
    """Return how long ago something was, in its largest unit alone: `41 s`, `2 min`, `3 h`, `5 d`."""
    if 0 < seconds < 1:
        return "under 1 s"
    whole = max(round(seconds), 0)
    for unit, name in ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if whole >= unit:
            return f"{whole // unit} {name}"
    return f"{whole} s"


def _two(whole: int, unit: int, names: tuple[str, str], lesser: int) -> str:
    large, rest = divmod(whole, unit)
    small = rest // lesser
    return f"{large} {names[0]} {small} {names[1]}" if small else f"{large} {names[0]}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 attempt`, `2 attempts`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def sentence(text: str) -> str:
    """Return text that begins with a capital and ends with one full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('. ')}."


def listed(words: tuple[str, ...]) -> str:
    """Return words as a list in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""
