"""What a doctor sees of the forge, over HTTP."""

import time
from collections.abc import Iterator
from email.utils import formatdate
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mergebot.adapters.github.auth import AppCredentials, TokenCredentials
from mergebot.adapters.github.checkup import GithubCheckup
from mergebot.adapters.github.client import Client, Server
from mergebot.adapters.redact import Redactor
from mergebot.domain.setup import EVENTS, PERMISSIONS
from mergebot.ports.checkup import Lack
from tests.contract.github.scripted import Reply, scripted
from tests.support.forge import ForgeProcess, Receiver, receiving
from tests.support.waiting import eventually

REPO = "alice/looked-at"
NUMBERS = count(1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    with ForgeProcess(tmp_path_factory.mktemp("forge")) as process:
        process.repo(REPO)
        yield process


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def by_token(served: ForgeProcess) -> GithubCheckup:
    server = Server(Redactor(), served.api_url, timeout_s=5)
    return GithubCheckup(Client(server, TokenCredentials(served.user("alice"))), None)


def by_app(
    served: ForgeProcess, place: Path, receiver: Receiver, permissions: dict[str, str]
) -> GithubCheckup:
    asked = {
        "name": f"Bot {next(NUMBERS)}",
        "permissions": permissions,
        "events": list(EVENTS),
        "hook": {"url": receiver.url, "secret": "s"},
    }
    made: dict[str, Any] = served.call("POST", "/_forge/apps", asked).json()
    served.call("POST", f"/_forge/apps/{made['id']}/installations", {"account": "alice"})
    key = place / "key.pem"
    key.write_text(made["private_key"])
    server = Server(Redactor(), served.api_url, timeout_s=5)
    credentials = AppCredentials(server, app_id=str(made["id"]), key_file=key)
    return GithubCheckup(Client(server, credentials), credentials.app)


def test_the_forges_clock_agrees_on_one_machine(served: ForgeProcess) -> None:
    assert abs(by_token(served).clock_ahead_s()) < 5


def test_a_clock_that_is_off_is_told_by_how_much() -> None:
    with scripted() as forge:
        behind = formatdate(time.time() - 300, usegmt=True)
        forge.on("GET", "/rate_limit", Reply(content={}, headers={"Date": behind}))
        checkup = GithubCheckup(Client(Server(Redactor(), forge.url), TokenCredentials("t")), None)
        assert 295 < checkup.clock_ahead_s() < 305


@pytest.mark.parametrize(
    ("scopes", "lack"),
    [
        ("repo, workflow", Lack()),
        ("repo", Lack(useful=("workflow",))),
        ("public_repo, workflow", Lack(needed=("repo",))),
        (None, Lack()),
    ],
)
def test_the_scopes_of_a_classic_token_are_looked_at(scopes: str | None, lack: Lack) -> None:
    with scripted() as forge:
        told = {} if scopes is None else {"X-OAuth-Scopes": scopes}
        forge.on("GET", "/user", Reply(content={"id": 1, "login": "bot"}, headers=told))
        checkup = GithubCheckup(Client(Server(Redactor(), forge.url), TokenCredentials("t")), None)
        assert checkup.lack(REPO) == lack


def test_what_an_app_was_not_given_is_named(
    served: ForgeProcess, tmp_path: Path, receiver: Receiver
) -> None:
    given = PERMISSIONS | {"contents": "read"}
    del given["administration"]
    lack = by_app(served, tmp_path, receiver, given).lack(REPO)
    assert lack == Lack(("contents: write",), ("administration: read",))


def test_an_app_that_has_everything_lacks_nothing(
    served: ForgeProcess, tmp_path: Path, receiver: Receiver
) -> None:
    assert by_app(served, tmp_path, receiver, PERMISSIONS).lack(REPO) == Lack()


def test_what_a_webhook_failed_to_deliver_is_delivered_again_and_then_forgotten(
    served: ForgeProcess, receiver: Receiver
) -> None:
    receiver.answer = 500
    config = {"url": receiver.url, "content_type": "json"}
    body = {"name": "web", "events": ["issues"], "config": config}
    served.call("POST", f"/repos/{REPO}/hooks", body)
    served.call("POST", f"/repos/{REPO}/issues", {"title": "An issue"})
    receiver.wait_for("issues.opened")
    checkup = by_token(served)
    (webhook,) = eventually(
        lambda: [each for each in checkup.webhooks(REPO) if len(each.failures) > 1],
        within_s=10,
        what="the failed deliveries",
    )
    assert webhook.url == receiver.url
    assert [each.event for each in webhook.failures] == ["issues", "ping"]
    assert "500" in webhook.failures[0].how

    receiver.answer = 202
    before = {each.headers["x-github-delivery"] for each in receiver.got}
    for failure in webhook.failures:
        checkup.redeliver(REPO, webhook, failure)
    eventually(
        lambda: not checkup.webhooks(REPO)[-1].failures, within_s=10, what="nothing to be lost"
    )
    assert {each.headers["x-github-delivery"] for each in receiver.got} == before


def test_an_apps_webhook_is_looked_at_and_its_failures_are_delivered_again(
    served: ForgeProcess, tmp_path: Path, receiver: Receiver
) -> None:
    receiver.answer = 500
    checkup = by_app(served, tmp_path, receiver, PERMISSIONS)
    served.call("POST", f"/repos/{REPO}/issues", {"title": "Another"})
    (webhook,) = eventually(
        lambda: [each for each in checkup.webhooks(REPO) if each.failures],
        within_s=10,
        what="a failed delivery",
    )
    assert (webhook.id, webhook.url, set(webhook.events)) == (0, receiver.url, set(EVENTS))
    receiver.answer = 202
    for failure in webhook.failures:
        checkup.redeliver(REPO, webhook, failure)
    eventually(lambda: not checkup.webhooks(REPO)[0].failures, within_s=10, what="no failures")


def test_the_forges_own_buttons_are_named(served: ForgeProcess) -> None:
    assert {"merge", "squash", "rebase"} <= set(by_token(served).buttons(REPO))
