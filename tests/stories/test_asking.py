import pytest

from mergebot.adapters.memory.bell import Ring
from mergebot.adapters.memory.news import news_body
from mergebot.domain.ids import Sha
from mergebot.domain.limits import COMMAND_GOOD_S
from mergebot.domain.news import CheckAsked, CommentMade, News
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Refused
from mergebot.services.operating import Operating
from tests.support.world import ADA, BO, BOT, LANE, RAY, REPO, RULES, World

BROKEN = {"broken": "1"}


def delivers(world: World, news: News, guid: str) -> None:
    """Bring a genuine delivery under a name of its own, as a second hook or a replay would."""
    world.inbox.put(guid, "news", news_body(news))
    world.rings.append(Ring("intake"))
    world.runs_until_quiet()


def asks(world: World, pr: int, text: str) -> CommentMade:
    """Comment as an admin, let everything happen, and return what the forge told of it."""
    comment = world.says(pr, text, who=ADA)
    at = float(int(world.clock.now()))
    world.runs_until_quiet()
    return CommentMade(REPO.full_name, REPO.id, pr, comment, text, ADA, at)


@pytest.mark.parametrize("text", ["unhold please", "dance", "retry", "halt"])
def test_an_answer_to_what_is_no_command_is_a_sentence_that_ends_once(text: str) -> None:
    world = World()
    asks(world, world.opens_pr(), f"@mergebot {text}")
    answer = next(each.body for each in world.hosting.comments.values() if "told:" in each.body)
    sentence = answer.partition("\n")[0]
    assert sentence.endswith(".")
    assert not sentence.endswith("..")


def test_an_old_resume_that_is_delivered_again_ends_no_later_halt() -> None:
    world = World()
    pr = world.opens_pr()
    resumed = asks(world, pr, "@mergebot resume")
    asks(world, pr, "@mergebot halt the database moves")
    told = len(world.hosting.comments)
    delivers(world, resumed, "second-hook")
    world.clock.advance(world.clock.now() + 8 * 24 * 3600)
    delivers(world, resumed, "replayed")
    assert world.lane.halt is not None
    assert len(world.hosting.comments) == told


def test_a_comment_from_before_the_record_was_lost_is_asked_back_once() -> None:
    world = World()
    pr = world.opens_pr()
    resumed = asks(world, pr, "@mergebot resume")
    world.loses_redis()
    world.reconciles()
    asks(world, pr, "@mergebot halt the database moves")
    delivers(world, resumed, "replayed")
    delivers(world, resumed, "replayed again")
    assert world.lane.halt is not None
    answers = [each.body for each in world.hosting.comments.values() if "rebuilt" in each.body]
    assert len(answers) == 1


def test_a_command_that_arrives_days_late_is_not_obeyed() -> None:
    world = World()
    pr = world.opens_pr()
    world.webhooks = False
    halted = asks(world, pr, "@mergebot halt for an hour")
    world.webhooks = True
    world.clock.advance(world.clock.now() + COMMAND_GOOD_S + 1)
    delivers(world, halted, "late")
    assert world.lane.halt is None
    assert any("too long ago" in each.body for each in world.hosting.comments.values())


def test_who_names_another_head_than_the_present_one_queues_nothing() -> None:
    world = World()
    pr = world.opens_pr()
    seen = world.pull(pr).head
    pushed = world.pushes(pr, {"meanwhile": "1"})
    operating = Operating(world.parts)
    with pytest.raises(Refused, match=f"the head of #{pr} is {pushed[:7]}, not {seen[:7]}"):
        operating.enqueue(LANE, pr, BO, seen=seen)
    world.runs_until_quiet()
    assert (world.landed, world.pull(pr).labels) == ([], ())
    operating.enqueue(LANE, pr, BO, seen=pushed)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_try_again_on_a_check_means_the_head_that_the_check_shows() -> None:
    world = World()
    pr = world.opens_pr(files=BROKEN)
    world.gates.red.add("broken")
    world.labels(pr)
    world.runs_until_quiet()
    seen = world.pull(pr).head
    pushed = world.pushes(pr, {"broken": None, "evil": "1"})
    delivers(world, pressed(pr, seen, 1), "pressed")
    assert world.store.read(LANE).candidates == ()
    assert world.candidate(pr).head == seen
    assert world.landed == []
    assert pushed == world.pull(pr).head


def test_try_again_delivered_twice_is_one_more_attempt() -> None:
    world = World()
    pr = world.opens_pr(files=BROKEN)
    world.gates.red.add("broken")
    world.labels(pr)
    world.runs_until_quiet()
    press = pressed(pr, world.pull(pr).head, 1)
    delivers(world, press, "pressed")
    delivers(world, press, "replayed")
    assert world.candidate(pr).attempt == 2


def pressed(pr: int, head: Sha, attempt: int) -> CheckAsked:
    """Return what the forge tells when somebody presses the button."""
    return CheckAsked(REPO.full_name, REPO.id, pr, "rerun", BO, head, attempt)


def test_asking_again_for_a_head_that_failed_changes_nothing_and_says_so_by_every_door() -> None:
    world = World()
    pr = world.opens_pr(files=BROKEN)
    world.gates.red.add("broken")
    world.labels(pr)
    world.runs_until_quiet()
    told, labels = len(world.hosting.comments), len(world.hosting.labels[pr])
    for _ in range(2):
        with pytest.raises(Refused, match=r"is not queued .*The step test failed"):
            Operating(world.parts).enqueue(LANE, pr, BO)
        world.runs_until_quiet()
    assert len(world.hosting.labels[pr]) == labels
    for _ in range(3):
        world.labels(pr)
        world.runs_until_quiet()
    assert world.candidate(pr).attempt == 1
    assert len(world.hosting.comments) == told
    assert world.pull(pr).labels == ()
    story = [each.text for each in world.store.story(LANE, pr, limit=99)]
    assert sum("answered before" in text for text in story) == 1


def test_asking_again_without_having_removed_the_cause_writes_no_further_comment() -> None:
    world = World()
    pr = world.opens_pr()
    refusals = []
    for _ in range(3):
        with pytest.raises(Refused) as refused:
            Operating(world.parts).enqueue(LANE, pr, RAY)
        refusals.append(str(refused.value))
        world.runs_until_quiet()
    assert "ray has read permission here; queueing needs write or more" in refusals[0]
    assert world.candidate(pr).attempt == 1
    assert len(world.told(pr)) == 1
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_comment_that_asks_for_what_is_refused_at_once_gets_one_answer() -> None:
    world = World("[queue]\nfork_pull_requests = false\n" + RULES)
    pr = world.opens_pr(fork=True)
    comment = world.says(pr, "@mergebot queue")
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.NOT_PERMITTED)
    assert world.hosting.reactions[comment] == {"confused"}
    assert len([each for each in world.hosting.comments.values() if each.author == BOT]) == 1
