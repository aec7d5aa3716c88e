"""`Depends-On: #7` in a description: pull requests that have to land first."""

import re
from collections.abc import Mapping, Sequence

DEPENDENCIES_MAX = 20
"""Of one pull request; each costs a look."""

_LINE = re.compile(r"^depends-on:\s*#([1-9][0-9]{0,8})\s*$", re.IGNORECASE | re.MULTILINE)


def depends_on(body: str) -> tuple[int, ...]:
    """Return the numbers that a description names, each once."""
    found = [int(number) for number in _LINE.findall(body.replace("\r\n", "\n"))]
    return tuple(dict.fromkeys(found))[:DEPENDENCIES_MAX]


def circles(waits_for: Mapping[int, Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Return each set of numbers that wait for one another, so that none can ever be first.

    Every number that can reach itself is in exactly one of them; both are in ascending order.
    """
    reached = {number: _reached(number, waits_for) for number in waits_for}
    rounds = {
        tuple(sorted(other for other in reached[number] if number in reached.get(other, ())))
        for number in waits_for
        if number in reached[number]
    }
    return tuple(sorted(rounds))


def _reached(start: int, waits_for: Mapping[int, Sequence[int]]) -> frozenset[int]:
    found: set[int] = set()
    left = list(waits_for.get(start, ()))
    while left:
        number = left.pop()
        if number not in found:
            found.add(number)
            left.extend(waits_for.get(number, ()))
    return frozenset(found)
