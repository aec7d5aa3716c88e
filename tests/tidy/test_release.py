"""How a release is made: from audited packages, listed and attested, each job with its own rights."""

import re
from typing import Any

import yaml

from tests.tidy.test_deployment import UNTRUSTED, steps
from tests.tidy.tracked import text

PATH = ".github/workflows/release.yml"
RELEASE: dict[Any, Any] = yaml.safe_load(text(PATH))
JOBS: dict[str, dict[str, Any]] = RELEASE["jobs"]
SCRIPTS = {
    name: "\n".join(step.get("run", "") for step in job["steps"]) for name, job in JOBS.items()
}


def test_each_job_has_the_rights_that_it_needs_and_no_other() -> None:
    assert RELEASE["permissions"] == {}
    rights = {
        name: {right for right, kind in job["permissions"].items() if kind == "write"}
        for name, job in JOBS.items()
    }
    assert rights == {
        "audit": set(),
        "build": {"id-token", "attestations"},
        "image": {"id-token", "attestations", "packages"},
        "publish": {"contents"},
    }


def test_a_release_comes_from_a_tag_and_from_nobodys_pull_request() -> None:
    # YAML 1.1 reads the key `on` as true.
    assert set(RELEASE[True]) == {"push", "schedule"}
    assert RELEASE[True]["push"] == {"tags": ["v*"]}
    assert all("if" in JOBS[name] for name in ("build", "image"))


def test_no_value_is_pasted_into_a_script_and_no_token_is_left_behind() -> None:
    assert not [name for name, script in SCRIPTS.items() if UNTRUSTED.search(script)]
    assert "secrets." not in text(PATH)
    out = [step for step in steps(RELEASE) if step.get("uses", "").startswith("actions/checkout@")]
    assert out
    assert all(step["with"]["persist-credentials"] is False for step in out)


def test_actions_are_named_by_version_or_commit() -> None:
    used = [step["uses"] for step in steps(RELEASE) if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@(v\d+|[0-9a-f]{40})", each)] == []


def test_what_nothing_is_known_of_is_not_released() -> None:
    assert "--strict --require-hashes --disable-pip" in SCRIPTS["audit"]
    assert "requirements.lock requirements.build.lock" in SCRIPTS["audit"]
    assert JOBS["build"]["needs"] == "audit"
    assert JOBS["image"]["needs"] == "build"
    assert JOBS["publish"]["needs"] == ["build", "image"]


def test_nothing_is_installed_without_its_hash() -> None:
    installed = re.findall(r'pip" install (.*)', "\n".join(SCRIPTS.values()))
    assert {line.rpartition(" ")[0] for line in installed} == {"--require-hashes -r"}
    for line in installed:
        lock = text(line.rpartition(" ")[2])
        pins = re.findall(r"^\S+==\S+(?: ; \S.*)? \\\n    --hash=sha256:", lock, re.MULTILINE)
        assert len(pins) == len(re.findall(r"^[a-zA-Z]\S*", lock, re.MULTILINE)) > 0


def test_the_list_of_contents_is_made_from_what_is_installed() -> None:
    assert re.search(r"cyclonedx-py.*\\\n.*--validate .*requirements\.lock$", SCRIPTS["build"], re.MULTILINE)  # fmt: skip
    subjects = [step["with"] for step in JOBS["build"]["steps"] if "attest" in step.get("uses", "")]
    assert {"subject-path": "dist/*"} in subjects
    assert {"subject-path": "dist/*.whl", "sbom-path": "dist/mergebot.cdx.json"} in subjects
