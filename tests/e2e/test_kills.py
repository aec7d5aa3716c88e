"""Every step boundary of a landing, with the forge holding a request there while a part dies."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count

import pytest

from tests.support.forge import ForgeProcess
from tests.support.stack import Stack, children_of
from tests.support.waiting import eventually

NAMES = count(1)
HOLD_S = 2.5

pytestmark = pytest.mark.slow


def hold(forge: ForgeProcess, method: str, path: str) -> Callable[[], bool]:
    """Hold the next request there for a moment; return what tells that one is held."""
    rule = forge.fault("delay_s", method=method, path=path, seconds=HOLD_S, times=1)

    def taken() -> bool:
        return all(each["id"] != rule for each in forge.call("GET", "/_forge/faults").json())

    return taken


@contextmanager
def boundary(bot: Stack, where: str) -> Iterator[tuple[int, str]]:
    """Bring a change to a step boundary of its landing, and yield its PR while it is held there."""
    name = f"kill{next(NAMES)}"
    pr = bot.propose(name, {f"{name}.txt": name})
    bot.wait(pr, "gating")
    method, path = {
        "before the intent": ("GET", "/collaborators/alice/permission"),
        "after the intent": ("GET", "info/refs.service=git-receive-pack$"),
        "before the push": ("POST", "git-receive-pack$"),
        "after the push": ("POST", "git-receive-pack$"),
        "before the comment": ("PATCH", "/issues/comments/"),
    }[where]
    held = hold(bot.forge, method, path)
    eventually(held, within_s=30, what=f"#{pr} is held {where}")
    if where == "after the push":
        read_back = hold(bot.forge, "GET", "info/refs$")
        eventually(read_back, within_s=30, what=f"#{pr} is held before it is read back")
    yield pr, name


def says_landed_once(bot: Stack, pr: int) -> bool:
    return [text.count('"state":"landed"') for text in bot.comments(pr)] == [1]


def settled(bot: Stack, pr: int, name: str) -> bool:
    """Check what must hold after any death: once on the trunk, one comment, and life goes on."""
    bot.forge.call("DELETE", "/_forge/faults")
    bot.wait(pr, "landed", within_s=90)
    assert bot.landed_once(name)
    canary = f"canary{next(NAMES)}"
    after = bot.landing(canary)
    bot.wait(after, "landed", within_s=60)
    for each in (pr, after):
        said = partial(says_landed_once, bot, each)
        eventually(said, within_s=40, what=f"#{each} has one comment, which says that it landed")
    merged = [each["merged"] for each in bot.receipts()]
    return bot.landed_once(name, canary) and len(merged) == len(set(merged))


BOUNDARIES = [
    "before the intent",
    "after the intent",
    "before the push",
    "after the push",
    "before the comment",
]


@pytest.mark.parametrize("where", BOUNDARIES)
def test_hands_that_are_killed_at_a_step_of_a_landing_lose_and_double_nothing(
    bot: Stack, where: str
) -> None:
    with boundary(bot, where) as (pr, name):
        bot.signal("hands", signal.SIGKILL)
    assert settled(bot, pr, name)


def test_hands_that_are_stopped_in_a_landing_and_go_on_later_land_nothing_twice(bot: Stack) -> None:
    with boundary(bot, "after the push") as (pr, name):
        hands = bot.signal("hands", signal.SIGSTOP)
        children = [hands, *(child for child, _ in children_of(hands))]
        eventually(lambda: bot.landed_once(name), within_s=20, what="the push went through")
    for each in children:
        os.kill(each, signal.SIGCONT)
    assert settled(bot, pr, name)


def test_a_push_that_is_stopped_after_the_intent_and_goes_on_when_others_landed_lands_nothing(
    bot: Stack,
) -> None:
    with boundary(bot, "after the intent") as (pr, name):
        assert not bot.trunk().count(f"Add {name}")
        pushes = [pid for pid, name in under(bot.pid("hands")) if "git" in name]
        for each in pushes:
            os.kill(each, signal.SIGSTOP)
        bot.signal("hands", signal.SIGKILL)
    assert pushes
    bot.wait(pr, "landed", within_s=90)
    for each in pushes:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGCONT)
    assert settled(bot, pr, name)


OTHERS = ("web", "reconciler", "gate", "valkey")


def test_everything_else_may_stop_and_die_in_the_middle_of_a_push(bot: Stack) -> None:
    with boundary(bot, "before the push") as (pr, name):
        for part in OTHERS:
            bot.signal(part, signal.SIGSTOP)
        eventually(lambda: bot.landed_once(name), within_s=20, what="the push went through")
        for part in OTHERS:
            bot.signal(part, signal.SIGKILL)
    assert settled(bot, pr, name)


@pytest.mark.campaign
@pytest.mark.parametrize("where", BOUNDARIES)
def test_everything_else_may_die_at_each_step_of_a_landing(bot: Stack, where: str) -> None:
    with boundary(bot, where) as (pr, name):
        for part in OTHERS:
            bot.signal(part, signal.SIGKILL)
    assert settled(bot, pr, name)


@pytest.mark.campaign
@pytest.mark.parametrize("where", BOUNDARIES)
def test_everything_else_may_stop_at_each_step_of_a_landing_and_go_on_later(
    bot: Stack, where: str
) -> None:
    with boundary(bot, where) as (pr, name):
        for part in OTHERS:
            bot.signal(part, signal.SIGSTOP)
    bot.forge.call("DELETE", "/_forge/faults")
    for part in OTHERS:
        bot.signal(part, signal.SIGCONT)
    assert settled(bot, pr, name)


def test_a_gate_whose_worker_was_killed_leaves_no_process_and_is_run_again(bot: Stack) -> None:
    pr = bot.propose("orphan", {"slow": "4711"})
    eventually(lambda: bot.processes("600.4711"), within_s=30, what="the gate runs")
    first = running(bot, pr)
    bot.signal("gate", signal.SIGKILL)
    eventually(lambda: not bot.processes("600.4711"), within_s=10, what="nothing of it is left")
    eventually(lambda: running(bot, pr) not in {"", first}, within_s=60, what="a new run")
    bot.cancel(pr)
    assert eventually(
        lambda: not bot.processes("600.4711"), within_s=20, what="the gate is stopped"
    )


def test_the_late_result_of_a_gate_that_was_taken_for_lost_is_ignored(bot: Stack) -> None:
    pr = bot.propose("late", {"nap": "1"})
    first = eventually(lambda: taken(bot, pr), within_s=30, what="the gate runs")
    gate = bot.signal("gate", signal.SIGSTOP)
    children = [gate, *(child for child, _ in children_of(gate))]
    eventually(lambda: running(bot, pr) not in {"", first}, within_s=60, what="a new run")
    second = running(bot, pr)
    for each in children:
        os.kill(each, signal.SIGCONT)
    bot.wait(pr, "landed")
    assert bot.receipts()[-1]["gate"]["run"] == second


def under(parent: int) -> Iterator[tuple[int, str]]:
    """Yield every process below one, with its name."""
    for child, name in children_of(parent):
        yield child, name
        yield from under(child)


def taken(bot: Stack, pr: int) -> str:
    """Return the run that a worker has taken for a PR, "" while there is none."""
    entries = bot.queue().get("entries", [])
    found = next((each["running"] for each in entries if each["pr"] == pr), None)
    return str(found["run"]) if found and found["worker"] else ""


def running(bot: Stack, pr: int) -> str:
    """Return the run that gates a PR now, "" while none does."""
    entries = bot.queue().get("entries", [])
    found = next((each["running"] for each in entries if each["pr"] == pr), None)
    return str(found["run"]) if found else ""
