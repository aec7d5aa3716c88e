"""Signed commits on the local forge: verified by git against what accounts registered."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.forge import ForgeProcess, Work
from tests.support.signing import SshKey

EMAIL = "alice@users.noreply.localhost"


@pytest.fixture
def key(tmp_path: Path) -> SshKey:
    return SshKey.made(tmp_path / "key")


def verification(forge: ForgeProcess, name: str, sha: str) -> dict[str, Any]:
    found: dict[str, Any] = forge.call("GET", f"/repos/{name}/commits/{sha}").json()
    known: dict[str, Any] = found["commit"]["verification"]
    return known


def pushed(work: Work, title: str) -> str:
    sha = work.commit(title, {f"{title}.txt": title})
    work.push("-q", "HEAD:refs/heads/side")
    return sha


def test_a_signature_counts_by_a_key_and_an_address_of_one_account(
    forge: ForgeProcess, name: str, work: Work, key: SshKey
) -> None:
    assert verification(forge, name, pushed(work, "plain"))["reason"] == "unsigned"
    key.signs(work, EMAIL)
    sha = pushed(work, "signed")
    assert verification(forge, name, sha)["reason"] == "unknown_key"
    key.known_to(forge, "alice")
    known = verification(forge, name, sha)
    assert (known["verified"], known["reason"]) == (True, "valid")
    assert known["signature"].startswith("-----BEGIN SSH SIGNATURE-----\n")
    assert "gpgsig" not in known["payload"]
    key.signs(work, "somebody@example.org")
    assert verification(forge, name, pushed(work, "elsewhere"))["reason"] == "no_user"
    token = forge.user("alice")
    listed = forge.call("GET", "/users/alice/ssh_signing_keys").json()
    shown = next(each for each in listed if each["key"] == key.line)
    gone = forge.call("DELETE", f"/user/ssh_signing_keys/{shown['id']}", token=token)
    assert gone.status_code == 204
    assert verification(forge, name, sha)["reason"] == "unknown_key"


def test_a_commit_that_was_changed_after_it_was_signed_is_not_verified(
    forge: ForgeProcess, name: str, work: Work, key: SshKey
) -> None:
    key.known_to(forge, "alice")
    key.signs(work, EMAIL)
    sha = work.commit("Signed", {"a.txt": "a"})
    raw = work.path / "raw"
    raw.write_text(work.git("cat-file", "commit", sha).out.replace("Signed", "Forged") + "\n")
    forged = work.git("hash-object", "-t", "commit", "-w", str(raw)).out
    work.push("-q", f"{forged}:refs/heads/side")
    assert verification(forge, name, forged)["reason"] == "invalid"


def test_a_protected_branch_that_requires_signatures_takes_verified_ones_only(
    forge: ForgeProcess, name: str, work: Work, key: SshKey
) -> None:
    rules = dict.fromkeys(
        ["required_status_checks", "required_pull_request_reviews", "restrictions"]
    )
    place = f"/repos/{name}/branches/main/protection"
    assert forge.call("PUT", place, rules | {"enforce_admins": True}).status_code == 200
    asked = forge.call("POST", f"{place}/required_signatures")
    assert (asked.status_code, asked.json()["enabled"]) == (200, True)
    work.commit("Plain", {"a.txt": "a"})
    assert "must have verified signatures" in work.push("HEAD:main", check=0).err
    work.git("reset", "-q", "--hard", "HEAD~1")
    key.signs(work, EMAIL)
    work.commit("Signed", {"b.txt": "b"})
    assert "must have verified signatures" in work.push("HEAD:main", check=0).err
    key.known_to(forge, "alice")
    assert work.push("HEAD:main", check=0).code == 0
    assert forge.call("DELETE", f"{place}/required_signatures").status_code == 204


@pytest.mark.parametrize("key_", ["", "nonsense", "ssh-ed25519 ???"])
def test_what_is_no_key_is_refused(forge: ForgeProcess, key_: str) -> None:
    body = {"title": "x", "key": key_}
    made = forge.call("POST", "/user/ssh_signing_keys", body, token=forge.user("alice"))
    assert made.status_code == 422
