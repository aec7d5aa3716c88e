"""What a change touches, read from tree objects alone, and whether its author may touch that.

Every record of the raw diff counts: additions, deletions, both ends of a rename, modes, symbolic
links and submodules. The check looks at two diffs, the one that would land and the author's own:
a path that only the landing would change is nobody's intention and stops it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from mergebot.domain.candidate import Claim, NoClaim
from mergebot.domain.limits import CHANGED_PATHS_MAX
from mergebot.domain.names import fold, is_git_directory, name_fault, render_path
from mergebot.domain.patterns import Cover, Pattern, literal_of, parse
from mergebot.domain.policy import ClaimPolicy
from mergebot.domain.reasons import Reason

_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|\\)")


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

    @property
    def adds(self) -> bool:
        """Tell whether the path is new."""
        return self.old_mode == Mode.ABSENT

    @property
    def deletes(self) -> bool:
        """Tell whether the path goes away."""
        return self.new_mode == Mode.ABSENT

    @property
    def links(self) -> bool:
        """Tell whether it adds a symbolic link or points one elsewhere; `new_id` is its target."""
        return self.new_mode == Mode.SYMLINK and self.new_id != self.old_id

    @property
    def moves_submodule(self) -> bool:
        """Tell whether it adds, moves or removes a submodule, or says where they come from."""
        return Mode.SUBMODULE in {self.old_mode, self.new_mode} or self.path == ".gitmodules"


class Enqueuer(Enum):
    """Whether the person who set the label may open protected paths."""

    MEMBER = "member"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Touched:
    """What would land (`changes`) and what its author changed, as raw diffs.

    What is in a file counts only where it would land; the right to touch it counts in both diffs.
    `twins` are the pairs of paths that one file system would take for the same file. `targets` has
    the text of every symbolic link that `links_to_read(changes)` names, by path; a link whose
    text is missing is refused.
    """

    changes: Sequence[Change]
    author_changes: Sequence[Change]
    twins: Sequence[tuple[str, str]] = ()
    targets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the change's author may touch."""

    claim: Claim | NoClaim
    policy: ClaimPolicy
    enqueuer: Enqueuer = Enqueuer.MEMBER


@dataclass(frozen=True, slots=True)
class Inside:
    """Every path is allowed; `paths` are those that would land, sorted."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outside:
    """Why it may not land. `strayed` are the paths, rendered; `details` has a sentence for each."""

    reason: Reason
    strayed: tuple[str, ...]
    details: tuple[str, ...]


ScopeVerdict = Inside | Outside


def links_to_read(touched: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes whose symbolic link's text (the blob `new_id`) the check has to know."""
    return tuple(change for change in touched if change.links)


def extend_command(strayed: Iterable[str], handle: str = "mergebot") -> str:
    """Return the comment that would add `strayed` (rendered paths) to the claim."""
    patterns = (literal_of(_ESCAPE.sub("?", path)) for path in strayed)
    return f"@{handle} claim " + " ".join(_quoted(pattern) for pattern in patterns)


def check_scope(touched: Touched, allowed: Allowed) -> ScopeVerdict:
    """Decide whether everything that `touched` holds is allowed.

    Where several things are wrong, all have their sentence, and the reason is the one that the
    author has to deal with first. Raises ValueError when a protected pattern is none.
    """
    both = {change.path for change in (*touched.changes, *touched.author_changes)}
    if len(both) > CHANGED_PATHS_MAX:
        text = f"The change touches {len(both)} paths; at most {CHANGED_PATHS_MAX} are allowed."
        return Outside(Reason.TOO_LARGE, (), (text,))
    if isinstance(allowed.claim, NoClaim) and allowed.policy.required:
        text = (
            "This repository lands no change without a claim: the description has none, and no "
            "claim of a session names its branch."
        )
        return Outside(Reason.CLAIM_MISSING, (), (text,))
    faults = _Check(allowed).faults(touched)
    for reason in (Reason.FORBIDDEN_CONTENT, Reason.OUT_OF_SCOPE, Reason.PROTECTED_PATH):
        if reason in faults.values():
            strayed = dict.fromkeys(render_path(path) for path, _ in faults)
            return Outside(reason, tuple(strayed), tuple(text for _, text in faults))
    return Inside(tuple(sorted({change.path for change in touched.changes})))


