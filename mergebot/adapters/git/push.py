"""Writing to the remote: the one atomic push of a landing, and the merged commits kept for `repro`.

A landing moves the trunk, adds its receipt to the notes, and moves the author's branch, each from
the value that it was decided on, all of them or none. Whatever is not a clear yes or no is
UNCLEAR: the caller reads the remote back before it concludes anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex

from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.locks import Area, if_free
from mergebot.adapters.git.mirror import fetch_notes, known_notes
from mergebot.adapters.git.notes import (
    noted,
    read_fence,
    read_halt,
    read_receipt,
    receipts_among,
    write_fence,
    write_halt,
    write_notes,
)
from mergebot.adapters.git.porcelain import UNKNOWN, Fate, RefResult, parse, refusal
from mergebot.adapters.git.process import Answer
from mergebot.adapters.git.reading import between, is_ancestor
from mergebot.adapters.git.refs import (
    MIRROR_NOTES,
    NOTES,
    OUTGOING,
    branch_ref,
    candidate_ref,
    mirror_trunk,
    trial_ref,
)
from mergebot.adapters.git.remote import FORK_PUSH, PUSH, Remote, failure
from mergebot.domain.ids import Sha
from mergebot.domain.receipts import Receipt
from mergebot.ports.errors import Barred, Refused, Unavailable
from mergebot.ports.git import Push, PushOutcome

_NOTES_TRIES = 5
"""Of one landing: each other trunk of the repository can take the notes' lease once a moment."""

_OPTIONS = (
    "--porcelain",
    "--no-verify",
    "--no-follow-tags",
    "--recurse-submodules=no",
)


_TWO_FIT = "matches more than one"


@dataclass(frozen=True, slots=True)
class _Move:
    """One ref to move from an expected value; an empty `old` says that it must not exist."""

    ref: str
    old: str
    new: str


class _NotesMoved(Exception):
    """Nothing landed, because another landing wrote its receipt first."""


def push_landing(remote: Remote, push: Push) -> PushOutcome:
    """Land; raises Refused with the server's sentence when it says no to the trunk or the notes."""
    trunk = branch_ref(push.trunk)
    if not is_ancestor(remote.git, push.base, push.merged):
        raise Refused(f"{push.merged} does not contain {push.base}, so it cannot land on it")
    moves = [_Move(trunk, push.base, push.merged)]
    for each in push.all:
        head = branch_ref(each.head_branch) if each.head_branch else trunk
        if head != trunk:
            moves.append(_Move(head, each.head, each.merged))
    notes = known_notes(remote.git)
    try:
        for _ in range(_NOTES_TRIES):
            try:
                return _attempt(remote, push, moves, notes=notes)
            except _NotesMoved:
                notes = fetch_notes(remote)
    except Unavailable:
        return PushOutcome.UNCLEAR
    return PushOutcome.UNCLEAR


def fence(remote: Remote, merged: Sha, generation: int) -> Receipt | None:
    """Settle whether `merged` landed, by moving the ref that every landing has to move.

    Raises Unavailable until the remote has answered clearly, and Refused when it says no.
    """
    for _ in range(_NOTES_TRIES):
        notes = fetch_notes(remote)
        landed = read_receipt(remote.git, merged, tip=notes)
        if landed is not None and landed.generation >= generation:
            return landed
        if read_fence(remote.git, merged, tip=notes) >= generation:
            return None
        written = write_fence(remote.git, merged, generation, onto=notes)
        if _swapped(remote, notes, written):
            return None
    raise Unavailable("the notes of the landings kept moving")


def kept_halt(remote: Remote) -> str:
    """Return the halt that the remote keeps, "" for none."""
    return read_halt(remote.git, tip=fetch_notes(remote))


def replace_halt(remote: Remote, old: str, new: str) -> bool:
    """Keep `new` where `old` is kept; raises Unavailable, and Refused when the remote says no."""
    for _ in range(_NOTES_TRIES):
        notes = fetch_notes(remote)
        if read_halt(remote.git, tip=notes) != old:
            return False
        if old == new:
            return True
        written = write_halt(remote.git, new, onto=notes)
        if _swapped(remote, notes, written):
            return True
    raise Unavailable("the notes of the landings kept moving")


