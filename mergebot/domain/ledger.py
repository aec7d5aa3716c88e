"""The claims ledger: which task may change which files, decided from one reading of it.

A claim is live until evidence ends it: parked and suspect claims exclude others as active ones do,
and age frees nothing. Every material change of a claim gives it the next generation, so whoever
acts on an older one is refused. What is decided here is committed at the revision that was read.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from mergebot.domain.ids import Lane
from mergebot.domain.patterns import Pattern, overlaps, parse
from mergebot.domain.roots import Roots
from mergebot.domain.tickets import task_key

Key = TypeVar("Key", str, int)

HOLDERS_SHOWN = 20
"""Holders that a refusal names: more than anybody asks, few enough to read."""


@dataclass(frozen=True, slots=True)
class Active:
    """Somebody works on it."""


@dataclass(frozen=True, slots=True)
class Parked:
    """Kept while nobody works on it; only a person ends this, whatever `review_at` says."""

    owner: str
    reason: str
    review_at: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """Nothing was heard of it for long: a reason to look, and none to free it."""

    since: float
    why: str


class How(StrEnum):
    """What ended a claim."""

    LANDED = "landed"
    RELEASED = "released"
    CLOSED = "closed"
    AUDITED = "audited"


@dataclass(frozen=True, slots=True)
class Ended:
    """Over, with the evidence for it in one sentence."""

    how: How
    evidence: str
    at: float


Standing = Active | Parked | Suspect | Ended


@dataclass(frozen=True, slots=True)
class LedgerClaim:
    """A task's recorded right to change paths.

    `owner` is for reading; what owns it is the session whose token has the digest `proof`, or the
    pull request `pr` (0 where there is none yet). `patterns` are those of the block or the first
    call, `extra` what was added since. `heard_at` is when its owner was last heard of. `seal` marks
    that this installation granted them.
    """

    id: str
    task: str
    owner: str
    proof: str
    patterns: tuple[str, ...]
    assumes: tuple[str, ...]
    branch: str
    pr: int
    generation: int
    claimed_at: float
    heard_at: float
    state: Standing
    extra: tuple[str, ...] = ()
    seal: str = ""

    @property
    def live(self) -> bool:
        """Tell whether it excludes others."""
        return not isinstance(self.state, Ended)

    @property
    def every(self) -> tuple[str, ...]:
        """Return all of its patterns."""
        return tuple(dict.fromkeys((*self.patterns, *self.extra)))


ASKED = "asked"
"""What a line of the ledger's story is called that records a question to a person."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the ledger's own story: who did what to which generation of a claim."""

    at: float
    claim: str
    generation: int
    by: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The live claims of one repository as of `revision`, and the ways to find one.

    `epoch` tells a ledger from one that was lost and begun again.
    """

    lane: Lane
    epoch: str = ""
    revision: int = 0
    generation: int = 0
    claims: Mapping[str, LedgerClaim] = field(default_factory=dict)
    roots: Roots = field(default_factory=Roots)
    tasks: Mapping[str, str] = field(default_factory=dict)
    pulls: Mapping[int, str] = field(default_factory=dict)

    def of_pull(self, pr: int) -> LedgerClaim | None:
        """Return the live claim of a pull request."""
        return self.claims.get(self.pulls.get(pr, ""))

    def of_task(self, task: str) -> LedgerClaim | None:
        """Return the live claim of a task, however it is written."""
        return self.claims.get(self.tasks.get(task_key(task, self.lane.repo), ""))

    def of_session(self, proof: str) -> LedgerClaim | None:
        """Return the live claim that a session made; one session makes one."""
        own = (claim for claim in self.claims.values() if proof and claim.proof == proof)
        return next(own, None)

    def rivals(self, patterns: Sequence[str], *, but: str) -> tuple[LedgerClaim, ...]:
        """Return the live claims that share a path with one of `patterns`, at most twenty.

        Exact, by intersecting the patterns' languages; only claims whose literal beginnings agree
        are looked at.
        """
        found: dict[str, LedgerClaim] = {}
        for pattern in parsed(patterns):
            for name in self.roots.near(pattern.folded.root):
                if name == but or name in found:
                    continue
                other = self.claims[name]
                if any(overlaps(pattern, each) for each in parsed(other.every)):
                    found[name] = other
                    if len(found) >= HOLDERS_SHOWN:
                        return tuple(found.values())
        return tuple(found.values())

    def without(self, names: Sequence[str]) -> "Ledger":
        """Return the ledger without the claims called `names`."""
        gone = [self.claims[name] for name in names if name in self.claims]
        return self.with_claims(
            [replace(each, state=Ended(How.RELEASED, "", 0.0)) for each in gone]
        )

    def with_claims(self, changed: Sequence[LedgerClaim]) -> "Ledger":
        """Return the ledger with `changed` put in; ended claims leave it."""
        if not changed:
            return self
        claims, tasks, pulls = dict(self.claims), dict(self.tasks), dict(self.pulls)
        roots = self.roots
        for claim in changed:
            old = claims.pop(claim.id, None)
            if old is not None:
                roots = roots.drop(_roots(old), old.id)
                _forget(tasks, task_key(old.task, self.lane.repo), old.id)
                _forget(pulls, old.pr, old.id)
            if claim.live:
                claims[claim.id] = claim
                roots = roots.add(_roots(claim), claim.id)
                tasks[task_key(claim.task, self.lane.repo)] = claim.id
                if claim.pr:
                    pulls[claim.pr] = claim.id
        return replace(self, claims=claims, roots=roots, tasks=tasks, pulls=pulls)


