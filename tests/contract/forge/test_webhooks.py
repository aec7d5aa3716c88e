from collections.abc import Callable
from typing import Any

from mergebot.localforge.webhooks import signatures
from tests.support.forge import ForgeProcess, Receiver, Work
from tests.support.waiting import eventually

Opened = Callable[[str], int]


def test_the_signature_is_githubs_published_vector() -> None:
    signed = signatures("It's a Secret to Everybody", b"Hello, World!")

    assert signed["X-Hub-Signature-256"] == (
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    )


def test_every_delivery_is_signed_over_its_exact_bytes_and_has_githubs_headers(
    forge: ForgeProcess, name: str, hooked: Receiver
) -> None:
    forge.client("alice").get_repo(name).create_issue("Ünïcode ☃ 💥")

    hooked.wait_for("issues.opened")
    delivery = next(d for d in hooked.got if d.event == "issues")
    assert delivery.signed_with("hush")
    assert delivery.headers["x-hub-signature"].startswith("sha1=")
    assert delivery.headers["user-agent"].startswith("GitHub-Hookshot/")
    assert delivery.headers["x-github-hook-installation-target-type"] == "repository"
    assert len(delivery.headers["x-github-delivery"]) == 36
    assert delivery.headers["content-type"] == "application/json"


def test_a_proposal_is_told_in_githubs_order(work: Work, hooked: Receiver) -> None:
    work.commit("Change", {"file": "text"})
    work.push("-q", "HEAD:refs/for/main", "-o", "label=merge-queue")

    names = hooked.wait_for("pull_request.labeled")

    assert names == ["push", "create", "pull_request.opened", "pull_request.labeled"]
    told = hooked.last("pull_request.labeled")
    assert (told["label"]["name"], told["sender"]["login"]) == ("merge-queue", "alice")
    assert told["pull_request"]["mergeable"] is None
    assert told["repository"]["full_name"] == told["pull_request"]["base"]["repo"]["full_name"]


def test_a_push_tells_before_after_and_its_commits(work: Work, hooked: Receiver) -> None:
    before = work.head()
    after = work.commit("Change", {"file": "text"})
    work.push("-q", "HEAD:refs/heads/main")

    hooked.wait_for("push")
    told = hooked.last("push")
    assert (told["ref"], told["before"], told["after"]) == ("refs/heads/main", before, after)
    assert [(c["id"], c["added"]) for c in told["commits"]] == [(after, ["file"])]
    assert (told["created"], told["deleted"], told["forced"]) == (False, False, False)


def test_a_failed_delivery_is_logged_not_retried_and_sent_again_on_request(
    forge: ForgeProcess, name: str, hooked: Receiver
) -> None:
    hook = next(iter(forge.client("alice").get_repo(name).get_hooks()))
    path = f"/repos/{name}/hooks/{hook.id}/deliveries"
    hooked.answer = 500
    forge.client("alice").get_repo(name).create_issue("Lost")
    hooked.wait_for("issues.opened")

    def failed() -> list[dict[str, Any]]:
        return [d for d in forge.call("GET", path).json() if d["status_code"] == 500]

    lost = eventually(failed, within_s=10, what="the failure was logged")[0]
    hooked.answer = 202
    asked = forge.call("POST", f"{path}/{lost['id']}/attempts")
    eventually(lambda: len(hooked.names()) == 2, within_s=10, what="it came again")

    guids = [d.headers["x-github-delivery"] for d in hooked.got if d.event == "issues"]
    assert asked.status_code == 202
    assert guids == [lost["guid"]] * 2
    newest = forge.call("GET", path).json()[0]
    full = forge.call("GET", f"{path}/{newest['id']}").json()
    assert (newest["redelivery"], full["request"]["payload"]["action"]) == (True, "opened")


def test_the_secret_of_a_hook_is_never_shown(
    forge: ForgeProcess, name: str, hooked: Receiver
) -> None:
    listed = forge.call("GET", f"/repos/{name}/hooks")

    assert "hush" not in listed.text
    assert listed.json()[0]["config"]["secret"] == "********"


def test_webhooks_are_dropped_doubled_and_reordered_on_request(
    forge: ForgeProcess, name: str, hooked: Receiver
) -> None:
    repo = forge.client("alice").get_repo(name)
    forge.fault("drop_webhooks", path="issues", times=1)
    repo.create_issue("dropped")
    forge.fault("duplicate_webhooks", path="issues", times=1)
    repo.create_issue("doubled")
    eventually(lambda: len(hooked.names()) == 2, within_s=10, what="two copies came")
    forge.fault("reorder_webhooks", path="issues", times=1)
    repo.create_issue("later")
    repo.create_issue("sooner")
    eventually(lambda: len(hooked.names()) == 4, within_s=10, what="all came")

    titles = [d.payload["issue"]["title"] for d in hooked.got if d.event == "issues"]
    assert titles == ["doubled", "doubled", "sooner", "later"]


def test_statuses_and_renames_are_told(
    forge: ForgeProcess, name: str, work: Work, hooked: Receiver
) -> None:
    repo = forge.client("alice").get_repo(name)
    repo.get_commit(work.head()).create_status("success", context="ci", description="fine")
    repo.edit(name=f"{name.split('/')[1]}-renamed")

    hooked.wait_for("status", "repository.renamed")
    told = hooked.last("status")
    assert (told["sha"], told["state"], told["context"]) == (work.head(), "success", "ci")
    assert [b["name"] for b in told["branches"]] == ["main"]


def test_forty_at_once_are_all_delivered_in_order(
    forge: ForgeProcess, name: str, hooked: Receiver
) -> None:
    repo = forge.client("alice").get_repo(name)
    for n in range(40):
        repo.create_issue(str(n))

    eventually(lambda: len(hooked.names()) == 40, within_s=20, what="all came")
    titles = [d.payload["issue"]["title"] for d in hooked.got if d.event == "issues"]
    assert titles == [str(n) for n in range(40)]


def test_an_app_is_told_by_its_own_hook_with_its_installation(
    forge: ForgeProcess, name: str, receiver: Receiver
) -> None:
    hook = {"url": receiver.url, "secret": "apps"}
    asked = {"name": "Told Bot", "permissions": {"issues": "write"}, "events": ["issues"]}
    app = forge.call("POST", "/_forge/apps", asked | {"hook": hook}).json()
    where = {"account": "alice", "repositories": [name.split("/")[1]]}
    installed = forge.call("POST", f"/_forge/apps/{app['id']}/installations", where).json()

    forge.client("alice").get_repo(name).create_issue("For the App")

    receiver.wait_for("issues.opened")
    delivery = receiver.got[-1]
    assert delivery.payload["installation"]["id"] == installed["id"]
    assert delivery.signed_with("apps")
    assert delivery.headers["x-github-hook-installation-target-type"] == "integration"