def _swapped(remote: Remote, notes: Sha | None, written: Sha) -> bool:
    """Move the notes from `notes` to `written`, unless they stand elsewhere by now."""
    answer = _push(remote, [_Move(NOTES, notes or "", written)])
    result = parse(answer).get(NOTES, UNKNOWN)
    if result.fate is Fate.DONE and not answer.code:
        _remember(remote.git, {MIRROR_NOTES: written})
        return True
    if result.fate is not Fate.STALE:
        raise _failure(answer, NOTES)
    return False


def _attempt(
    remote: Remote, push: Push, moves: Sequence[_Move], *, notes: Sha | None
) -> PushOutcome:
    if read_fence(remote.git, push.merged, tip=notes) >= push.receipt.generation:
        return PushOutcome.FENCED
    if _repeats(remote.git, push, notes=notes):
        return PushOutcome.REPEATED
    if read_halt(remote.git, tip=notes):
        return PushOutcome.HALTED
    receipts = [(each.merged, each.receipt) for each in push.all]
    written = write_notes(remote.git, receipts, onto=notes)
    answer = _push(remote, [*moves, _Move(NOTES, notes or "", written)])
    outcome = _outcome(answer, moves)
    if outcome is PushOutcome.LANDED:
        _remember(remote.git, {MIRROR_NOTES: written, mirror_trunk(push.trunk): push.merged})
    return outcome


def _repeats(git: GitDir, push: Push, *, notes: Sha | None) -> bool:
    own = [each.merged for each in push.all]
    if noted(git, own, tip=notes):
        return True
    others = [each for each in between(git, push.base, push.merged) if each not in own]
    return any(each.trunk == push.trunk for each in receipts_among(git, others, tip=notes))


def _push(remote: Remote, moves: Sequence[_Move]) -> Answer:
    leases = [f"--force-with-lease={move.ref}:{move.old}" for move in moves]
    with _staged(remote.git, moves) as refspec:
        arguments = ("--atomic", *_OPTIONS, *leases, "--end-of-options", remote.url, refspec)
        return remote.ask("push", *arguments, limits=PUSH)


@contextmanager
def _staged(git: GitDir, moves: Sequence[_Move]) -> Iterator[str]:
    """Give a refspec that moves these refs and no others, whatever else the remote has.

    A plain `sha:refs/heads/main` fails where somebody pushed a branch or a tag that is called
    `refs/heads/main` itself, because git finds two that fit. A pattern names refs in full; over
    HTTP git looks a second time, and `_outcome` says what is in the way.
    """
    room = f"{OUTGOING}/{token_hex(8)}"
    names = [f"{room}/{move.ref.removeprefix('refs/')}" for move in moves]
    lines = "".join(f"create {name} {move.new}\n" for name, move in zip(names, moves, strict=True))
    git.run("update-ref", "--stdin", stdin=lines.encode())
    try:
        yield f"{room}/*:refs/*"
    finally:
        git.ask("update-ref", "--stdin", stdin="".join(f"delete {n}\n" for n in names).encode())


