"""Who asked for what, and who might do what when: told by people's acts, not by the bot."""

from dataclasses import dataclass, field

from mergebot.adapters.memory.hosting import Hosting
from mergebot.domain.ids import Actor, Sha
from mergebot.domain.news import CommentMade, LabelSet, News
from mergebot.domain.pulls import Permission
from tests.simulation.people import FIX, QUEUE
from tests.simulation.stage import Stage

ASKS = ("@mergebot queue", "@mergebot retry")


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asked to land `head` of `pr`."""

    at: float
    pr: int
    head: Sha
    who: int


@dataclass(slots=True)
class Asking:
    """Everything that people asked for, and the rights that everybody had."""

    stage: Stage
    hosting: Hosting
    bot: Actor
    asked: list[Asked] = field(default_factory=list)
    rights: list[tuple[float, dict[int, Permission]]] = field(default_factory=list)

    def news(self, news: News) -> None:
        """Hear what happened on the forge, at the moment it happens."""
        match news:
            case LabelSet(label=label, actor=actor, pull=pull):
                if actor != self.bot and label in (QUEUE, FIX):
                    self._ask(pull.number, pull.head, actor)
            case CommentMade(author=author, number=number, body=body):
                if author != self.bot and body.startswith(ASKS):
                    self._ask(number, self.hosting.pulls[number].head, author)
            case _:
                return

    def _ask(self, pr: int, head: Sha, who: Actor) -> None:
        self.asked.append(Asked(self.stage.clock.now(), pr, head, who.id))

    def note_rights(self) -> None:
        """Note what everybody may do from now on."""
        self.rights.append((self.stage.clock.now(), dict(self.hosting.people)))

    def may(self, who: int, since: float) -> Permission:
        """Return the most that somebody might do at any time since then."""
        before = [rights for at, rights in self.rights if at <= since][-1:]
        after = [rights for at, rights in self.rights if at >= since]
        return max(each.get(who, Permission.NONE) for each in (*before, *after))

    def by_whom(self, pr: int, head: Sha) -> Permission:
        """Return the most that anybody who asked for this very head might do since they asked."""
        asked = [each for each in self.asked if (each.pr, each.head) == (pr, head)]
        return max((self.may(each.who, each.at) for each in asked), default=Permission.NONE)
