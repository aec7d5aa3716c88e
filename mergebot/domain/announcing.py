"""What is told to people outside the forge, and what of it was told already."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from mergebot.domain.candidate import Candidate, Ejected, Landed, ended_at
from mergebot.domain.ids import short
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import Note
from mergebot.domain.markdown import one_line
from mergebot.domain.views import halted_view
from mergebot.domain.wording import from_iso, listed

TRIES_MAX = 5
"""Before a message is given up: a receiver that is away for long needs no old news."""

KEYS_MAX = 1000
"""Messages that are known to have been told; older ones are told by their age alone."""

TITLE_CHARS_MAX = 120


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing to tell; `key` is its identity, and `pr` is 0 where it is about the whole queue."""

    event: str
    key: str
    at: float
    text: str
    pr: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What one receiver was told of a lane: nothing from before `since`, and these messages.

    `halt` is the halt under way as far as it was seen; `tries` counts failures of the next message.
    """

    since: float
    keys: tuple[str, ...] = ()
    halt: str = ""
    tries: int = 0

    def text(self) -> str:
        """Return it as a line that `told_in` reads."""
        return json.dumps([self.since, self.keys, self.halt, self.tries])

    def after(self, told: Happening) -> "Told":
        """Return it once a message was told, or given up."""
        return replace(self, keys=(*self.keys, told.key)[-KEYS_MAX:], tries=0)


def told_in(text: str | None, now: float) -> Told:
    """Return what was told; where nobody remembers, everything up to now counts as told."""
    if not text:
        return Told(now)
    since, keys, halt, tries = json.loads(text)
    return Told(since, tuple(keys), halt, tries)


def happenings(
    snapshot: Snapshot, ended: Iterable[Candidate], asked: Sequence[Note], *, told: Told
) -> tuple[list[Happening], Told]:
    """Return what may be told by now, oldest first, and `told` with the halt as it is."""
    found = [each for candidate in ended if (each := _of(candidate)) is not None]
    found += _questions(asked)
    view = halted_view(snapshot)
    halt = f"halted:{view['since']}" if view else ""
    if view is not None:
        text = f"nothing lands on {snapshot.lane.trunk}: {one_line(str(view['reason']))}"
        found.append(Happening("halted", halt, from_iso(str(view["since"])), text))
    elif told.halt:
        text = f"{snapshot.lane.trunk} is free again"
        found.append(Happening("resumed", f"resumed:{told.halt}", snapshot.now, text))
    return sorted(found, key=lambda each: each.at), replace(told, halt=halt)


def untold(found: Iterable[Happening], told: Told, events: Collection[str]) -> list[Happening]:
    """Return what is wanted and was not told yet."""
    known = set(told.keys)
    return [
        each
        for each in found
        if each.event in events and each.at >= told.since and each.key not in known
    ]


def _of(candidate: Candidate) -> Happening | None:
    state, pr = candidate.state, candidate.pr
    title = one_line(candidate.proposal.title, TITLE_CHARS_MAX)
    key = f"{pr}:{candidate.attempt}"
    match state:
        case Landed(merge=merge):
            text = f"#{pr} {title} landed as {short(merge.merged)}"
            return Happening("landed", f"landed:{key}", ended_at(state), text, pr)
        case Ejected(reason=reason):
            text = f"#{pr} {title} came back: {reason.words}"
            return Happening("ejected", f"ejected:{key}", ended_at(state), text, pr)
        case _:
            return None


def _questions(asked: Sequence[Note]) -> list[Happening]:
    by_time: dict[float, list[str]] = {}
    for note in asked:
        by_time.setdefault(note.at, []).append(one_line(note.text))
    return [
        Happening(
            "escalated", f"escalated:{at}", at, f"a person is asked about {listed(tuple(of))}"
        )
        for at, of in by_time.items()
    ]