def _outcome(answer: Answer, moves: Sequence[_Move]) -> PushOutcome:
    """Conclude from each ref's fate, the trunk's first; raises Refused or _NotesMoved."""
    results = parse(answer)
    if _TWO_FIT in answer.err:
        raise Barred(f"a branch or tag is called {moves[0].ref}, so git finds two: delete it")
    if not results:
        reason = failure(answer)
        if answer.code and isinstance(reason, Refused):
            raise Barred(str(reason))
        return PushOutcome.UNCLEAR
    trunk, *heads = [results.get(move.ref, UNKNOWN) for move in moves]
    head = max(heads, key=_weight, default=RefResult(Fate.DONE, ""))
    notes = results.get(NOTES, UNKNOWN)
    fates = (trunk.fate, head.fate, notes.fate)
    match fates:
        case (Fate.DONE, Fate.DONE, Fate.DONE):
            return PushOutcome.UNCLEAR if answer.code else PushOutcome.LANDED
        case _ if Fate.UNKNOWN in fates:
            return PushOutcome.UNCLEAR
        case (Fate.STALE, _, _):
            return PushOutcome.TRUNK_MOVED
        # One hook refused everything: without the head branch, the answer is about the trunk.
        case (Fate.DENIED, Fate.DENIED, _):
            return PushOutcome.HEAD_REFUSED
        case (Fate.DENIED, _, _):
            raise Refused(f"The forge refused to move the trunk: {refusal(answer, trunk)}")
        case (_, Fate.STALE | Fate.DENIED, _):
            return PushOutcome.HEAD_REFUSED
        case (_, _, Fate.DENIED):
            raise Refused(f"The forge refused the receipt's ref: {refusal(answer, notes)}")
        # With every ref a bystander the server lost a race it did not name; leases will tell. Refs
        # that are there already are done: only this receipt is told anew.
        case (Fate.BYSTANDER, _, Fate.STALE | Fate.BYSTANDER) | (Fate.DONE, Fate.DONE, Fate.STALE):
            raise _NotesMoved
        case _:
            return PushOutcome.UNCLEAR


def _weight(result: RefResult) -> int:
    """Rank the fates of several head branches: the worst one speaks for all."""
    return (Fate.DONE, Fate.BYSTANDER, Fate.DENIED, Fate.STALE, Fate.UNKNOWN).index(result.fate)


def _remember(git: GitDir, tips: Mapping[str, Sha]) -> None:
    lines = "".join(f"update {ref} {sha}\n" for ref, sha in tips.items())
    # Only a short cut for the next fetch: not worth waiting for one that is under way.
    with if_free(git, Area.FETCHED) as free:
        if free:
            git.ask("update-ref", "--stdin", stdin=lines.encode())


def push_fork(remote: Remote, branch: str, *, old: Sha, new: Sha) -> None:
    """Move a fork's branch by lease; raises Refused or Unavailable where it did not move."""
    move = _Move(branch_ref(branch), old, new)
    with _staged(remote.git, [move]) as refspec:
        lease = f"--force-with-lease={move.ref}:{old}"
        arguments = (*_OPTIONS, lease, "--end-of-options", remote.url, refspec)
        answer = remote.ask("push", *arguments, limits=FORK_PUSH)
    if parse(answer).get(move.ref, UNKNOWN).fate is Fate.STALE:
        raise Refused("The fork's branch is not where it was")
    if answer.code:
        raise _failure(answer, move.ref)


def push_trial(remote: Remote, pull: int, merged: Sha) -> None:
    """Publish a merged commit on a branch, where CI runs on pushes."""
    _overwrite(remote, merged, trial_ref(pull))


def drop_trial(remote: Remote, pull: int) -> None:
    """Remove that branch; one that is not there is no error."""
    _drop(remote, trial_ref(pull))


def keep_candidate(remote: Remote, pull: int, merged: Sha) -> None:
    """Publish a merged commit where `repro` and statuses find it."""
    _overwrite(remote, merged, candidate_ref(pull))


def drop_candidate(remote: Remote, pull: int) -> None:
    """Remove a published merged commit; one that is not there is no error."""
    _drop(remote, candidate_ref(pull))


def _drop(remote: Remote, ref: str) -> None:
    answer = remote.ask("push", *_OPTIONS, "--end-of-options", remote.url, f":{ref}", limits=PUSH)
    if answer.code and "remote ref does not exist" not in answer.err:
        raise _failure(answer, ref)


def _overwrite(remote: Remote, merged: Sha, ref: str) -> None:
    with _staged(remote.git, [_Move(ref, "", merged)]) as refspec:
        arguments = ("--end-of-options", remote.url, f"+{refspec}")
        answer = remote.ask("push", *_OPTIONS, *arguments, limits=PUSH)
    if answer.code:
        raise _failure(answer, ref)


def _failure(answer: Answer, ref: str) -> Unavailable | Refused:
    result = parse(answer).get(ref, UNKNOWN)
    if result.fate is Fate.DENIED:
        return Refused(f"The forge refused {ref}: {refusal(answer, result)}")
    return failure(answer)