class _Check:
    """One claim and one policy, compiled, and the questions that are asked of every path."""

    def __init__(self, allowed: Allowed) -> None:
        claim = allowed.claim
        self._claimed = None if isinstance(claim, NoClaim) else Cover(_compiled(claim.patterns))
        self._protected = [_valid(text).folded for text in allowed.policy.protected]
        self._guard = Cover(self._protected)
        self._enqueuer = allowed.enqueuer

    def faults(self, touched: Touched) -> dict[tuple[str, str], Reason]:
        """Return (path, sentence) and the reason for everything that is wrong, in path order."""
        authors = {change.path for change in touched.author_changes}
        found: dict[tuple[str, str], Reason] = {}
        for change in sorted(touched.changes, key=lambda each: each.path):
            path = change.path
            fault = "" if change.deletes else self._content_fault(change, touched.targets)
            if fault:
                found[path, _sentence(path, fault)] = Reason.FORBIDDEN_CONTENT
            if path not in authors:
                text = "would change in the landing, although its author did not change it"
                found[path, _sentence(path, text)] = Reason.OUT_OF_SCOPE
        both = (*touched.changes, *touched.author_changes)
        for change in {(each.path, each.moves_submodule): each for each in both}.values():
            for reason, text in self._right_faults(change):
                found[change.path, _sentence(change.path, text)] = reason
        for one, other in touched.twins:
            text = f"and {render_path(other)} are one file where case or accents do not count"
            found[one, _sentence(one, text)] = Reason.FORBIDDEN_CONTENT
        return dict(sorted(found.items(), key=lambda item: item[0]))

    def _right_faults(self, change: Change) -> Iterable[tuple[Reason, str]]:
        if self._guards(change.path):
            fault = self._protected_fault(change.path)
            if fault:
                yield Reason.PROTECTED_PATH, fault
        elif self._claimed is not None and not self._claimed.covers(change.path):
            yield Reason.OUT_OF_SCOPE, "is outside the claim"
        elif self._claimed is not None and change.moves_submodule and not self._names(change.path):
            yield Reason.OUT_OF_SCOPE, "changes a submodule, so the claim has to name it exactly"

    def _names(self, path: str) -> bool:
        return self._claimed is not None and self._claimed.names(path)

    def _guards(self, path: str) -> bool:
        """Tell whether `path` is protected, or stands where a folder above a protected one does."""
        folded = fold(path)
        above = tuple(folded.split("/"))
        return self._guard.covers(folded) or any(
            above == pattern.root[: len(above)] for pattern in self._protected
        )

    def _protected_fault(self, path: str) -> str:
        named, admin = self._names(path), self._enqueuer is Enqueuer.ADMIN
        if named and admin:
            return ""
        missing = [] if named else ["a claim names it without wildcards"]
        return "is protected: it lands when " + " and ".join(
            [*missing, *([] if admin else ["an admin sets the label"])]
        )

    def _content_fault(self, change: Change, targets: Mapping[str, str]) -> str:
        if is_git_directory(change.path):
            return "would be a git directory on some file system"
        if change.links:
            fault = _link_fault(change.path, targets.get(change.path))
            if fault:
                return fault
        if change.adds and not self._names(change.path):
            fault = name_fault(change.path) or ""
            return fault and f"is refused: {fault}"
        return ""


def _compiled(patterns: Iterable[str]) -> list[Pattern]:
    """Return the patterns that are valid; one that is not names nothing and so allows nothing."""
    return [each for each in map(parse, patterns) if isinstance(each, Pattern)]


def _valid(text: str) -> Pattern:
    """Return a pattern of the rules; an invalid one would protect nothing, so it is an error."""
    pattern = parse(text)
    if isinstance(pattern, Pattern):
        return pattern
    raise ValueError(pattern.sentence)


def _link_fault(path: str, target: str | None) -> str:
    if target is None:
        return "is a symbolic link whose target could not be read"
    shown = render_path(target)
    if target.startswith("/") or "\\" in target or "\0" in target or target[1:2] == ":":
        return f"is a symbolic link to {shown}; it has to be relative, with / between segments"
    steps = [step for step in target.split("/") if step not in {"", "."}]
    up = steps.count("..")
    if ".." in steps[up:]:
        return f"is a symbolic link to {shown}; .. may only stand at the start of its target"
    if up > path.count("/"):
        return f"is a symbolic link to {shown}, which is outside the repository"
    if is_git_directory(target):
        return f"is a symbolic link to {shown}, into a git directory"
    return ""


def _sentence(path: str, text: str) -> str:
    return f"{render_path(path)} {text}."


def _quoted(pattern: str) -> str:
    plain = re.sub(r'["`]', "?", pattern)
    return f'"{plain}"' if " " in plain else plain
