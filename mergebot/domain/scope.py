"""What a change touches, read from tree objects alone."""

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """The kind of a tree entry, by git's octal mode."""

    ABSENT = "000000"
    FILE = "100644"
    EXECUTABLE = "100755"
    SYMLINK = "120000"
    SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class Change:
    """One record of `git diff-tree -r -z --raw --no-renames`: a path before and after.

    `path` is the name's bytes decoded as UTF-8 with surrogate escapes, so nothing is lost.
    """

    path: str
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str
