"""What may happen to a claim after it was made: who may do it, and at which generation.

A session acts by its token and the exact generation it was given; an overseer is somebody that the
door has found to be allowed. Neither a name, a process nor a host confers anything.
"""

from dataclasses import dataclass, replace

from mergebot.domain.claims import ClaimFaults, NoBlock
from mergebot.domain.ledger import (
    Active,
    Change,
    Ended,
    Granted,
    How,
    Ledger,
    LedgerClaim,
    Parked,
    Standing,
    Suspect,
    Taken,
    changed,
)
from mergebot.domain.names import shown


@dataclass(frozen=True, slots=True)
class Session:
    """Whoever holds the token with the digest `proof`, at the generation that they know of."""

    proof: str
    generation: int


@dataclass(frozen=True, slots=True)
class Overseer:
    """Somebody whom the door allowed, called `login`; `generation` is 0 where they named none."""

    login: str
    generation: int = 0


Right = Session | Overseer


@dataclass(frozen=True, slots=True)
class Denied:
    """Why it may not be, in one sentence; `gone` where there is no such live claim."""

    sentence: str
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """The claim as it now stands, and what is to be written; an empty change where it stood so."""

    claim: LedgerClaim
    change: Change


@dataclass(frozen=True, slots=True)
class Release:
    """End it: the work is over or given up."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Park:
    """Keep it while nobody works on it."""

    reason: str
    review_at: float


@dataclass(frozen=True, slots=True)
class Unpark:
    """Work on it again."""


@dataclass(frozen=True, slots=True)
class Renew:
    """Say that its owner lives."""


@dataclass(frozen=True, slots=True)
class Extend:
    """Add patterns; `branch` replaces the claim's where it is not empty."""

    patterns: tuple[str, ...]
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Give it to another session, which alone may act on it from then on."""

    owner: str
    proof: str


Deed = Release | Park | Unpark | Renew | Extend | Reclaim


def act(
    ledger: Ledger, name: str, deed: Deed, right: Right, *, now: float
) -> Done | Denied | Taken:
    """Decide a deed on the live claim called `name`."""
    claim = ledger.claims.get(name)
    if claim is None:
        return Denied(f"there is no live claim {name}", gone=True)
    denied = _denied(claim, deed, right)
    if denied:
        return Denied(denied)
    by = right.login if isinstance(right, Overseer) else claim.owner
    match deed:
        case Release(reason):
            evidence = f"released by {by}" + (f": {reason}" if reason else "")
            return _put(ledger, claim, Ended(How.RELEASED, evidence, now), evidence, by=by, now=now)
        case Park(reason, review_at):
            state = Parked(by, reason, review_at)
            return _put(ledger, claim, state, f"parked: {reason}", by=by, now=now)
        case Unpark():
            if not isinstance(claim.state, Parked):
                return Done(claim, Change((), ()))
            return _put(ledger, claim, Active(), "unparked", by=by, now=now)
        case Renew():
            return _renew(claim, now=now)
        case Extend(patterns, branch):
            return _extend(ledger, claim, patterns, branch=branch, by=by, now=now)
        case Reclaim(owner, proof):
            heir = replace(claim, owner=owner, proof=proof)
            text = f"reclaimed from {claim.owner} for {owner}"
            return _put(ledger, heir, Active(), text, by=by, now=now)


def end(ledger: Ledger, claim: LedgerClaim, how: How, evidence: str, *, now: float) -> Done:
    """End a claim by evidence that the caller has gathered."""
    return _put(ledger, claim, Ended(how, evidence, now), evidence, by="mergebot", now=now)


def carried(ledger: Ledger, pr: int, branch: str, *, now: float) -> Granted | ClaimFaults | NoBlock:
    """Let a pull request without a block take over the claim that a session made for its branch.

    Only who may push the branch can open its pull request; `branch` is "" for one of a fork.
    """
    own = ledger.of_pull(pr)
    if own is not None:
        return Granted(own, Change((), ())) if own.proof else NoBlock()
    made = [each for each in ledger.claims.values() if each.branch == branch and not each.pr]
    if not branch or not made:
        return NoBlock()
    if len(made) > 1:
        tasks = ", ".join(sorted(shown(each.task) for each in made))
        return ClaimFaults(
            (f"several claims name its branch ({tasks}): write one of the tasks in a block",)
        )
    (claim,) = made
    state: Standing = Active() if isinstance(claim.state, Suspect) else claim.state
    return granted(
        _put(ledger, replace(claim, pr=pr), state, f"taken over by #{pr}", by=claim.owner, now=now)
    )


def suspect(claim: LedgerClaim, why: str, *, now: float) -> Done:
    """Raise the flag on an active claim; its generation and what it excludes stay as they are."""
    if not isinstance(claim.state, Active):
        return Done(claim, Change((), ()))
    flagged = replace(claim, state=Suspect(now, why))
    return Done(flagged, changed(flagged, "suspect", why, now=now, by="mergebot"))


def granted(done: Done) -> Granted:
    """Return a deed's outcome as what an acquisition returns."""
    return Granted(done.claim, done.change)


