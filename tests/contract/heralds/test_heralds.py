"""Notifications as they arrive: at a real HTTP receiver, which may be slow, gone or unfriendly."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from mergebot.adapters.heralds import ChatHerald, SignedHerald
from mergebot.domain.announcing import TRIES_MAX, Happening, Told, happenings
from mergebot.domain.ids import Lane
from mergebot.domain.ledger import ASKED, Note
from mergebot.domain.story import EVENTS, QUIET
from mergebot.ports.errors import Unavailable
from mergebot.ports.herald import Herald
from mergebot.services.announcing import Announcer
from tests.contract.github.scripted import Act, Reply, Reset, Scripted, scripted
from tests.support.world import KIM, World
from tests.support.world import LANE as LANE_OF_WORLD

SECRET = "the secret of the receiver"
PAGES = "https://queue.example"
LANE = Lane(5, "o/r", "main")
LANDED = Happening("landed", "landed:7:1", 1_800_000_000.0, "#7 Fix it landed as ccccccc", 7)


@pytest.fixture
def receiver() -> Iterator[Scripted]:
    with scripted() as told:
        told.on("POST", "/in", Reply(200, b"ok"))
        yield told


@dataclass
class Notes:
    """A notebook of this test's own."""

    kept: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        return self.kept.get(name)

    def put(self, name: str, text: str, ttl_s: float) -> None:
        self.kept[name] = text


def signed(receiver: Scripted) -> SignedHerald:
    return SignedHerald(f"{receiver.url}/in", SECRET, PAGES)


def announcer(world: World, herald: Herald, events: tuple[str, ...] = EVENTS) -> Announcer:
    made = Announcer(world.parts, Notes(), {"signed": herald}, events)
    made.go_round()
    return made


def told(receiver: Scripted) -> list[tuple[str, int | None]]:
    return [(each.content["event"], each.content["pr"]) for each in receiver.seen]


def test_a_signed_message_says_what_happened_where_and_proves_who_speaks(
    receiver: Scripted,
) -> None:
    signed(receiver).tell(LANE, LANDED)
    (seen,) = receiver.seen
    digest = hmac.new(SECRET.encode(), json.dumps(seen.content).encode(), hashlib.sha256)
    assert seen.headers["x-mergebot-signature-256"] == f"sha256={digest.hexdigest()}"
    assert seen.content == {
        "v": 1,
        "id": f"{LANE.key}:landed:7:1",
        "event": "landed",
        "at": "2027-01-15T08:00:00Z",
        "repo": "o/r",
        "trunk": "main",
        "pr": 7,
        "text": "#7 Fix it landed as ccccccc",
        "url": "https://queue.example/o/r/pull/7",
    }


def test_a_chat_gets_one_sentence_in_which_nothing_rings_or_links(receiver: Scripted) -> None:
    hostile = "#7 <!channel> <https://evil.example|here> @all & more"
    ChatHerald(f"{receiver.url}/in", PAGES).tell(LANE, Happening("ejected", "k", 1.0, hostile, 7))
    (seen,) = receiver.seen
    first, page = seen.content["text"].split("\n")
    assert first.startswith("o/r: #7 &lt;!channel&gt; &lt;https://evil.example|here&gt; ")
    assert "@all" not in first
    assert page == "https://queue.example/o/r/pull/7"


@pytest.mark.parametrize(
    "act",
    [Reset(), Reply(500), Reply(404), Reply(302, None, {"Location": "http://169.254.169.254/"})],
)
def test_what_is_not_heard_is_told_apart_and_the_address_is_told_to_nobody(
    receiver: Scripted, act: Act
) -> None:
    receiver.on("POST", "/in", act)
    herald = signed(receiver)
    with pytest.raises(Unavailable) as trouble:
        herald.tell(LANE, LANDED)
    assert receiver.url not in str(trouble.value) + repr(herald)
    assert SECRET not in repr(herald)
    assert trouble.value.__cause__ is None
    assert len(receiver.seen) == 1, "redirects are not followed, and nothing is sent twice"


def test_everything_that_happens_is_told_once_in_order(receiver: Scripted) -> None:
    world = World()
    speaker = announcer(world, signed(receiver))
    good, bad = world.opens_pr(), world.opens_pr()
    world.labels(good)
    world.runs_until_quiet()
    world.says(good, "@mergebot halt a release is being cut", who=KIM)
    world.runs_until_quiet()
    for _ in range(3):
        speaker.go_round()
    assert told(receiver) == [("landed", good), ("halted", None)]
    world.says(bad, "@mergebot resume it is out", who=KIM)
    world.runs_until_quiet()
    speaker.go_round()
    speaker.go_round()
    assert told(receiver)[2:] == [("resumed", None)]
    assert "a release is being cut" in receiver.seen[1].content["text"]


def test_a_question_to_a_person_is_told_with_what_it_is_about() -> None:
    world = World()
    asked = [Note(5.0, "", 0, "mergebot", ASKED, text) for text in ("AUTH-142", "budget-7")]
    found, _ = happenings(world.parts.store.read(LANE_OF_WORLD), (), asked, told=Told(0.0))
    assert [(each.event, each.text) for each in found] == [
        ("escalated", "a person is asked about AUTH-142 and budget-7")
    ]


def test_by_default_only_what_needs_a_person_is_told(receiver: Scripted) -> None:
    world = World()
    speaker = announcer(world, signed(receiver), QUIET)
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    speaker.go_round()
    assert receiver.seen == []


def test_what_happened_before_anybody_listened_is_not_told(receiver: Scripted) -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    world._passes(60.0)
    speaker = announcer(world, signed(receiver))
    speaker.go_round()
    assert receiver.seen == []


def test_a_receiver_that_is_gone_is_asked_a_few_times_and_keeps_nothing_from_landing(
    receiver: Scripted,
) -> None:
    receiver.on("POST", "/in", Reply(503))
    world = World()
    speaker = announcer(world, signed(receiver))
    first, second = world.opens_pr(), world.opens_pr()
    world.labels(first)
    world.runs_until_quiet()
    for _ in range(TRIES_MAX + 2):
        speaker.go_round()
    assert len(receiver.seen) == TRIES_MAX
    world.labels(second)
    world.runs_until_quiet()
    assert world.landed == [first, second]
    receiver.on("POST", "/in", Reply(204))
    speaker.go_round()
    assert told(receiver)[-1] == ("landed", second)


def test_two_reconcilers_tell_a_thing_once(receiver: Scripted) -> None:
    world = World()
    notes = Notes()
    both = [Announcer(world.parts, notes, {"s": signed(receiver)}, EVENTS) for _ in range(2)]
    both[0].go_round()
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    for each in both:
        each.go_round()
    assert told(receiver) == [("landed", pr)]
