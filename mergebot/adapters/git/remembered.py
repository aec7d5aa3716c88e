"""What a mirror answered once: commits and trees never change, so neither do answers about them.

Each question costs a process of git, about 3 ms, and the same ones come back at every step of a
candidate's way: when it is prepared, when it is gated, and at the last check before its landing.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

from mergebot.adapters.git import objects, reading, replay
from mergebot.adapters.git.command import GitDir

COMMITS_MAX = 20_000
"""Answers about the presence of one commit, a few hundred bytes each."""

CHANGES_MAX = 48
"""Answers that name every changed file: ten megabytes for the largest change that is allowed."""

P = ParamSpec("P")
R = TypeVar("R")


class _NotKeptError(Exception):
    """Carries an answer that may be another one next time."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer


def remembered(
    size: int, *, keep: Callable[[Any], bool]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for questions to a mirror: answers that `keep` accepts are not asked twice.

    A mirror that was removed and made again is another one, whatever its path.
    """

    def around(ask: Callable[P, R]) -> Callable[P, R]:
        question: Callable[..., R] = ask

        @lru_cache(maxsize=size)
        def kept(_mirror: int, *arguments: Any) -> R:
            answer = question(*arguments)
            if not keep(answer):
                raise _NotKeptError(answer)
            return answer

        @wraps(ask)
        def answer(*arguments: Any) -> R:
            git: GitDir = arguments[0]
            try:
                return kept(git.path.stat().st_ino, *arguments)
            except _NotKeptError as error:
                return cast("R", error.answer)

        return cast("Callable[P, R]", answer)

    return around


def _yes(answer: object) -> bool:
    return bool(answer)


def _always(_: object) -> bool:
    return True


has = remembered(COMMITS_MAX, keep=_yes)(reading.has)
is_ancestor = remembered(COMMITS_MAX, keep=_always)(reading.is_ancestor)
changes = remembered(CHANGES_MAX, keep=_always)(objects.changes)
twins = remembered(CHANGES_MAX, keep=_always)(reading.twins)
replayed = remembered(CHANGES_MAX, keep=_always)(replay.replay)
