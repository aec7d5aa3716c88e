"""Green results on Redis, each under a key that expires by itself."""

from collections.abc import Mapping, Sequence

from mergebot.adapters.redis.codec import decode, encode
from mergebot.adapters.redis.keys import LaneKeys
from mergebot.adapters.redis.server import Server
from mergebot.domain.ids import Lane
from mergebot.domain.keeping import KeptStep, KeptVerdict
from mergebot.domain.limits import RESULTS_KEEP_S


class RedisKept:
    """What workers saw pass. Its errors are Unavailable and Unreadable."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def kept_verdict(self, lane: Lane, name: str) -> KeptVerdict | None:
        """Return the verdict kept by this name."""
        key = LaneKeys(lane).kept(name)
        found = self._server.ask(lambda client: client.get(key))
        return decode(KeptVerdict, found, where=key) if found else None

    def kept_steps(self, lane: Lane, names: Sequence[str]) -> Mapping[str, KeptStep]:
        """Return the step results kept by these names, as far as there are any."""
        keys = [LaneKeys(lane).kept(name) for name in names]
        found = self._server.ask(lambda client: client.mget(keys)) if keys else []
        return {
            name: decode(KeptStep, text, where=key)
            for name, key, text in zip(names, keys, found, strict=True)
            if text
        }

    def keep_verdict(self, lane: Lane, kept: KeptVerdict) -> None:
        """Keep a verdict by its name."""
        self._set(LaneKeys(lane).kept(kept.name), encode(KeptVerdict, kept))

    def keep_steps(self, lane: Lane, kept: Mapping[str, KeptStep]) -> None:
        """Keep step results by their names."""
        for name, each in kept.items():
            self._set(LaneKeys(lane).kept(name), encode(KeptStep, each))

    def _set(self, key: str, text: str) -> None:
        self._server.ask(lambda client: client.set(key, text, ex=RESULTS_KEEP_S))
