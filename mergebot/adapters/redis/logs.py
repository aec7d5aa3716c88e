"""Gate output on Redis: its start and its end, with what lies between counted and dropped."""

from secrets import token_hex

from redis import Redis

from mergebot.adapters.record import log_view
from mergebot.adapters.redis.keys import LaneKeys
from mergebot.adapters.redis.server import Script, Server, Word
from mergebot.domain.ids import Lane
from mergebot.domain.limits import LOG_BYTES_MAX, LOG_KEEP_S

_APPEND = Script("log_append")
_READ = Script("log_read")


class RedisLogs:
    """The output of gate runs. Its errors are Unavailable."""

    def __init__(self, client: Redis) -> None:
        self._server = Server(client)

    def append(self, lane: Lane, run: str, data: bytes) -> None:
        """Add output; what exceeds the cap is dropped in the middle."""
        if data:
            words: list[Word] = [data, LOG_BYTES_MAX // 2, token_hex(8), LOG_KEEP_S]
            self._server.run(_APPEND, LaneKeys(lane).log(run), words)

    def read(self, lane: Lane, run: str, *, offset: int = 0) -> tuple[bytes, int]:
        """Return output from `offset` on, and the offset to go on from.

        Offsets count the bytes that were ever written; inside the part that was dropped, one line
        says how many of them are missing, and the output goes on behind them.
        """
        head, tail, cut = self._server.run(_READ, LaneKeys(lane).log(run))
        return log_view(head or b"", tail or b"", cut=int(cut or 0), offset=offset)
