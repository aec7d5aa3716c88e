"""Which landing a change clashes with, of those since it was begun: found by halving them.

The change is green before all of them and red after them, so somewhere in between it turns. It is
replayed on the trunk as it was after the middle one and gated there. What is not found out on idle
slots stays "one of these".

    #4  #6  #7  #9 landed      green after #6, red after #7: it is #7
"""

from collections.abc import Mapping, Sequence

from mergebot.domain.candidate import Doubt, Question
from mergebot.domain.ids import Sha

LANDINGS_MAX = 16
"""Landings that are halved: four runs tell one of so many, and more are not worth it."""

NAMED_MAX = 5
"""Pull requests that people are told of, where it is one of several."""


def among(
    doubt: Doubt, others: Sequence[int], commits: Mapping[int, Sha], *, until: float
) -> Doubt | None:
    """Return the next question, None where it is answered or not worth asking.

    `others` landed in this order, as `commits`, and the change turns red somewhere among them. It
    is known from the doubt so far that it is green alone.
    """
    if not 1 < len(others) <= LANDINGS_MAX:
        return None
    commit = commits.get(others[_middle(others) - 1])
    if commit is None:
        return None
    likely = doubt.likely or doubt.others
    return Doubt(Question.AMONG, commit, commit, tuple(others), until, doubt.proof, likely)


def left(doubt: Doubt, *, green: bool) -> tuple[int, ...]:
    """Return who is left once the change was gated on the middle landing."""
    middle = _middle(doubt.others)
    return doubt.others[middle:] if green else doubt.others[:middle]


def named(doubt: Doubt, others: Sequence[int]) -> tuple[int, ...]:
    """Return whom to name, of the `others` that are left: the likely ones where there are any."""
    likely = tuple(pr for pr in others if pr in (doubt.likely or doubt.others))
    return (likely or tuple(others))[-NAMED_MAX:]


def _middle(others: Sequence[int]) -> int:
    return len(others) // 2
