"""Notifications: what happened in the lanes, told to receivers outside, beside everything else.

It only reads the record, in a thread of its own: a receiver that is slow or gone delays no landing.
A message may come twice, under the same id, where nobody knows whether the first one was heard.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import structlog

from mergebot.domain.announcing import TRIES_MAX, Happening, Told, happenings, told_in, untold
from mergebot.domain.ids import Lane
from mergebot.domain.limits import LANE_LEASE_S
from mergebot.ports.errors import Unavailable
from mergebot.ports.herald import Herald, Notebook
from mergebot.services.parts import Parts

log = structlog.get_logger()

ENDED_SEEN = 200
"""Ended candidates that one round looks at; more between two rounds are told of on the page."""

AT_ONCE_MAX = 20
KEEP_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Announcer:
    """Tells each receiver, by its name, of those events that are wanted."""

    parts: Parts
    notebook: Notebook
    heralds: Mapping[str, Herald]
    events: Collection[str]

    def go_round(self) -> None:
        """Tell what is new in every lane; raises Unavailable when the record cannot be read."""
        for lane in self.parts.store.lanes():
            resource = f"announce:{lane.key}"
            lease = self.parts.leases.acquire(resource, ttl_s=LANE_LEASE_S, purpose="announce")
            if lease is None:
                continue
            try:
                for name, herald in self.heralds.items():
                    self._tell(lane, name, herald)
            finally:
                self.parts.leases.release(lease)

    def _tell(self, lane: Lane, name: str, herald: Herald) -> None:
        parts, note = self.parts, f"told:{name}:{lane.key}"
        told = told_in(self.notebook.get(note), parts.clock.now())
        ended, asked = parts.store.ended(lane, limit=ENDED_SEEN), parts.ledger.asked(lane)
        found, told = happenings(parts.store.read(lane), ended, asked, told=told)
        for each in untold(found, told, self.events)[:AT_ONCE_MAX]:
            heard = _heard(herald, lane, each)
            told = told.after(each) if heard else _failed(told, each)
            if not heard:
                break
        self.notebook.put(note, told.text(), KEEP_S)


def _heard(herald: Herald, lane: Lane, happening: Happening) -> bool:
    try:
        herald.tell(lane, happening)
    except Unavailable as error:
        log.warning("announcement_waits", lane=lane.repo, key=happening.key, why=str(error))
        return False
    return True


def _failed(told: Told, happening: Happening) -> Told:
    if told.tries + 1 < TRIES_MAX:
        return replace(told, tries=told.tries + 1)
    log.warning("announcement_given_up", key=happening.key)
    return told.after(happening)
