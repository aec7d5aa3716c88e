"""The outbox half of the store on Redis: effects by key, each with its version and its tries."""

from collections.abc import Sequence

from mergebot.adapters.redis.codec import Unreadable, decoder
from mergebot.adapters.redis.keys import LaneKeys
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.adapters.redis.writes import effect_value
from mergebot.domain.effects import Effect
from mergebot.domain.ids import Lane
from mergebot.ports.store import Due

_DUE = Script("due")
_SETTLE = Script("settle")


class RedisEffects:
    """What the queue wants done in the world and has not seen done yet."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def due_effects(self, lane: Lane, now: float, *, limit: int) -> Sequence[Due]:
        """Return effects whose time has come, the longest waiting first."""
        keys = LaneKeys(lane)
        found = self._server.run(_DUE, [keys("due"), keys("effects")], [repr(now), max(limit, 0)])
        return [_read(value, where=keys("effects")) for value in found]

    def settle_effect(self, lane: Lane, due: Due) -> None:
        """Take a done effect out, unless a newer one replaced it meanwhile."""
        keys = LaneKeys(lane)
        words: list[Word] = [due.effect.key, due.version]
        self._server.run(_SETTLE, [keys("due"), keys("effects")], words)

    def delay_effect(self, lane: Lane, due: Due, until: float) -> None:
        """Put an effect that failed back until a later time, counting the try."""
        keys = LaneKeys(lane)
        value = effect_value(due.effect, version=due.version, tries=due.tries + 1)
        words: list[Word] = [due.effect.key, due.version, value, repr(until)]
        self._server.run(_SETTLE, [keys("due"), keys("effects")], words)

    def lagging(self, lane: Lane) -> Sequence[Due]:
        """Return effects that have failed at least once and still wait, by key."""
        key = LaneKeys(lane)("effects")
        found = self._server.ask(lambda client: client.hvals(key))
        waiting = [_read(value, where=key) for value in found]
        return sorted((due for due in waiting if due.tries), key=lambda due: due.effect.key)


def _read(value: bytes, *, where: str) -> Due:
    match value.split(b":", 2):
        case [version, tries, text] if version.isdigit() and tries.isdigit():
            return Due(decoder(Effect, where=where)(text), int(version), int(tries))
        case _:
            raise Unreadable(f"the record in {where} is {value[:80]!r}, not an effect")
