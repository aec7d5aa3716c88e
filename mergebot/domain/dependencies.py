"""`Depends-On: #7` in a description: pull requests that have to land first."""

import re

DEPENDENCIES_MAX = 20
"""Of one pull request; each costs a look."""

_LINE = re.compile(r"^depends-on:\s*#([1-9][0-9]{0,8})\s*$", re.IGNORECASE | re.MULTILINE)


def depends_on(body: str) -> tuple[int, ...]:
    """Return the numbers that a description names, each once."""
    found = [int(number) for number in _LINE.findall(body.replace("\r\n", "\n"))]
    return tuple(dict.fromkeys(found))[:DEPENDENCIES_MAX]
