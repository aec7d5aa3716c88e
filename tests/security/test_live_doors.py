import hashlib
import hmac
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import requests

from tests.support.stack import ADMIN, REPO, SECRET, Stack, stack
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

LOOKALIKES = (
    "merge-queue ",
    "merge\u2010queue",
    "m\u0435rge-queue",
    "merge-queue\u200b",
    "merge_queue",
)
BRANCHES = (
    "$(touch${IFS}PWNED)",
    "`touch${IFS}PWNED`",
    ";touch${IFS}PWNED",
    "x" * 200,
    "\N{PARTY POPPER}",
    "a'b\"c",
    "heads/main",
    "<script>alert(1)</script>",
)


@pytest.fixture(scope="module")
def bot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with stack(tmp_path_factory.mktemp("doors")) as running:
        green = lambda: running.queue().get("trunk", {}).get("health") == "green"  # noqa: E731  # one use
        eventually(green, within_s=60, what="the trunk is green")
        yield running


def pull(bot: Stack, pr: int) -> dict[str, Any]:
    found: dict[str, Any] = bot.forge.call("GET", f"/repos/{REPO}/pulls/{pr}").json()
    return found


def labelled(bot: Stack, pr: int, by: str) -> dict[str, Any]:
    sender = bot.forge.call("GET", f"/users/{by}").json()
    about = pull(bot, pr)
    label = {"id": 1, "name": "merge-queue", "color": "ededed", "default": False}
    body = {"action": "labeled", "number": pr, "pull_request": about, "label": label}
    return body | {"repository": about["base"]["repo"], "sender": sender}


def deliver(bot: Stack, body: dict[str, Any], guid: str) -> int:
    raw = json.dumps(body).encode()
    mac = hmac.new(SECRET.encode(), raw, hashlib.sha256).hexdigest()
    headers = {"X-GitHub-Event": "pull_request", "X-GitHub-Delivery": guid}
    headers |= {"X-Hub-Signature-256": f"sha256={mac}", "Content-Type": "application/json"}
    url = f"{bot.address}/hooks/github"
    return requests.post(url, data=raw, headers=headers, timeout=10).status_code


def drained(bot: Stack) -> None:
    def empty() -> bool:
        text = requests.get(f"{bot.address}/metrics", timeout=10).text
        return "mergebot_inbox_depth 0.0" in text

    eventually(empty, within_s=30, what="the inbox is empty")


def test_a_replay_under_a_new_id_is_the_same_entry_and_the_same_comment(bot: Stack) -> None:
    pr = bot.propose("replayed", {"replayed": "1"})
    bot.wait(pr, "landed")
    told = lambda: "landed" in "".join(bot.comments(pr))  # noqa: E731  # one use
    # Comments take turns with everything else that is written within a minute.
    eventually(told, within_s=90, what="the comment says so")
    body = labelled(bot, pr, "alice")
    assert {deliver(bot, body, f"replay-{number}") for number in range(20)} == {202}
    drained(bot)
    assert bot.trunk().count("Add replayed") == 1
    assert len(bot.comments(pr)) == 1
    assert bot.state(pr) == "landed"


def test_an_old_label_brings_no_new_push_in(bot: Stack) -> None:
    pr = bot.propose("moved", {"moved": "1"}, label="")
    body = labelled(bot, pr, "alice")
    bot.work.commit("Sneak", {"sneaked": "1"})
    bot.work.push("-q", "HEAD:moved")
    assert deliver(bot, body, "old-label") == 202
    drained(bot)
    assert bot.state(pr) in {"", "cancelled"}
    assert "Sneak" not in bot.trunk()


def test_a_signed_delivery_for_another_repository_is_ignored(bot: Stack) -> None:
    pr = bot.propose("foreign", {"foreign": "1"}, label="")
    body = labelled(bot, pr, "alice")
    body["repository"] = body["repository"] | {"id": 999_999}
    assert deliver(bot, body, "foreign") == 202
    drained(bot)
    assert bot.state(pr) == ""


def test_no_address_of_a_payload_is_asked(bot: Stack) -> None:
    asked: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(6)
        place = f"http://127.0.0.1:{server.getsockname()[1]}/"
        pr = bot.propose("ssrf", {"ssrf": "1"}, label="")
        text = json.dumps(labelled(bot, pr, "alice"))
        body = json.loads(re.sub(r'"https?://[^"]*"', json.dumps(place), text))

        def listen() -> None:
            try:
                asked.append(server.accept())
            except TimeoutError:
                return

        thread = Thread(target=listen)
        thread.start()
        assert deliver(bot, body, "ssrf") == 202
        drained(bot)
        thread.join()
    assert asked == []


