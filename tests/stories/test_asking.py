from mergebot.adapters.memory.bell import Ring
from mergebot.adapters.memory.news import news_body
from mergebot.domain.ids import Sha
from mergebot.domain.limits import COMMAND_GOOD_S
from mergebot.domain.news import CheckAsked, CommentMade, News
from tests.support.world import ADA, BO, LANE, REPO, World

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
