from pathlib import Path

from tests.support.stack import REPO, Stack, stack
from tests.support.waiting import eventually


def adopted(bot: Stack) -> dict[str, object]:
    """Return what was recovered, once the recovery is over."""

    def over() -> object:
        return bot.queue().get("recovering") is False

    eventually(over, within_s=60, what="the queue is rebuilt")
    found: dict[str, object] = bot.queue()["recovered"]
    return found


def test_with_redis_emptied_in_mid_flight_the_queue_comes_back_and_nothing_lands_twice(
    bot: Stack,
) -> None:
    first = bot.landing("first")
    bot.wait(first, "landed")
    slow = bot.propose("slow", {"slow": "1"})
    bot.wait(slow, "gating")
    parked = bot.propose("held", {"held.txt": "x"}, label="merge-queue,merge-queue-hold")
    bot.wait(parked, "parked")
    behind = bot.landing("behind")
    before = bot.receipts()

    bot.redis().flushall()

    eventually(
        lambda: (bot.queue().get("recovered") or {}).get("queued") == 3,
        within_s=60,
        what="the queue to come back",
    )
    recovered = adopted(bot)
    assert [each["pr"] for each in bot.queue()["entries"]] == [slow, parked, behind]
    assert (recovered["landed"], recovered["queued"]) == (len(before), 3)
    assert bot.state(first) == "landed"
    bot.forge.call("DELETE", f"/repos/{REPO}/issues/{slow}/labels/merge-queue")
    bot.wait(slow, "cancelled")
    bot.wait(behind, "landed")
    assert bot.landed_once("first", "behind")
    assert bot.receipts()[-1]["generation"] > before[-1]["generation"] + 999
    assert bot.receipts()[-1]["epoch"] > before[-1]["epoch"]
    assert len(bot.comments(first)) == 1
    bot.forge.call("DELETE", f"/repos/{REPO}/issues/{parked}/labels/merge-queue")
    bot.wait(parked, "cancelled")


def test_a_halt_made_by_hand_is_read_back_from_git_when_redis_is_emptied(bot: Stack) -> None:
    """Only somebody who resumes ends what a person stopped."""
    bot.wait(bot.landing("unhalted"), "landed")
    assert bot.post(f"/api/v1/repos/{REPO}/halt", {"reason": "a freeze"}) == 200
    kept = ("ls-remote", "origin", "refs/notes/mergebot")
    before = bot.work.git(*kept).out
    eventually(lambda: bot.work.git(*kept).out != before, within_s=20, what="git hears of it")
    behind = bot.landing("frozen")
    bot.wait(behind, "queued")

    bot.redis().flushall()

    eventually(
        lambda: (bot.queue().get("recovered") or {}).get("queued") == 1,
        within_s=60,
        what="the queue to come back",
    )
    assert bot.queue()["halted"]["reason"] == "a freeze"
    assert not bot.landed_once("frozen")
    assert bot.post(f"/api/v1/repos/{REPO}/resume", {"reason": "it is over"}) == 200
    bot.wait(behind, "landed")


def test_a_first_adoption_has_nothing_to_rebuild_and_says_so(tmp_path: Path) -> None:
    with stack(tmp_path) as fresh:
        recovered = adopted(fresh)
        assert recovered["landed"] == 0
        assert "new" in str(recovered["text"])
        fresh.wait(fresh.landing("first"), "landed")
        assert fresh.landed_once("first")


def test_a_redis_that_lost_its_last_writes_learns_from_git_what_landed(bot: Stack) -> None:
    pr = bot.propose("rolled", {"nap": "2"})
    bot.wait(pr, "gating")
    redis = bot.redis()
    kept = {key: (redis.pttl(key), redis.dump(key)) for key in redis.keys("mb:{*")}
    bot.wait(pr, "landed")

    with redis.pipeline(transaction=True) as back:
        back.delete(*redis.keys("mb:{*"))
        for key, (ttl_ms, value) in kept.items():
            if value:
                back.restore(key, max(ttl_ms, 0), value, replace=True)
        back.execute()

    bot.wait(pr, "landed")
    bot.wait(bot.landing("after"), "landed")
    assert bot.landed_once("rolled", "after")
    receipts = bot.receipts()
    assert [each["generation"] for each in receipts] == sorted(x["generation"] for x in receipts)
    assert receipts[-1]["epoch"] > receipts[-2]["epoch"]
    assert len(bot.comments(pr)) == 1
