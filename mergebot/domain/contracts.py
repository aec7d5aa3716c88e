"""Contracts: named promises shared by several parts of the code, and who has agreed to what.

A contract's revision is the hash of its files at a commit. Two questions may arise of a change:
whether a contract that moved since it was written concerns it, and whether the owners agree to
what it does to a contract itself. A rule may answer that a move is irrelevant; everything else is
answered by people, each word recorded. No answer is not agreement.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mergebot.domain.commands import Stance
from mergebot.domain.ids import Actor
from mergebot.domain.patterns import Cover, Pattern, parse
from mergebot.domain.policy import Contract
from mergebot.domain.pulls import Permission

SHOWN_DIGITS = 7


@dataclass(frozen=True, slots=True)
class FileAt:
    """A file of a commit."""

    path: str
    mode: str
    id: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One contract as a change meets it.

    `assumed` is the revision that the change was written for: `declared` by its author, or that of
    the commit it was made from. `base` is the revision it would land on, `merged` the one after.
    """

    assumed: str
    declared: bool
    base: str
    merged: str
    paths: tuple[str, ...]
    author: str


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody's word on a contract, about the revision that they were asked about."""

    pr: int
    contract: str
    revision: str
    stance: Stance
    by: Actor
    permission: Permission
    at: float


@dataclass(frozen=True, slots=True)
class Settled:
    """Nothing stands in the way; `reason` and `by` say who decided so, a rule or people."""

    contract: str
    reason: str
    by: str


@dataclass(frozen=True, slots=True)
class Open:
    """A question that nobody has answered enough; `missing` are the owners asked."""

    contract: str
    revision: str
    question: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reopened:
    """Somebody said no: the contract goes back to its owners, and the change waits."""

    contract: str
    revision: str
    by: str
    stance: Stance


Judgement = Settled | Open | Reopened


def revision(files: Iterable[FileAt]) -> str:
    """Return the hash of the sorted (path, mode, blob id) of a contract's files."""
    rows = sorted((each.path, each.mode, each.id) for each in files)
    text = "".join(f"{path}\0{mode}\0{name}\n" for path, mode, name in rows)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def files_of(contract: Contract, files: Iterable[FileAt]) -> list[FileAt]:
    """Return those of a commit's files that the contract is made of."""
    cover = _cover(contract.paths)
    return [each for each in files if cover.covers(each.path)]


def assumed_in(assumes: Sequence[str], contract: str) -> str:
    """Return the revision that an author declares to assume, "" where none is declared."""
    pairs = (each.partition("@") for each in assumes)
    return next((revision for name, _, revision in pairs if name == contract), "")


def shown(revision_text: str) -> str:
    """Return the digits that people write."""
    return revision_text[:SHOWN_DIGITS]


def judge(contract: Contract, reading: Reading, sayings: Sequence[Said]) -> Judgement:
    """Decide whether the contract lets a change land."""
    if reading.merged != reading.base and contract.owners:
        judged = _consent(contract, reading, sayings)
        if not isinstance(judged, Settled):
            return judged
    if reading.base.startswith(reading.assumed):
        return Settled(contract.name, "it did not move since the change was written", "rule")
    if _unconcerned(contract, reading):
        return Settled(contract.name, "the change touches nothing that uses it", "rule")
    return _moved(contract, reading, sayings)


def _unconcerned(contract: Contract, reading: Reading) -> bool:
    """Tell whether a rule of the repository says that the move is irrelevant.

    Without `used_by` nobody knows who relies on the contract, and unknown is never a pass.
    """
    if reading.declared or not contract.used_by:
        return False
    cover = _cover((*contract.paths, *contract.used_by))
    return not any(cover.covers(path) for path in reading.paths)


def _moved(contract: Contract, reading: Reading, sayings: Sequence[Said]) -> Judgement:
    words = _latest(contract, sayings, reading.base)
    against = next((each for each in words if each.stance in _AGAINST), None)
    if against is not None:
        return Reopened(contract.name, reading.base, against.by.login, against.stance)
    valid = next((each for each in words if each.stance is Stance.REVALIDATE), None)
    if valid is not None:
        reason = f"compatible: it is gated on the new revision{_tested(contract)}"
        return Settled(contract.name, reason, valid.by.login)
    agreed = [each for each in words if each.stance is Stance.AGREE]
    missing = _missing(contract, agreed, "")
    if agreed and not missing:
        names = ", ".join(each.by.login for each in agreed)
        return Settled(contract.name, "compatible: every owner agrees", names)
    text = (
        f"the contract {contract.name} moved from {shown(reading.assumed)} to "
        f"{shown(reading.base)} since this change was written"
    )
    return Open(contract.name, reading.base, text, missing)


def _consent(contract: Contract, reading: Reading, sayings: Sequence[Said]) -> Judgement:
    """Decide whether every owner agrees to what the change does to the contract's own files."""
    words = _latest(contract, sayings, reading.merged)
    against = next((each for each in words if each.stance in _AGAINST), None)
    if against is not None:
        return Reopened(contract.name, reading.merged, against.by.login, against.stance)
    agreed = [each for each in words if each.stance is Stance.AGREE]
    missing = _missing(contract, agreed, reading.author)
    if not missing:
        return Settled(contract.name, "every owner agrees to its new revision", "owners")
    text = f"this change makes {shown(reading.merged)} of the contract {contract.name}"
    return Open(contract.name, reading.merged, text, missing)


def _tested(contract: Contract) -> str:
    return f", {', '.join(contract.tests)} among the steps" if contract.tests else ""


_AGAINST = (Stance.DECLINE, Stance.REOPEN)


def _latest(contract: Contract, sayings: Sequence[Said], about: str) -> list[Said]:
    """Return each person's last word about this very revision, of those who may speak."""
    last = {
        each.by.id: each
        for each in sayings
        if each.contract == contract.name and each.revision == about
    }
    return [each for each in last.values() if may_speak(contract, each.by, each.permission)]


def _missing(contract: Contract, agreed: Sequence[Said], author: str) -> tuple[str, ...]:
    """Return the owners whose agreement is missing; a team speaks through any maintainer."""
    people = {f"@{each.by.login}".casefold() for each in agreed}
    people |= {f"@{author}".casefold()} if author else set()
    senior = any(each.permission >= Permission.MAINTAIN for each in agreed)
    return tuple(
        owner
        for owner in contract.owners
        if not (senior if "/" in owner else owner.casefold() in people)
    )


def may_speak(contract: Contract, who: Actor, permission: Permission) -> bool:
    """Tell whether somebody's word on the contract counts: its owners', or a maintainer's.

    A maintainer speaks for teams and for contracts that nobody owns, not for a person.
    """
    if f"@{who.login}".casefold() in {owner.casefold() for owner in contract.owners}:
        return True
    by_name = bool(contract.owners) and not any("/" in owner for owner in contract.owners)
    return not by_name and permission >= Permission.MAINTAIN


def _cover(patterns: Sequence[str]) -> Cover:
    return Cover(each for each in map(parse, patterns) if isinstance(each, Pattern))
