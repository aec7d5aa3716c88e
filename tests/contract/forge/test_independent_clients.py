"""The forge as clients see it that know nothing of it: octokit, its webhook receiver, and gh."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import octokit
from tests.support.forge import ForgeProcess, Receiver

SCRIPT = Path(__file__).with_name("octokit.mjs")
MODULES = octokit.CACHE / "node"
NODE = bool(shutil.which("node")) and not octokit.trouble()
GH = bool(shutil.which("gh"))
# A client that is not on this machine has no tests here; in CI all are, see .ci/setup.
CLIENTS = [name for name, here in (("octokit", NODE), ("gh", GH)) if here]


def node(given: dict[str, Any]) -> Any:
    octokit.npm_install(MODULES, "@octokit/rest@22.0.1", "@octokit/webhooks@14.2.0")
    done = subprocess.run(
        ["node", SCRIPT], input=json.dumps(given | {"modules": str(MODULES)}),
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_octokit(forge: ForgeProcess, name: str, number: int) -> tuple[str, list[str], Any]:
    owner, repo = name.split("/")
    about = {"owner": owner, "repo": repo, "pull_number": number}
    said = node(about | {"token": forge.user("alice"), "api": forge.api_url})
    return said["head"], said["labels"], said["refused"]


def by_gh(forge: ForgeProcess, name: str, number: int) -> tuple[str, list[str], Any]:
    def gh(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            ["gh", "api", "-H", f"Authorization: token {forge.user('alice')}", *arguments],
            env=os.environ | {"GH_TOKEN": "unused", "HOME": str(forge.root), "NO_PROXY": "*"},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout

    base = f"{forge.api_url}/repos/{name}"
    _, head = gh(f"{base}/pulls/{number}", "--jq", ".head.sha")
    _, labels = gh("--paginate", f"{base}/labels?per_page=2", "--jq", ".[].name")
    gh(f"{base}/issues/{number}/labels", "-f", "labels[]=merge-queue")
    _, refused = gh("-X", "PUT", f"{base}/pulls/{number}/merge", "-f", f"sha={'0' * 40}")
    answer = json.loads(refused)
    return head.strip(), labels.split(), [int(answer["status"]), answer["message"]]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_githubs_own_reads_writes_pages_and_is_refused(
    forge: ForgeProcess, name: str, opened: Callable[[str], int], client: str
) -> None:
    number = opened("feature")
    for label in ("one", "two", "three"):
        forge.call("POST", f"/repos/{name}/labels", {"name": label, "color": "ededed"})
    use = {"octokit": by_octokit, "gh": by_gh}[client]
    head, labels, refused = use(forge, name, number)
    pull = forge.call("GET", f"/repos/{name}/pulls/{number}").json()
    assert head == pull["head"]["sha"]
    assert {"one", "two", "three"} <= set(labels)
    assert [each["name"] for each in pull["labels"]] == ["merge-queue"]
    assert refused == [409, "Head branch was modified. Review and try the merge again."]


@pytest.mark.parametrize("client", [each for each in CLIENTS if each == "octokit"])
def test_githubs_own_receiver_accepts_the_deliveries(
    hooked: Receiver, opened: Callable[[str], int], client: str
) -> None:
    opened("feature")
    hooked.wait_for("push", "pull_request.opened")
    kept = [
        {
            "id": each.headers["x-github-delivery"],
            "name": each.event,
            "body": each.raw.decode(),
            "signature": each.headers["x-hub-signature-256"],
        }
        for each in list(hooked.got)
    ]
    heard = node({"deliveries": kept, "secret": "hush"})["heard"]
    assert [name for _, name, _ in heard] == [each["name"] for each in kept]
