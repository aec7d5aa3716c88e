"""What is wrong with a pull request, a file or a delivery is said where its author will look."""

import hmac
import json
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import requests

from mergebot.domain.limits import WEBHOOK_BYTES_MAX
from tests.support.forge import ForgeProcess, Work
from tests.support.product import RULES, SECRET, Project, Stack

pytestmark = pytest.mark.slow

NAMES = ("edges", "broken", "missing", "vanishing")
UNKNOWN_KEYS = RULES + "\n[queue]\nlable = 'x'\nbatch = -1\n"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("bad")
    settings = {"MERGEBOT_RECONCILE_SECONDS": "3"}
    with (
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, NAMES, settings) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def edges(stack: Stack) -> Project:
    return stack.project("edges")


def told(project: Project, number: int, *, state: str, sentence: str) -> dict[str, Any]:
    """Wait until the pull request's own comments say it, and return what the API says."""
    found = project.becomes(number, state)
    project.stack.until(
        lambda: any(sentence in each for each in project.comments(number)), f"{sentence!r} said"
    )
    return found


def deliver(stack: Stack, body: bytes, *, secret: str = SECRET) -> requests.Response:
    headers = {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "bad-input",
        "X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, "sha256").hexdigest(),
        "Content-Type": "application/json",
    }
    return requests.post(f"{stack.url}/hooks/github", data=body, headers=headers, timeout=30)


def test_every_wrong_key_of_a_changed_file_is_named_to_its_author(edges: Project) -> None:
    pr = edges.propose("Wrong keys", {".mergebot.toml": UNKNOWN_KEYS}, claims=".mergebot.toml")
    found = told(edges, pr, state="ejected", sentence="queue.lable is no known key; perhaps label")
    assert found["reason"] == "invalid_config"
    assert "queue.batch is the number -1; it must be" in found["text"]


def test_a_label_by_somebody_without_write_permission_queues_nothing(edges: Project) -> None:
    edges.stack.forge.user("tria")
    edges.as_("ada", "PUT", "/collaborators/tria", {"permission": "triage"})
    pr = edges.propose("By triage", {"triage": "1"}, label="")
    edges.label(pr, by="tria")
    found = told(edges, pr, state="ejected", sentence="tria has triage permission here")
    assert (found["reason"], found["failures_left"]) == ("not_permitted", 3)


def test_a_fork_is_refused_where_the_rules_take_none(edges: Project, tmp_path: Path) -> None:
    forge = edges.stack.forge
    token = forge.user("zoe")
    assert forge.call("POST", "/repos/ada/edges/forks", {}, token=token).ok
    work: Work = forge.clone("zoe/edges", tmp_path / "fork")
    work.start("forked")
    work.commit("Fork", {"forked": "1"})
    work.push("-q", "HEAD:forked")
    asked = {"title": "Fork", "head": "zoe:forked", "base": "main"}
    pr = int(forge.call("POST", "/repos/ada/edges/pulls", asked, token=token).json()["number"])
    edges.label(pr)
    found = told(edges, pr, state="ejected", sentence="it comes from a fork")
    assert found["reason"] == "not_permitted"


def test_a_change_of_nothing_is_sent_back(edges: Project) -> None:
    pr = edges.propose("Nothing", {})
    found = told(edges, pr, state="ejected", sentence="the pull request changes nothing")
    assert found["reason"] == "empty"


def test_a_head_that_equals_its_base_opens_no_pull_request(edges: Project) -> None:
    edges.work.start("equal")
    options = ("-o", "title=Equal", "-o", "label=merge-queue")
    refused = edges.work.push("-q", "HEAD:refs/for/main", *options, check=0)
    assert refused.code != 0
    assert "no commits between main and the pushed commit" in refused.err


