"""Who reported a check on a commit, as the local forge tells over HTTP."""

from collections.abc import Iterator

import pytest

from mergebot.adapters.github.auth import TokenCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.redact import Redactor
from mergebot.domain.external import Account, App, CheckSeen
from mergebot.domain.ids import Sha
from tests.support.ci import CiApp
from tests.support.forge import ForgeProcess

REPO = "alice/reported"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    with ForgeProcess(tmp_path_factory.mktemp("forge")) as process:
        process.repo(REPO)
        yield process


@pytest.fixture(scope="module")
def ci(served: ForgeProcess) -> CiApp:
    return CiApp.installed(served, "Our CI", "alice")


def seen(served: ForgeProcess) -> dict[str, CheckSeen]:
    credentials = TokenCredentials(served.user("alice"))
    bot = GithubForge(Server(Redactor(), served.api_url, timeout_s=5), credentials)
    return {each.name: each for each in bot.checks(REPO, tip(served))}


def tip(served: ForgeProcess) -> Sha:
    return Sha(served.call("GET", f"/repos/{REPO}/branches/main").json()["commit"]["sha"])


def test_an_app_is_known_by_slug_and_number_whether_by_check_run_or_by_status(
    served: ForgeProcess, ci: CiApp
) -> None:
    ci.run(REPO, tip(served), "by run", "success")
    ci.status(REPO, tip(served), "by status", "success")
    found = seen(served)
    assert found["by run"].by == found["by status"].by == App("our-ci", ci.id)


def test_a_person_is_known_by_login_and_number(served: ForgeProcess) -> None:
    alice = served.call("GET", "/user", token=served.user("alice")).json()
    body = {"context": "by hand", "state": "success"}
    served.call("POST", f"/repos/{REPO}/statuses/{tip(served)}", body, token=served.user("alice"))
    assert seen(served)["by hand"].by == Account("alice", alice["id"])


def test_an_app_whose_number_is_told_to_nobody_is_known_by_its_slug(
    served: ForgeProcess, ci: CiApp
) -> None:
    ci.status(REPO, tip(served), "private", "success")
    served.fault("error_before", path=f"/apps/{ci.slug}", status=404, message="Not Found", times=1)
    assert seen(served)["private"].by == App("our-ci", 0)
