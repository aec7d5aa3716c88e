"""Halts that outlive Redis: kept in git beside the receipts, where every landing meets them.

The record decides, and git remembers: the outbox brings git up to the record, a rebuild takes back
what git remembers, and a push finds a halt that the record has lost. A halt that was ended in the
record is told from one that it lost by when somebody resumed last.
"""

from mergebot.domain.decision import Decision
from mergebot.domain.effects import KeepHalt
from mergebot.domain.halting import halt_text, read_halt
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Halt
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Git
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts


def keep_halt(parts: Parts, git: Git, lane: Lane) -> None:
    """Let git remember what the record says; raises Unavailable, Refused."""
    kept = git.halt()
    state = parts.store.read(lane).state
    if state.halt is None and _lost(read_halt(kept), state.resumed_at):
        meet_halt(parts, git, lane)
        return
    wanted = halt_text(state.halt)
    if kept != wanted and not git.replace_halt(kept, wanted):
        raise Unavailable("the halt beside the receipts changed meanwhile")


def meet_halt(parts: Parts, git: Git, lane: Lane) -> str:
    """Take back a halt that git remembers and the record has lost, else bring git up to it.

    Return why the record has to be read again.
    """
    kept = read_halt(git.halt())
    decide(parts, lane, lambda decision: taken_back(decision, kept))
    return "git remembers a halt"


def taken_back(decision: Decision, kept: Halt | None) -> Decision:
    """Return the decision with the halt that git remembers, where the record lost it."""
    state = decision.snapshot.state
    if state.halt is not None or not _lost(kept, state.resumed_at):
        return decision.want(KeepHalt()) if kept is not None else decision
    text = f"{kept.by} halted: {kept.reason}" if kept is not None else ""
    return decision.lane(halt=kept).tell("halted", f"{text} (read back from git)")


def _lost(kept: Halt | None, resumed_at: float) -> bool:
    """Tell whether a halt that git remembers was never ended, as far as the record knows."""
    return kept is not None and (not resumed_at or kept.since > resumed_at)