def test_a_head_that_became_its_base_is_closed_and_held_against_nobody(edges: Project) -> None:
    pr = edges.propose("Emptied", {"checks/slow": "sleep 30\n"})
    edges.becomes(pr, "gating")
    edges.work.git("fetch", "-q", "origin")
    edges.work.push("-q", "-f", "origin/main:emptied")
    found = told(edges, pr, state="cancelled", sentence="Nothing was held against it.")
    assert found["failures_left"] == 3


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [("../up", 'holds the segment "\\.\\."'), ('x"]\nclaims = ["y', "not valid TOML at line 3")],
)
def test_a_claim_block_that_cannot_be_used_says_why(
    edges: Project, claim: str, sentence: str
) -> None:
    pr = edges.propose(f"Claim {len(claim)}", {f"c{len(claim)}": "1"}, claims=claim)
    found = edges.becomes(pr, "ejected")
    assert found["reason"] == "claim_missing"
    assert sentence.replace("\\", "") in found["text"]
    assert found["next_action"].startswith("put a valid mergebot claim block")


def test_a_broken_file_on_the_trunk_halts_and_loses_nothing(stack: Stack) -> None:
    project = stack.project("broken")
    project.push_to_trunk("Break the rules", {".mergebot.toml": "[queue\n"})
    stack.until(project.halted, "the queue to halt")
    pr = project.propose("Waits", {"waits": "1"})
    told(project, pr, state="queued", sentence="on the trunk is broken")
    assert ".mergebot.toml is broken: The file is not" in str(project.halted())

    project.push_to_trunk("Mend the rules", {".mergebot.toml": RULES})

    project.becomes(pr, "landed")
    assert project.halted() is None


def test_a_trunk_without_the_file_is_told_the_smallest_one(stack: Stack) -> None:
    project = stack.project("missing")
    project.work.start("remove")
    project.work.git("rm", "-q", ".mergebot.toml")
    project.work.git("commit", "-q", "-m", "Remove the rules")
    project.work.push("-q", "HEAD:main")
    tip = project.work.head()
    stack.until(lambda: project.queue()["rules"]["at"] == tip, "the rules to be read")
    pr = project.propose("No gate", {"no-gate": "1"})
    found = told(project, pr, state="ejected", sentence="```toml\n[[gate.steps]]\nname = ")
    assert found["reason"] == "invalid_config"


def test_a_repository_that_vanishes_stops_itself_only(stack: Stack, edges: Project) -> None:
    project = stack.project("vanishing")
    (hook,) = project.as_("ada", "GET", "/hooks")
    project.as_("ada", "DELETE", f"/hooks/{hook['id']}")
    token = stack.forge.user("ada")
    pr = project.propose("Gone", {"gone": "1"}, label="")
    project.label(pr)
    stack.until(partial(project.state, pr), "the change to be queued")
    assert stack.forge.call("DELETE", "/repos/ada/vanishing", token=token).ok

    other = edges.propose("Goes on", {"goes-on": "1"})

    edges.becomes(other, "landed")
    stack.until(
        lambda: "not found" in str(project.queue()["waiting"]).casefold(), "the page to say so"
    )
    assert project.state(pr) in {"queued", "gating", "verified", "landing"}


def test_odd_deliveries_get_one_sentence_each(stack: Stack) -> None:
    sender = {"id": 1, "login": "admin"}
    repository = {"id": 999, "full_name": "some/where"}
    pushed = {"ref": "refs/heads/main", "after": "0" * 40}
    body = json.dumps(pushed | {"repository": repository, "sender": sender}).encode()
    forged = deliver(stack, body, secret="wrong")
    large = deliver(stack, b" " * (WEBHOOK_BYTES_MAX + 1))
    elsewhere = deliver(stack, body)
    assert (forged.status_code, large.status_code) == (401, 413)
    assert forged.json()["error"] == "the signature does not match the body"
    assert large.json()["error"] == "the body is larger than the 26,214,400 bytes allowed"
    assert elsewhere.status_code == HTTPStatus.ACCEPTED
    assert stack.get("edges", "/queue")["halted"] is None
