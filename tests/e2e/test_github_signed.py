"""A trunk that takes signed commits only, and a bot that signs what it makes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forge import ForgeProcess
from tests.support.product import Project, Stack
from tests.support.signing import SshKey

pytestmark = pytest.mark.slow

EMAIL = "mergebot@users.noreply.localhost"
BOB = "bob@users.noreply.localhost"
SIGNED = {"type": "required_signatures"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SshKey]:
    root = tmp_path_factory.mktemp("keys")
    return {name: SshKey.made(root / name) for name in ("mergebot", "bob", "unknown")}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, SshKey]) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("signed")
    settings = {
        "MERGEBOT_COMMIT_KEY_FILE": str(keys["mergebot"].path),
        "MERGEBOT_COMMIT_EMAIL": EMAIL,
    }
    names = ("signed", "merging")
    with (
        ForgeProcess(root / "forge") as forge,
        Stack(root / "home", forge, names, settings) as running,
    ):
        for login in ("mergebot", "bob"):
            keys[login].known_to(forge, login)
        for name in names:
            guarded(running.project(name))
        yield running


def guarded(project: Project) -> None:
    if project.name == "merging":
        rules = (project.work.path / ".mergebot.toml").read_text()
        project.push_to_trunk("Merge", {".mergebot.toml": f'[queue]\nmethod = "merge"\n{rules}'})
    body: dict[str, Any] = {
        "name": "signed",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [SIGNED],
    }
    project.as_("ada", "POST", "/rulesets", body)


def verification(project: Project, sha: str) -> dict[str, Any]:
    found: dict[str, Any] = project.as_("ada", "GET", f"/commits/{sha}")["commit"]
    return {**found["verification"], "committer": found["committer"]["email"]}


def test_what_the_bot_makes_lands_signed_and_its_receipts_still_prove_the_trunk(
    stack: Stack, tmp_path: Path
) -> None:
    project = stack.project("signed")
    project.work.git("config", "commit.gpgSign", "false")
    for title in ("Add one", "Add two"):
        number = project.propose(title, {f"{title[-3:]}.txt": "1\n"})
        landed = project.becomes(number, "landed")
        known = verification(project, landed["merged"])
        assert (known["verified"], known["committer"]) == (True, EMAIL)
        assert project.pull(number)["merged"]
    clone = stack.forge.clone("ada/signed", tmp_path / "clone", "ada")
    clone.git("fetch", "-q", "origin", "refs/notes/mergebot:refs/notes/mergebot")
    key = tmp_path / "key.pem"
    key.write_text(stack.cli("receipt", "key").out)
    proof = stack.cli_in(clone.path, "receipt", "verify", "--key", str(key))
    assert proof.code == 0, proof.err


def test_an_authors_own_signature_lands_as_it_is(stack: Stack, keys: dict[str, SshKey]) -> None:
    project = stack.project("signed")
    keys["bob"].signs(project.work, BOB)
    number = project.propose("Signed by bob", {"bob.txt": "1\n"})
    head = project.work.head()
    assert project.becomes(number, "landed")["merged"] == head
    assert verification(project, head)["committer"] == BOB


def test_a_signature_that_the_forge_does_not_know_is_refused_before_the_gate(
    stack: Stack, keys: dict[str, SshKey]
) -> None:
    project = stack.project("signed")
    keys["unknown"].signs(project.work, BOB)
    number = project.propose("Signed by nobody", {"nobody.txt": "1\n"})
    refused = project.becomes(number, "ejected")
    assert (refused["reason"], refused["step"]) == ("branch_rules", None)
    stack.until(
        lambda: "does not verify" in "".join(project.comments(number)),
        "the reason",
    )


def test_a_merge_lands_the_authors_commits_so_they_have_to_be_signed(
    stack: Stack, keys: dict[str, SshKey]
) -> None:
    project = stack.project("merging")
    unsigned = project.propose("Unsigned", {"unsigned.txt": "1\n"})
    assert project.becomes(unsigned, "ejected")["reason"] == "branch_rules"
    keys["bob"].signs(project.work, BOB)
    signed = project.propose("Signed", {"signed.txt": "1\n"})
    landed = project.becomes(signed, "landed")
    assert verification(project, landed["merged"])["committer"] == EMAIL
    assert project.pull(signed)["merged"]


def test_the_doctor_finds_the_key_with_its_account(stack: Stack) -> None:
    assert "ok  commit key: mergebot knows it" in stack.cli("doctor").out


def test_the_key_is_written_nowhere(stack: Stack, keys: dict[str, SshKey]) -> None:
    secret = keys["mergebot"].path.read_bytes().splitlines()[2]
    written = [path for path in stack.home.parent.rglob("*") if path.is_file()]
    assert written
    assert [path for path in written if secret in path.read_bytes()] == []
