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


def test_the_doctor_names_what_binds_the_bot_and_what_could_be_safer(bot: Stack) -> None:
    def found(about: str) -> dict[str, Any]:
        findings = doctor(bot)[1]["findings"]
        return next(each for each in findings if each["about"] == f"{REPO}: {about}")

    assert found("branch rules")["ok"]
    assert "restricts updates" in found("who else may land")["advice"]
    body = {
        "name": "signed",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [{"type": "required_signatures"}],
    }
    made = bot.forge.call("POST", f"/repos/{REPO}/rulesets", body).json()["id"]
    assert "“signed” requires signed commits" in found("branch rules")["found"]
    admins = [{"actor_id": 4, "actor_type": "RepositoryRole", "bypass_mode": "always"}]
    only_us = body | {"rules": [{"type": "update"}], "bypass_actors": admins}
    bot.forge.call("PUT", f"/repos/{REPO}/rulesets/{made}", only_us)
    assert found("branch rules")["ok"]
    assert found("who else may land")["advice"] == ""
    bot.forge.call("DELETE", f"/repos/{REPO}/rulesets/{made}")


def test_the_doctor_has_deliveries_that_failed_sent_again(bot: Stack) -> None:
    bot.stop()
    bot.forge.call("POST", f"/repos/{REPO}/issues", {"title": "Nobody hears of this"})
    bot.start()
    # The embedded server is there only while the bot runs, and the forge gives up at once.
    assert eventually(
        lambda: any("did not arrive" in each for each in unwell(doctor(bot)[1])),
        within_s=40,
        what="the failure",
    )
    assert eventually(
        lambda: not any("webhook" in each for each in unwell(doctor(bot)[1])),
        within_s=60,
        what="its arrival",
    )
