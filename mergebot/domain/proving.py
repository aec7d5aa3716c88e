"""Proving from git alone that a trunk holds only what was landed, or naming what was not.

Every commit on the trunk's first-parent line since adoption must lie in the span of a receipt that
a known key signed: from the base where the trunk stood to the merged commit, with its tree, each
receipt naming the one before it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mergebot.domain.dsse import envelope_of, statement
from mergebot.domain.ids import Sha
from mergebot.domain.receipts import Receipt

Signed = Callable[[str, bytes, bytes], bool]
"""Tells whether the key of this name is known and signed this message with this signature."""


class Flaw(StrEnum):
    """What is wrong with a commit of the trunk, or with its receipt."""

    UNLANDED = "unlanded"
    UNSIGNED = "unsigned"
    TAMPERED = "tampered"
    MISPLACED = "misplaced"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Link:
    """A commit of the trunk's first-parent line, and its tree."""

    commit: Sha
    tree: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One flaw, in one sentence, at the commit where it shows."""

    flaw: Flaw
    commit: Sha
    text: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked at since `adopted`, and everything that is wrong with it, oldest first."""

    adopted: Sha | None
    tip: Sha
    commits: int
    landings: tuple[Sha, ...]
    findings: tuple[Finding, ...]

    @property
    def whole(self) -> bool:
        """Tell whether every commit was landed by a valid receipt."""
        return not self.findings and bool(self.landings)


def prove(
    line: Sequence[Link], receipts: Mapping[Sha, Receipt], signed: Signed, *, since: Sha | None
) -> Proof:
    """Judge a trunk: `line` is its first-parent line, oldest first, `since` where to begin.

    Without `since`, it begins at the base of the oldest receipt on the line.
    """
    walk = _Walk(line, receipts, signed)
    start = walk.adoption() if since is None else walk.places.get(since, -1)
    walk.position = start
    for place in range(start + 1, len(line)):
        if line[place].commit in receipts:
            walk.step(place, receipts[line[place].commit])
    walk.reach(len(line) - 1)
    adopted = line[start].commit if start >= 0 else None
    commits = len(line) - 1 - start
    return Proof(adopted, line[-1].commit, commits, tuple(walk.landings), tuple(walk.findings))


@dataclass(slots=True)
class _Walk:
    """The way along the line: everything up to `position` is accounted for."""

    line: Sequence[Link]
    receipts: Mapping[Sha, Receipt]
    signed: Signed
    position: int = -1
    last: Receipt | None = None
    trunk: object = None
    landings: list[Sha] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {link.commit: place for place, link in enumerate(self.line)}

    def adoption(self) -> int:
        """Return the place of the first receipt's base; what lies before it was there already."""
        for place, link in enumerate(self.line):
            if link.commit in self.receipts:
                base = self._base(self.receipts[link.commit])
                return base if base is not None and base < place else place - 1
        return -1

    def step(self, place: int, receipt: Receipt) -> None:
        """Judge the receipt at a place."""
        link = self.line[place]
        base = self._base(receipt)
        flaw = flaw_of(receipt, self.signed) or self._misplaced(link, receipt, base)
        if flaw is not None or base is None:
            kind, text = flaw or (Flaw.MISPLACED, "names no base on this trunk")
            self.findings.append(Finding(kind, link.commit, f"its receipt {text}"))
            # The spoiled receipt is named once; what follows it in the chain is no second flaw.
            self.reach(place - 1)
            self.position, self.last = place, receipt
            return
        self.reach(base)
        self._follow(link.commit, receipt)
        self.landings.append(link.commit)
        self.position, self.last, self.trunk = place, receipt, receipt.fields.get("trunk")

    def reach(self, place: int) -> None:
        """Account for the commits up to a place, which nobody landed."""
        for each in self.line[self.position + 1 : place + 1]:
            text = "no receipt: it was pushed past the queue"
            self.findings.append(Finding(Flaw.UNLANDED, each.commit, text))
        self.position = max(self.position, place)

    def _misplaced(self, link: Link, receipt: Receipt, base: int | None) -> tuple[Flaw, str] | None:
        fields = receipt.fields
        if fields.get("merged") != link.commit:
            return Flaw.MISPLACED, f"is for the commit {_short(fields.get('merged'))}"
        if fields.get("tree") != link.tree:
            return Flaw.MISPLACED, f"is for the tree {_short(fields.get('tree'))}"
        if fields.get("verdict") != "pass":
            return Flaw.MISPLACED, "does not say that the gate passed"
        if base is None or base < self.position:
            named = _short(fields.get("base"))
            return Flaw.MISPLACED, f"names the base {named}, where the trunk did not stand"
        if self.trunk is not None and fields.get("trunk") != self.trunk:
            return Flaw.MISPLACED, "is for another trunk"
        return None

    def _follow(self, commit: Sha, receipt: Receipt) -> None:
        named = receipt.fields.get("previous")
        expected = self.last.digest if self.last else ""
        if named == expected:
            return
        if not named:
            text = "its receipt begins a chain of its own"
        elif self.last is None:
            text = f"the receipt {_short(named)} that its own follows is missing before it"
        else:
            text = f"its receipt follows {_short(named)}, not {_short(expected)} before it"
        self.findings.append(Finding(Flaw.GAP, commit, text))

    def _base(self, receipt: Receipt) -> int | None:
        return self.places.get(str(receipt.fields.get("base")))


def flaw_of(receipt: Receipt, signed: Signed) -> tuple[Flaw, str] | None:
    """Return what is wrong with a receipt's signature, None where a known key signed all of it."""
    envelope = envelope_of(receipt)
    if envelope is None or not envelope.signatures:
        return Flaw.UNSIGNED, "carries no signature"
    if not any(signed(each.key_id, envelope.signed, each.value) for each in envelope.signatures):
        names = ", ".join(each.key_id[:12] for each in envelope.signatures)
        return Flaw.UNSIGNED, f"is signed by none of the known keys, but by {names}"
    if envelope.payload != statement(receipt):
        return Flaw.TAMPERED, "does not say what was signed"
    return None


def _short(value: object) -> str:
    return "".join(c for c in str(value)[:12] if c.isalnum()) or "nothing"
