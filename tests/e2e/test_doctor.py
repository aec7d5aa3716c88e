import json
import subprocess
import sys
from typing import Any

from tests.support.stack import REPO, Stack
from tests.support.waiting import eventually


def doctor(bot: Stack) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "mergebot", "doctor", "--json"],
        env=bot.environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def unwell(found: dict[str, Any]) -> list[str]:
    return [f"{each['about']}: {each['found']}" for each in found["findings"] if not each["ok"]]


def test_the_doctor_finds_nothing_wrong_where_nothing_is(bot: Stack) -> None:
    bot.wait(bot.landing("well"), "landed")
    for name in ("merge-queue", "merge-queue-fix", "merge-queue-hold"):
        bot.forge.call("POST", f"/repos/{REPO}/labels", {"name": name, "color": "ffffff"})

    eventually(lambda: unwell(doctor(bot)[1]) == [], within_s=40, what="all is well")

    code, found = doctor(bot)
    assert (code, found["ok"]) == (0, True)
    about = {each["about"] for each in found["findings"]}
    assert {"Redis", "git", "sandbox", "forge", f"{REPO}: webhook", f"{REPO}: queue"} <= about


def test_the_doctor_names_what_git_has_and_the_record_lost(bot: Stack) -> None:
    bot.wait(bot.landing("lost"), "landed")
    key = next(each for each in bot.redis().keys("mb:*:landings"))
    bot.redis().lpop(key)

    code, found = doctor(bot)

    assert code == 1
    assert any("lacks 1 landing" in each for each in unwell(found)), unwell(found)
