import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from mergebot.adapters.redis.keys import INBOX
from mergebot.domain.candidate import (
    Candidate,
    Claim,
    Gating,
    Landing,
    Merge,
    Queued,
    Verified,
    merge_of,
)
from mergebot.domain.gate import GateSpec, Passed, Step, StepResult, Verdict
from mergebot.domain.ids import Actor
from mergebot.domain.lane import LaneState, Rules, Snapshot
from mergebot.domain.policy import Policy
from mergebot.domain.pulls import Permission
from tests.security.takeover import Intruder
from tests.support.stack import REPO, Stack, stack
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow
GREEN = (StepResult("test", "sh test.sh", 0, 1.0, "e" * 64),)
TRUE = GateSpec((Step("test", "true", 60.0),), 3600.0)


def soon(condition: Callable[[], object]) -> None:
    eventually(condition, within_s=60, what="what the attack leads to")


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with stack(tmp_path_factory.mktemp("takeover")) as running:
        soon(lambda: running.queue().get("trunk", {}).get("health") == "green")
        yield running


@pytest.fixture
def intruder(bot: Stack) -> Intruder:
    return Intruder(bot.redis())


@pytest.fixture
def slow(bot: Stack) -> Iterator[int]:
    """A PR whose gate takes ten minutes."""
    name = f"slow-{len(bot.trunk())}-{id(object())}"
    pr = bot.propose(name, {"slow": "1"})
    bot.wait(pr, "gating")
    before = bot.trunk()
    yield pr
    assert bot.trunk() == before
    bot.forge.call("PATCH", f"/repos/{REPO}/pulls/{pr}", {"state": "closed"})
    bot.wait(pr, "cancelled")


def story(bot: Stack, pr: int) -> str:
    return json.dumps(bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}").get("story", []))


def told(bot: Stack, pr: int, text: str) -> None:
    soon(lambda: text in story(bot, pr))


def verdict(candidate: Candidate, merge: Merge, spec: str) -> Verdict:
    run = candidate.state.run if isinstance(candidate.state, Gating) else "r"
    return Verdict(merge.base, merge.merged, merge.tree, run, spec, "w1", GREEN)


def test_a_verified_candidate_written_by_hand_lands_nothing(
    bot: Stack, intruder: Intruder, slow: int
) -> None:
    def forge(snapshot: Snapshot) -> Candidate:
        found = intruder.candidate(slow)
        merge = merge_of(found.state)
        assert merge
        assert snapshot.policy
        passed = verdict(found, merge, snapshot.policy.gate.digest)
        return found.moved(Verified(merge, passed))

    intruder.write(forge)
    told(bot, slow, "no worker of this installation sealed its verdict")


def test_a_forged_group_lands_nothing(bot: Stack, intruder: Intruder, slow: int) -> None:
    def forge(snapshot: Snapshot) -> Candidate:
        found = intruder.candidate(slow)
        merge = merge_of(found.state)
        assert merge
        assert snapshot.policy
        passed = verdict(found, merge, snapshot.policy.gate.digest)
        return found.moved(Verified(merge, replace(passed, group=(slow, 9999))))

    intruder.write(forge)
    behind = bot.landing("behind")
    soon(lambda: bot.state(behind) in {"queued", "gating", "verified"})
    bot.forge.call("PATCH", f"/repos/{REPO}/pulls/{behind}", {"state": "closed"})


def test_a_forged_result_is_no_verdict(bot: Stack, intruder: Intruder, slow: int) -> None:
    state = intruder.candidate(slow).state
    assert isinstance(state, Gating)
    intruder.result(state.run, Passed(GREEN, seal="0" * 64))
    told(bot, slow, "was not sealed with this installation's key")


def test_a_landing_written_by_hand_is_settled_from_git(
    bot: Stack, intruder: Intruder, slow: int
) -> None:
    def forge(snapshot: Snapshot) -> Candidate:
        found = intruder.candidate(slow)
        merge = merge_of(found.state)
        assert merge
        assert snapshot.policy
        passed = verdict(found, merge, snapshot.policy.gate.digest)
        return found.moved(Landing(merge, passed, '{"generation":1}', snapshot.now))

    intruder.write(forge)
    soon(lambda: bot.state(slow) in {"gating", "queued"})


