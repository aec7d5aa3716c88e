"""A lane's story: what happened, one entry per fact, kept for the PR's page and the live stream."""

from dataclasses import dataclass

AUDIT = -1
"""Where a lane keeps what people did by hand, in place of a PR's number."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened at `at` (Unix seconds); `pr` is 0 for the lane itself."""

    at: float
    pr: int
    kind: str
    text: str