@pytest.mark.parametrize("role", ["none", "pull", "triage"])
def test_who_may_not_write_queues_nothing(bot: Stack, role: str) -> None:
    login = f"who-{role}"
    token = bot.forge.user(login)
    if role != "none":
        path = f"/repos/{REPO}/collaborators/{login}"
        bot.forge.call("PUT", path, {"permission": role}, token=bot.forge.user("alice"))
    pr = bot.propose(f"by-{role}", {f"by-{role}": "1"}, label="")
    labels = f"/repos/{REPO}/issues/{pr}/labels"
    bot.forge.call("POST", labels, {"labels": ["merge-queue"]}, token=token)
    said = {"body": "@mergebot queue"}
    bot.forge.call("POST", f"/repos/{REPO}/issues/{pr}/comments", said, token=token)
    assert deliver(bot, labelled(bot, pr, login), f"by-{role}") == 202
    drained(bot)
    assert bot.state(pr) in {"", "ejected"}
    assert f"Add by-{role}" not in bot.trunk()


@pytest.mark.parametrize("label", LOOKALIKES)
def test_a_label_that_only_looks_alike_does_nothing(bot: Stack, label: str) -> None:
    name = f"alike-{LOOKALIKES.index(label)}"
    pr = bot.propose(name, {name: "1"}, label="")
    bot.label(pr, label)
    drained(bot)
    assert bot.state(pr) == ""


def test_a_change_of_the_rules_does_not_rule_over_itself(bot: Stack) -> None:
    easy = '[[gate.steps]]\nname = "test"\nrun = "true"\n'
    pr = bot.propose("easy", {".mergebot.toml": easy, "broken": "1"})
    bot.wait(pr, "ejected")
    assert "Add easy" not in bot.trunk()


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_is_never_an_option_or_a_command(bot: Stack, branch: str) -> None:
    name = f"odd-{BRANCHES.index(branch)}"
    bot.work.start(name)
    bot.work.commit(f"Add {name}", {name: "1"})
    bot.work.push("-q", f"HEAD:refs/heads/{branch}")
    asked = {"title": f"$(id) `id` {name}", "head": branch, "base": "main"}
    made = bot.forge.call("POST", f"/repos/{REPO}/pulls", asked, token=bot.forge.user("alice"))
    assert made.status_code == 201, made.text
    pr = int(made.json()["number"])
    bot.label(pr)
    bot.wait(pr, "landed")
    assert bot.landed_once(name)
    assert list(bot.root.rglob("PWNED")) == []
    assert not Path("PWNED").exists()


def test_a_branch_called_like_the_trunks_ref_is_not_taken(bot: Stack) -> None:
    bot.work.start("double")
    bot.work.commit("Add double", {"double": "1"})
    for ref in ("refs/heads/refs/heads/main", "refs/tags/refs/heads/main"):
        assert bot.work.push("-q", f"HEAD:{ref}", check=0).code != 0
    bot.wait(bot.landing("after-double"), "landed")


def test_what_is_done_on_a_page_is_done_and_written_down(bot: Stack) -> None:
    browser = requests.Session()
    ours = {"Origin": bot.address}
    token = bot.forge.user("alice")
    browser.post(f"{bot.address}/login", data={"token": token}, headers=ours, timeout=10)
    page = browser.get(f"{bot.address}/{REPO}", timeout=10).text
    found = re.search(r'name="form" value="([0-9a-f]+)"', page)
    assert found
    for what in ("halt", "resume"):
        fields = {"form": found[1], "reason": f"to see the {what}"}
        address = f"{bot.address}/{REPO}/{what}"
        assert browser.post(address, data=fields, headers=ours, timeout=10).ok
        assert bool(bot.queue()["halted"]) == (what == "halt")
    deeds = bot.get(f"/api/v1/repos/{REPO}/audit")["deeds"]
    number = bot.forge.call("GET", "/users/alice").json()["id"]
    assert [each["kind"] for each in deeds[:2]] == ["resume", "halt"]
    assert deeds[1]["text"] == f"alice (id {number}): to see the halt"
    assert deeds[1]["at"]
    assert ADMIN not in json.dumps(deeds)