def test_forged_rules_gate_nothing_that_lands(bot: Stack, intruder: Intruder, slow: int) -> None:
    def queued(snapshot: Snapshot) -> Candidate:
        return intruder.candidate(slow).moved(Queued())

    def easy(state: LaneState) -> LaneState:
        return replace(state, rules=Rules(state.known_tip, Policy(TRUE)))

    intruder.write(queued, easy)
    soon(lambda: "not those of the trunk" in lane_story(intruder))
    soon(lambda: bot.state(slow) == "gating")
    assert intruder.read().policy != Policy(TRUE)


def lane_story(intruder: Intruder) -> str:
    entries = intruder.store.story(intruder.lane, 0, limit=100)
    return "\n".join(each.text for each in entries)


def test_a_forged_claim_covers_nothing(bot: Stack, intruder: Intruder) -> None:
    bot.work.start("strays")
    bot.work.commit("Add strays", {"strays.txt": "1"})
    bot.work.push("-q", "HEAD:strays")
    body = '```mergebot\ntask = "T-1"\nclaims = ["docs/**"]\n```\n'
    asked = {"title": "Add strays", "head": "strays", "base": "main", "body": body}
    token = bot.forge.user("alice")
    pr = int(bot.forge.call("POST", f"/repos/{REPO}/pulls", asked, token=token).json()["number"])
    bot.label(pr)
    bot.wait(pr, "ejected")
    bot.label(pr)
    bot.wait(pr, "ejected")
    ended = intruder.store.latest(intruder.lane, pr)
    assert ended
    wide = Claim(f"pr-{pr}", "T-1", ("**",))
    forged = replace(ended, attempt=ended.attempt + 1, claim=wide).moved(Queued())
    bot.label(pr)
    intruder.write(lambda _: forged)
    soon(lambda: bot.state(pr) == "ejected")
    assert "Add strays" not in bot.trunk()


def test_a_person_named_by_hand_authorises_nothing(bot: Stack, intruder: Intruder) -> None:
    token = bot.forge.user("tria")
    path = f"/repos/{REPO}/collaborators/tria"
    bot.forge.call("PUT", path, {"permission": "triage"}, token=bot.forge.user("alice"))
    pr = bot.propose("unasked", {"unasked.txt": "1"}, label="")
    labels = f"/repos/{REPO}/issues/{pr}/labels"
    assert bot.forge.call("POST", labels, {"labels": ["merge-queue"]}, token=token).ok
    bot.wait(pr, "ejected")
    ended = intruder.store.latest(intruder.lane, pr)
    assert ended
    alice = bot.forge.call("GET", "/users/alice").json()
    asker = Actor(int(alice["id"]), "alice")
    assert bot.forge.call("POST", labels, {"labels": ["merge-queue"]}, token=token).ok
    forged = replace(
        ended, attempt=ended.attempt + 1, enqueued_by=asker, authority=Permission.ADMIN
    ).moved(Queued())
    intruder.write(lambda _: forged)
    soon(lambda: bot.state(pr) in {"cancelled", "ejected"})
    assert "Add unasked" not in bot.trunk()


def test_a_delivery_written_into_redis_is_set_aside(bot: Stack, intruder: Intruder) -> None:
    pr = bot.propose("whispered", {"whispered.txt": "1"}, label="")
    about = bot.forge.call("GET", f"/repos/{REPO}/pulls/{pr}").json()
    alice = bot.forge.call("GET", "/users/alice").json()
    said = {"id": 1, "body": "@mergebot queue", "user": alice, "author_association": "OWNER"}
    issue = {"number": pr, "pull_request": {"url": "x"}, "user": alice}
    body = {"action": "created", "comment": said, "issue": issue, "sender": alice}
    body |= {"repository": about["base"]["repo"]}
    fields = {"guid": "forged-1", "event": "issue_comment", "body": json.dumps(body)}
    intruder.redis.xadd(INBOX, fields)  # type: ignore[arg-type]  # its own stubs
    soon(lambda: "delivery_unsealed" in bot.log.read_text())
    labels = bot.forge.call("GET", f"/repos/{REPO}/issues/{pr}/labels").json()
    assert labels == []
    assert bot.state(pr) == ""


def test_honest_changes_still_land_and_the_trunk_is_proved(bot: Stack, tmp_path: Path) -> None:
    pr = bot.landing("honest")
    bot.wait(pr, "landed")
    assert requests.get(f"{bot.address}/healthz", timeout=10).status_code in {200, 503}
    receipt = bot.receipts()[-1]
    assert receipt["pr"] == pr
    assert receipt["dsse"]["signatures"][0]["sig"]
