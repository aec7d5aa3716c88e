"""What people did by hand: who, what, when, kept beside the story and told to the log."""

from dataclasses import dataclass

import structlog

from mergebot.domain.ids import Actor, Lane
from mergebot.domain.story import AUDIT
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody did: `pr` is 0 for the lane itself, `why` in their own words."""

    by: Actor
    what: str
    pr: int = 0
    why: str = ""

    @property
    def text(self) -> str:
        """Return it as one line; people are told apart by number, since logins change hands."""
        about = f" #{self.pr}" if self.pr else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.by.login} (id {self.by.id}){about}{why}"


def note(parts: Parts, lane: Lane, deed: Deed) -> None:
    """Keep a deed in the lane's audit; raises Unavailable."""
    log.info("by_hand", lane=lane.repo, what=deed.what, by=deed.by.id, pr=deed.pr, why=deed.why)
    decide(parts, lane, lambda decision: decision.tell(deed.what, deed.text, pr=AUDIT))