def _denied(claim: LedgerClaim, deed: Deed, right: Right) -> str:
    known = right.generation
    if known and known != claim.generation:
        return (
            f"the claim {claim.id} is at generation {claim.generation}, not {known}: "
            "somebody changed it since, so read it again"
        )
    if isinstance(right, Session):
        if not right.proof or right.proof != claim.proof:
            return f"this token does not own the claim {claim.id}; a name or host confers nothing"
        if not known:
            return f"name the generation of the claim {claim.id} that you were given"
        if isinstance(deed, Reclaim):
            return "only an admin reclaims a claim from its owner"
    if isinstance(deed, Reclaim):
        if isinstance(claim.state, Parked):
            return f"the claim {claim.id} is parked: it is reclaimed only after it was unparked"
        if not known:
            return f"name the exact generation of the claim {claim.id} that you reclaim"
    if isinstance(deed, Park) and not deed.reason.strip():
        return "parking needs a reason: people will ask"
    return ""


def _renew(claim: LedgerClaim, *, now: float) -> Done:
    """Note that the owner lives: this fences nobody, so the generation stays."""
    state: Standing = Active() if isinstance(claim.state, Suspect) else claim.state
    heard = replace(claim, heard_at=now, state=state)
    if state == claim.state:
        return Done(heard, Change((heard,), ()))
    return Done(heard, changed(heard, "renewed", "its owner was heard of again", now=now))


def _extend(
    ledger: Ledger,
    claim: LedgerClaim,
    patterns: tuple[str, ...],
    *,
    branch: str,
    by: str,
    now: float,
) -> Done | Taken:
    fresh = tuple(each for each in patterns if each not in claim.every)
    if not fresh and branch in {"", claim.branch}:
        return Done(claim, Change((), ()))
    rivals = ledger.rivals(fresh, but=claim.id)
    if rivals:
        who = ", ".join(f"{each.owner} for {each.task}" for each in rivals[:3])
        return Taken(f"some of these files are claimed by {who}", rivals)
    wider = replace(claim, extra=(*claim.extra, *fresh), branch=branch or claim.branch)
    state: Standing = Active() if isinstance(claim.state, Suspect) else claim.state
    return _put(ledger, wider, state, f"extended by {', '.join(fresh)}", by=by, now=now)


def _put(
    ledger: Ledger, claim: LedgerClaim, state: Standing, text: str, *, by: str, now: float
) -> Done:
    """Return the claim in `state` under the ledger's next generation."""
    fresh = replace(claim, state=state, generation=ledger.generation + 1, heard_at=now)
    what = type(state).__name__.lower()
    return Done(fresh, changed(fresh, what, text, now=now, by=by))
