"""The forge down, slow, limiting, lying: lanes wait, say why, and go on by themselves."""

import signal
from itertools import count

import pytest

from tests.support.stack import REPO, Stack
from tests.support.waiting import eventually

NAMES = count(1)
READS = "/pulls/|/collaborators/|/issues/"


def change(bot: Stack) -> tuple[int, str]:
    """Open a labelled PR and wait until its gate runs: what it needs of the forge comes next."""
    name = f"trouble{next(NAMES)}"
    pr = bot.landing(name)
    bot.wait(pr, "gating")
    return pr, name


def waiting(bot: Stack) -> str:
    return str(bot.queue().get("waiting") or "")


def landed(bot: Stack, pr: int, name: str) -> bool:
    """Wait until a change has landed and the lane waits for nothing; tell whether it did once."""
    bot.wait(pr, "landed")
    eventually(lambda: not waiting(bot), within_s=20, what="the lane waits for nothing")
    return bot.landed_once(name)


@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "error_before", "status": 502},
        {"kind": "rate_limit", "status": 403, "retry_after": 2},
        {"kind": "rate_limit", "status": 429, "retry_after": 2},
        {"kind": "rate_limit", "status": 403},
    ],
    ids=["errors", "403 with Retry-After", "429 with Retry-After", "403 without Retry-After"],
)
def test_a_forge_that_does_not_serve_makes_the_lane_wait_and_say_why(
    bot: Stack, rule: dict[str, object]
) -> None:
    pr, name = change(bot)
    bot.forge.fault(str(rule.pop("kind")), method="GET", path=READS, **rule)

    why = eventually(lambda: waiting(bot), within_s=30, what="the lane says why it waits")
    assert "could not read" in why
    assert not bot.landed_once(name)

    bot.forge.call("DELETE", "/_forge/faults")
    assert landed(bot, pr, name)


@pytest.mark.slow
def test_a_forge_that_is_down_is_waited_for(bot: Stack) -> None:
    pr, name = change(bot)
    bot.forge.stop(signal.SIGKILL)
    eventually(lambda: waiting(bot), within_s=40, what="the lane says that it waits")
    bot.forge.start()
    assert landed(bot, pr, name)


def test_a_slow_forge_is_only_slower(bot: Stack) -> None:
    pr, name = change(bot)
    bot.forge.fault("delay_s", method="GET", path="/api/v3", seconds=1, times=6)
    assert landed(bot, pr, name)


def test_answers_that_are_lost_after_their_effect_double_nothing(bot: Stack) -> None:
    pr, name = change(bot)
    bot.forge.fault("error_after", method="POST", path="git-receive-pack$", status=502, times=1)
    bot.forge.fault("error_after", method="(POST|PATCH)", path="/comments", status="reset", times=2)
    assert landed(bot, pr, name)
    eventually(
        lambda: [text.count('"state":"landed"') for text in bot.comments(pr)] == [1],
        within_s=40,
        what="one comment says that it landed",
    )


@pytest.mark.slow
def test_refs_that_lag_behind_for_some_seconds_land_nothing_wrong(bot: Stack) -> None:
    bot.forge.fault("stale_refs", path="refs/", seconds=3)
    first, second = bot.landing("stale1"), bot.landing("stale2")
    assert landed(bot, first, "stale1")
    assert landed(bot, second, "stale2")
    bases = [each["base"] for each in bot.receipts()]
    assert len(bases) == len(set(bases))


def test_with_every_webhook_dropped_a_change_still_lands(bot: Stack) -> None:
    bot.forge.fault("drop_webhooks")
    name = f"trouble{next(NAMES)}"
    assert landed(bot, bot.landing(name), name)


def test_a_head_that_was_pushed_after_the_label_when_nobody_watched_does_not_land(
    bot: Stack,
) -> None:
    bot.forge.fault("drop_webhooks")
    bot.signal("reconciler", signal.SIGSTOP)
    name = f"trouble{next(NAMES)}"
    pr = bot.landing(name)
    label_at = bot.forge.call("GET", f"/repos/{REPO}/issues/{pr}/events").json()[-1]["created_at"]

    def pushed_later() -> bool:
        bot.work.commit("Sneak in", {"sneak.txt": label_at})
        bot.work.push("-q", "-f", f"HEAD:refs/heads/{name}")
        moves = bot.forge.call("GET", f"/repos/{REPO}/activity?ref=refs/heads/{name}").json()
        return bool(moves[0]["timestamp"] > label_at)

    eventually(pushed_later, within_s=10, what="a push in a later second than the label")
    bot.signal("reconciler", signal.SIGCONT)

    bot.wait(pr, "cancelled")
    found = bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}")
    assert found["reason"] == "head_changed"
    assert not bot.landed_once(name)
