"""A halt as it is kept beside the receipts, where it outlives the record."""

import json

from mergebot.domain.lane import Halt

OWN_HALT = "mergebot"
"""Who halted where no person did."""


def halt_text(halt: Halt | None) -> str:
    """Return a halt as one JSON object, "" for none."""
    if halt is None:
        return ""
    fields = {
        "v": 1,
        "reason": halt.reason,
        "since": halt.since,
        "by": halt.by,
        "ends_when": halt.ends_when,
    }
    return json.dumps(fields, separators=(",", ":"), sort_keys=True)


def read_halt(text: str) -> Halt | None:
    """Return the halt that `text` tells of, None for ""; what nobody can read halts, too."""
    if not text:
        return None
    try:
        fields = json.loads(text)
        reason, by, ends_when = (str(fields[each]) for each in ("reason", "by", "ends_when"))
        return Halt(reason, float(fields["since"]), by, ends_when)
    except (KeyError, TypeError, ValueError, RecursionError):
        text = "refs/notes/mergebot holds a halt that cannot be read"
        return Halt(text, 0.0, "mergebot", "somebody resumes after looking at it")


def joined(standing: Halt | None, new: Halt) -> Halt:
    """Return the halt that holds for both reasons, so that whoever resumes has read both.

    A person's word goes first, and says who halted.
    """
    if standing is None or new.reason in standing.reason:
        return standing or new
    automatic = new.by == OWN_HALT and standing.by != OWN_HALT
    first, second = (standing, new) if automatic else (new, standing)
    return Halt(
        reason=f"{first.reason}; besides: {second.reason}",
        since=new.since,
        by=first.by,
        ends_when=max(second.ends_when, first.ends_when, key=len),
    )
