"""A lane's story: what happened, one entry per fact, kept for the PR's page and the live stream."""

from dataclasses import dataclass

AUDIT = -1
"""Where a lane keeps what people did by hand, in place of a PR's number."""


EVENTS = ("landed", "ejected", "halted", "resumed", "escalated")
"""What people outside the forge may be told of."""

QUIET = ("halted", "resumed", "escalated")
"""What they are told where nothing else is asked for: what needs a person, and that it is over."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened at `at` (Unix seconds); `pr` is 0 for the lane itself."""

    at: float
    pr: int
    kind: str
    text: str
