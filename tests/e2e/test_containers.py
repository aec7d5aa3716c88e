"""The whole product with gates in containers, in an image that the rules name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_doctor import doctor
from tests.support import engines
from tests.support.stack import REPO, RULES, Stack, stack
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]
WHERE = """
[[gate.steps]]
name = "where"
run = "pwd; test ! -e /etc/shadow"
"""


def rules(image: str) -> str:
    return f'[gate]\nimage = "{image}"\n{RULES}{WHERE}'


# One of them is enough: tests/contract/sandbox holds each to the same promises.
@pytest.fixture(params=engines.here()[:1])
def bot(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stack]:
    with (
        engines.running(request.param) as image,
        stack(tmp_path, {"MERGEBOT_SANDBOX": request.param}, rules=rules(image)) as running,
    ):
        yield running


def about_image(bot: Stack) -> str:
    """Return what the doctor says on the image of the rules."""
    (found,) = [each for each in doctor(bot)[1]["findings"] if each["about"] == f"{REPO}: image"]
    return str(found["found"])


def test_what_is_green_in_its_image_lands_and_an_image_that_is_not_here_halts(bot: Stack) -> None:
    bot.wait(bot.landing("one"), "landed")
    red = bot.propose("red", {"broken": "1\n"})
    bot.wait(red, "ejected")

    assert "localhost/mergebot-tests:1 is here and starts" in about_image(bot)
    bot.work.start("image")
    bot.work.commit("Move on", {".mergebot.toml": rules("localhost/nonesuch:1")})
    bot.work.push("-q", "HEAD:main")
    eventually(lambda: bot.queue().get("halted"), within_s=60, what="the lane is halted")

    reason = bot.queue()["halted"]["reason"]
    assert "the image localhost/nonesuch:1 is not on this host" in reason
    assert about_image(bot).startswith("the image localhost/nonesuch:1 is not on this host")
    assert bot.trunk() == ["Begin", "Add one", "Move on"]
