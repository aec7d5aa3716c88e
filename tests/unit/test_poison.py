"""Work that breaks its worker, over the memory ports; ports that it never reaches are left out."""

from typing import Any, cast

from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.leases import MemoryLeases
from mergebot.adapters.memory.runs import MemoryRuns
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.lane import LaneState
from mergebot.domain.limits import STARTS_MAX
from mergebot.domain.news import Ignored, News
from mergebot.ports.store import Commit
from mergebot.services.intake import drain
from mergebot.services.parts import Parts
from mergebot.services.tick import TICK, tick
from tests.support.builders import LANE


class Room:
    """A clock, a bell that nobody hears, and the ports between them."""

    def __init__(self) -> None:
        self.time = 1_000_000.0
        runs = MemoryRuns()
        self.store = MemoryStore(self, runs)
        self.inbox = MemoryInbox(self)
        absent: Any = None
        given = {"store": self.store, "inbox": self.inbox, "runs": runs, "clock": self}
        given |= {"leases": MemoryLeases(self), "doorbell": self, "read_news": self.read}
        names = [name for name in Parts.__slots__ if name not in given]
        self.parts = Parts(**cast("dict[str, Any]", given | dict.fromkeys(names, absent)))

    def now(self) -> float:
        return self.time

    def tick(self, lane: object) -> None:
        """Hear nothing."""

    def publish(self, lane: object) -> None:
        """Hear nothing."""

    def read(self, event: str, body: bytes) -> News:
        if body == b"poison":
            raise ZeroDivisionError
        return Ignored("nothing to do")


def test_a_delivery_that_breaks_its_worker_is_set_aside_and_the_others_go_on() -> None:
    room = Room()
    for guid, body in (("g1", b"poison"), ("g2", b"fine")):
        room.inbox.put(guid, "push", body)

    drain(room.parts)
    assert [each.guid for each in room.inbox.take(limit=9)] == ["g1"]

    for _ in range(STARTS_MAX):
        drain(room.parts)
    assert (room.inbox.depth(), room.inbox.aside()) == (0, 1)


def test_an_unexpected_mistake_in_a_tick_is_the_lanes_reason_to_wait() -> None:
    room = Room()
    room.store.commit(room.store.read(LANE), Commit(LaneState()))

    tick(room.parts, LANE)

    assert "mergebot made a mistake here" in room.store.read(LANE).state.waiting


def test_a_lane_whose_ticks_kill_their_workers_is_left_alone_for_a_while() -> None:
    room = Room()
    room.store.commit(room.store.read(LANE), Commit(LaneState()))
    for _ in range(STARTS_MAX):
        room.store.begin(LANE, TICK)

    tick(room.parts, LANE)
    assert "killed 3 workers" in room.store.read(LANE).state.waiting

    room.time += 601
    tick(room.parts, LANE)
    assert "mergebot made a mistake here" in room.store.read(LANE).state.waiting
