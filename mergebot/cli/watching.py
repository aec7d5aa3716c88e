"""Noticing parts that run and do nothing: each gives a sign that changes while it makes progress."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from mergebot.ports.errors import Unavailable

PATIENCE_DOUBLED_MAX = 4
"""How often a part that was restarted in vain is given twice the time: a busy host may only be slow."""

LOOK_S = 5.0
"""How often the signs are read; one look may take as long as an answer that does not come."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What a part shows of itself; it is silent once `read` gave the same for `patience_s`.

    One that stays silent after a restart gets twice the time before the next, up to sixteen times:
    where the whole host is slow, restarting is what keeps it from ever coming up.
    `read` raises Unavailable where nobody can tell, which is held against nobody.
    """

    part: str
    read: Callable[[], object]
    patience_s: float


@dataclass(slots=True)
class Watch:
    """Restarts silent parts. Times are by a clock that stands still while the machine sleeps."""

    signs: Sequence[Sign]
    restart: Callable[[str], object]
    now: Callable[[], float] = monotonic
    _seen: dict[str, tuple[object, float]] = field(default_factory=dict)
    _vain: dict[str, int] = field(default_factory=dict)
    _next: float = 0.0

    def look(self) -> None:
        """Read the signs, unless that was done a moment ago, and restart who is silent."""
        if self.now() < self._next:
            return
        for sign in self.signs:
            self._look_at(sign)
        self._next = self.now() + LOOK_S

    def _look_at(self, sign: Sign) -> None:
        try:
            value = sign.read()
        except Unavailable:
            self._seen.pop(sign.part, None)
            return
        before, since = self._seen.get(sign.part, (None, self.now()))
        vain = self._vain.get(sign.part, 0)
        if sign.part not in self._seen:
            self._seen[sign.part] = value, self.now()
        elif value != before:
            self._seen[sign.part] = value, self.now()
            self._vain.pop(sign.part, None)
        elif self.now() - since > sign.patience_s * 2 ** min(vain, PATIENCE_DOUBLED_MAX):
            self.restart(sign.part)
            self._vain[sign.part] = vain + 1
            self._seen[sign.part] = value, self.now()