@dataclass(frozen=True, slots=True)
class Change:
    """What one decision writes, all or nothing, at the revision of the ledger that it was read at."""

    claims: tuple[LedgerClaim, ...]
    notes: tuple[Note, ...]

    @property
    def generation(self) -> int:
        """Return the highest generation given out."""
        return max((claim.generation for claim in self.claims), default=0)


@dataclass(frozen=True, slots=True)
class Ask:
    """A wish to claim: by a session (`proof`) or for a pull request (`pr`)."""

    task: str
    patterns: tuple[str, ...]
    assumes: tuple[str, ...]
    owner: str
    branch: str
    pr: int = 0
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Granted:
    """The claim as it now stands; an empty change where it stood so already."""

    claim: LedgerClaim
    change: Change


@dataclass(frozen=True, slots=True)
class Taken:
    """Why it cannot be had: somebody holds the task or a path of it, or the pool is full."""

    sentence: str
    holders: tuple[LedgerClaim, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a new claim is made with: its name, the time, and how many may live at once (0: any)."""

    id: str
    now: float
    pool: int = 0


def acquire(ledger: Ledger, ask: Ask, terms: Terms) -> Granted | Taken:
    """Decide whether `ask` is granted; a pull request finds its own claim again and renews it."""
    own = _own(ledger, ask)
    holder = ledger.of_task(ask.task)
    if holder is not None and (own is None or holder.id != own.id):
        return Taken(f"the task {ask.task} is claimed already", (holder,))
    wanted = (*ask.patterns, *(own.extra if own else ()))
    rivals = ledger.rivals(wanted, but=own.id if own else "")
    if rivals:
        return Taken(_overlap_sentence(rivals), rivals)
    if own is not None:
        return _renewed(ledger, own, ask, now=terms.now)
    if terms.pool and len(ledger.claims) >= terms.pool:
        return Taken(f"all {terms.pool} places of the pool are taken: an audit may free some", ())
    claim = LedgerClaim(
        id=terms.id,
        task=ask.task,
        owner=ask.owner,
        proof=ask.proof,
        patterns=ask.patterns,
        assumes=ask.assumes,
        branch=ask.branch,
        pr=ask.pr,
        generation=ledger.generation + 1,
        claimed_at=terms.now,
        heard_at=terms.now,
        state=Active(),
    )
    return Granted(claim, changed(claim, "claimed", ", ".join(claim.every), now=terms.now))


def _own(ledger: Ledger, ask: Ask) -> LedgerClaim | None:
    """Return the claim that a pull request renews: its own, or its task's from the same branch.

    A name in a claim confers nothing; only who may push the branch can open its pull request.
    """
    if not ask.pr:
        return None
    own = ledger.of_pull(ask.pr)
    if own is not None:
        return own
    claim = ledger.of_task(ask.task)
    same = claim is not None and not claim.pr and claim.branch and claim.branch == ask.branch
    return claim if same else None


def _renewed(ledger: Ledger, own: LedgerClaim, ask: Ask, *, now: float) -> Granted:
    state = Active() if isinstance(own.state, Suspect) else own.state
    fresh = replace(
        own,
        task=ask.task,
        patterns=ask.patterns,
        assumes=ask.assumes,
        branch=ask.branch,
        pr=ask.pr,
        state=state,
    )
    if fresh == own:
        return Granted(own, Change((), ()))
    material = replace(fresh, state=own.state) != own
    generation = ledger.generation + 1 if material else own.generation
    fresh = replace(fresh, heard_at=now, generation=generation)
    return Granted(fresh, changed(fresh, "renewed", ", ".join(fresh.every), now=now))


def changed(claim: LedgerClaim, what: str, text: str, *, now: float, by: str = "") -> Change:
    """Return the change that puts one claim in and tells of it."""
    return Change((claim,), (Note(now, claim.id, claim.generation, by or claim.owner, what, text),))


def overlapping(ledger: Ledger) -> list[tuple[LedgerClaim, LedgerClaim]]:
    """Return every pair of live claims that share a path: there is none, or something is broken."""
    return [
        (claim, other)
        for claim in ledger.claims.values()
        for other in ledger.rivals(claim.every, but=claim.id)
        if claim.id < other.id
    ]


def parsed(patterns: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the patterns that are valid; others were refused before they came here."""
    return tuple(each for each in map(parse, patterns) if isinstance(each, Pattern))


def proof_of(token: str) -> str:
    """Return what the ledger keeps of a session's token: enough to know it again, not to use it."""
    return hashlib.sha256(token.encode()).hexdigest() if token else ""


def _roots(claim: LedgerClaim) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(each.folded.root for each in parsed(claim.every)))


def _forget(known: dict[Key, str], key: Key, name: str) -> None:
    if known.get(key) == name:
        del known[key]


def _overlap_sentence(rivals: Sequence[LedgerClaim]) -> str:
    who = ", ".join(f"{each.owner} for {each.task}" for each in rivals[:3])
    more = f" and {len(rivals) - 3} more" if len(rivals) > 3 else ""  # noqa: PLR2004 - as above
    return f"some of these files are claimed by {who}{more}"


@dataclass(frozen=True, slots=True)
class Collision:
    """Somebody was refused a claim because of a live one: who, for which task, and what was met."""

    at: float
    owner: str
    task: str
    patterns: tuple[str, ...]
    holder: str
