"""The bot's own labels, with real processes that die or are held right at the writing."""

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.stack import REPO, Stack
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow
HOLD_S = 2.5


def held(bot: Stack, method: str, path: str) -> Any:
    """Hold the next request there for a moment; return what tells that it is held."""
    rule = bot.forge.fault("delay_s", method=method, path=path, seconds=HOLD_S, times=1)
    return lambda: all(
        each["id"] != rule for each in bot.forge.call("GET", "/_forge/faults").json()
    )


def ask(bot: Stack, pr: int, wish: str = "", reason: str = "") -> int:
    """Ask the bot by its API, and return the status of the answer, 0 where it died."""
    try:
        return bot.post(f"/api/v1/repos/{REPO}/candidates/{pr}{wish}", {"reason": reason})
    except OSError:
        return 0


def test_a_push_right_before_the_bots_own_label_lands_for_nobody_though_the_bot_dies(
    bot: Stack,
) -> None:
    pr = bot.propose("asked", {"asked.txt": "1"}, label="")
    taken = held(bot, "POST", f"/issues/{pr}/labels")
    with ThreadPoolExecutor() as side:
        answer = side.submit(ask, bot, pr)
        eventually(taken, within_s=60, what="the label is about to be set")
        bot.work.commit("Sneak in", {"sneak.txt": "1"})
        bot.work.push("-q", "-f", "HEAD:refs/heads/asked")
        bot.signal("web", signal.SIGKILL)
        assert answer.result(20) == 0
    bot.wait(pr, "cancelled")
    found = bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}")
    assert found["reason"] == "head_changed"
    assert not bot.landed_once("asked")


def test_a_label_taken_off_late_for_the_last_attempt_takes_nobody_out_of_the_queue(
    bot: Stack,
) -> None:
    pr = bot.propose("again", {"broken": "1"}, label="")
    taken = held(bot, "DELETE", f"/issues/{pr}/labels/merge-queue$")
    bot.label(pr)
    eventually(taken, within_s=60, what="its label is about to be taken off")
    assert ask(bot, pr, "/retry", "somebody looked at it") == 202
    eventually(
        lambda: bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}")["attempt"] == 2,
        within_s=20,
        what="a second attempt",
    )
    bot.wait(pr, "ejected")
    assert bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}")["reason"] == "gate_failed"
