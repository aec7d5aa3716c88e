"""The life of repositories under a GitHub App: installed, expired, renamed, taken away."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from mergebot.domain.setup import EVENTS, PERMISSIONS
from tests.support.forge import ForgeProcess
from tests.support.product import RULES, SCRIPT, SECRET, Project, Stack

pytestmark = pytest.mark.slow

RED = {"checks/broken": "echo 'src/sum.py:7: sum is wrong'; exit 3\n"}


@dataclass
class AppStack(Stack):
    """A bot that is an App: no token, no list of repositories, one webhook for all."""

    app: dict[str, Any] = field(default_factory=dict)
    installations: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> Self:
        hook = {"url": f"{self.url}/hooks/github", "secret": SECRET}
        asked = {"name": "Landing Bot", "owner": "admin", "permissions": PERMISSIONS}
        made = self.forge.call(
            "POST", "/_forge/apps", asked | {"events": list(EVENTS), "hook": hook}
        )
        self.app = made.json()
        key = self.home.parent / "app.pem"
        key.write_text(self.app["private_key"])
        key.chmod(0o600)
        self.settings |= {
            "MERGEBOT_GITHUB_APP_ID": str(self.app["id"]),
            "MERGEBOT_GITHUB_APP_KEY_FILE": str(key),
            "MERGEBOT_RECONCILE_SECONDS": "3600",
        }
        for name in self.names:
            self._create(name)
        self.install("ada", list(self.names))
        self.start()
        return self

    @property
    def environment(self) -> dict[str, str]:
        kept = super().environment
        return {
            name: value
            for name, value in kept.items()
            if name not in {"MERGEBOT_GITHUB_TOKEN", "MERGEBOT_REPOS"}
        }

    def install(self, account: str, names: list[str]) -> None:
        """Install the App on an account's repositories, or choose them anew."""
        if account in self.installations:
            path = f"/_forge/installations/{self.installations[account]}/repositories"
            assert self.forge.call("PUT", path, {"repositories": names}).ok
            return
        path = f"/_forge/apps/{self.app['id']}/installations"
        made = self.forge.call("POST", path, {"account": account, "repositories": names})
        self.installations[account] = made.json()["id"]

    def _create(self, name: str) -> None:
        self.forge.repo(f"ada/{name}")
        self.forge.user("bob")
        path = f"/repos/ada/{name}/collaborators/bob"
        self.forge.call("PUT", path, {"permission": "push"})
        work = self.forge.clone(f"ada/{name}", self.home.parent / "made" / name)
        work.commit("Start", {".mergebot.toml": RULES, "test.sh": SCRIPT})
        work.push("HEAD:main")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppStack]:
    root = tmp_path_factory.mktemp("app")
    with (
        ForgeProcess(root / "forge") as forge,
        AppStack(root / "home", forge, ("landing", "failing", "moving")) as running,
    ):
        yield running


def check_of(project: Project, sha: str) -> dict[str, Any]:
    found = project.as_("ada", "GET", f"/commits/{sha}/check-runs?check_name=mergebot")
    runs: list[dict[str, Any]] = found["check_runs"]
    return runs[0] if runs else {}


def test_an_app_lands_changes_and_goes_on_when_its_tokens_expire(stack: AppStack) -> None:
    project = stack.project("landing")
    first = project.propose("Add one", {"one.txt": "1\n"})
    landed = project.becomes(first, "landed")
    assert project.pull(first)["merged"] is True
    stack.until(lambda: check_of(project, landed["merged"]).get("conclusion") == "success", "check")

    assert stack.forge.call("POST", "/_forge/tokens/expire").status_code == 204
    second = project.propose("Add two", {"two.txt": "2\n"})
    project.becomes(second, "landed")
    assert project.trunk()[:2] == ["Add two", "Add one"]


def test_limits_that_an_app_runs_into_are_waited_for(stack: AppStack) -> None:
    project = stack.project("landing")
    number = project.propose("Add three", {"three.txt": "3\n"}, label="")
    project.label(number)
    for status, more in ((403, {"retry_after": 1}), (429, {"retry_after": 1}), (403, {})):
        stack.forge.fault("rate_limit", path="/repos/ada/landing/", status=status, times=2, **more)
    assert project.becomes(number, "landed", within_s=90)["attempt"] == 1
    stack.until(lambda: "landed" in "".join(project.comments(number)), "the last word")
    assert len(project.comments(number)) == 1


def test_a_failure_is_remarked_on_its_line_and_tried_again_by_a_button(stack: AppStack) -> None:
    project = stack.project("failing")
    number = project.propose("Break it", RED)
    head = project.pull(number)["head"]["sha"]
    project.becomes(number, "ejected")
    stack.until(lambda: check_of(project, head).get("conclusion") == "failure", "the red check")
    run = check_of(project, head)
    notes = project.as_("ada", "GET", f"/check-runs/{run['id']}/annotations")
    assert [(each["path"], each["start_line"]) for each in notes] == [("src/sum.py", 7)]

    press = f"/_forge/repos/ada/failing/check-runs/{run['id']}/actions"
    stack.forge.call("POST", press, {"login": "bob", "identifier": "rerun"})
    again = stack.until(
        lambda: stack.get("failing", f"/candidates/{number}")["attempt"] == 2, "a second attempt"
    )
    assert again
    project.becomes(number, "ejected")


def test_lanes_open_and_close_with_the_repositories_of_the_installation(stack: AppStack) -> None:
    there = [name for name in (*stack.names, "moved") if stack.health(name)]
    stack._create("late")
    stack.install("ada", [*there, "late"])
    stack.until(lambda: stack.health("late") == "green", "the new lane")
    project = stack.project("late")
    number = project.propose("Add one", {"one.txt": "1\n"})
    project.becomes(number, "landed")

    stack.install("ada", there)
    stack.until(lambda: stack.get("late", "/queue") is None, "the lane to close")
    assert stack.health("landing") == "green"


def test_a_renamed_repository_keeps_its_queue(stack: AppStack) -> None:
    project = stack.project("moving")
    number = project.propose("Held back", {"one.txt": "1\n"}, label="merge-queue-hold")
    project.label(number)
    project.becomes(number, "parked")

    stack.forge.call("PATCH", "/repos/ada/moving", {"name": "moved"})
    stack.until(lambda: stack.get("moved", "/queue"), "the queue under its new name")
    moved = stack.project("moved")
    moved.unlabel(number, "merge-queue-hold")
    moved.becomes(number, "landed")
    assert "Held back" in moved.trunk()

    stack.forge.call("PATCH", "/repos/ada/moved", {"archived": True})
    stack.until(lambda: stack.get("moved", "/queue") is None, "the lane to close")


def test_the_doctor_finds_the_apps_repositories_its_webhook_and_its_grants(
    stack: AppStack,
) -> None:
    told = stack.cli("doctor").out
    for about in ("what the bot was given", "branch rules", "webhook"):
        assert f"ok  ada/landing: {about}: " in told, told
    assert "permission: the bot has" not in told


def test_no_token_is_written_in_clear_anywhere(stack: AppStack) -> None:
    home = Path(stack.home)
    kept = [path for path in home.rglob("*") if path.is_file() and path.suffix != ".pem"]
    found = [path for path in kept if b"ghs_" in path.read_bytes()]
    assert found == []
    assert "ghs_" not in stack.log()
