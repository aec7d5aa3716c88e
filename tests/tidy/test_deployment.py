"""What the container image, the compose file and the workflows promise."""

import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.tidy.tracked import paths, text

OURS = ("web", "worker", "reconciler")
NAMESPACES_NEED = {"seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"}
UNTRUSTED = re.compile(r"\$\{\{")

compose: dict[str, Any] = yaml.safe_load(text("compose.yaml"))
services: dict[str, dict[str, Any]] = compose["services"]
workflows: dict[str, dict[Any, Any]] = {
    path: yaml.safe_load(text(path)) for path in paths(under="workflows/", ending=".yml")
}


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.*)$", text("Dockerfile"), re.MULTILINE)


def version() -> str:
    return str(tomllib.loads(text("pyproject.toml"))["project"]["version"])


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_image_runs_as_a_user_without_rights() -> None:
    assert instructions("USER") == ["10001:10001"]


def test_the_image_is_built_from_the_pinned_packages() -> None:
    assert "--require-hashes -r requirements.lock" in text("Dockerfile")
    assert "--require-hashes -r requirements.build.lock" in text("Dockerfile")
    assert text("Dockerfile").count("pip install") == 3


def test_the_image_reports_its_health() -> None:
    assert "/healthz" in text("Dockerfile").split("HEALTHCHECK")[1]


def test_every_base_image_has_a_version() -> None:
    named = [line.split()[0] for line in instructions("FROM")]
    named += [service["image"] for service in services.values()]
    assert all(re.search(r":\d+\.\d+", image) for image in named), named


def test_compose_starts_the_parts_and_their_store() -> None:
    assert set(services) == {*OURS, "valkey"}
    assert [services[name]["command"] for name in OURS] == [[name] for name in OURS]


def test_only_the_worker_may_make_namespaces() -> None:
    loosened = {name: NAMESPACES_NEED & set(services[name]["security_opt"]) for name in services}
    assert loosened.pop("worker") == NAMESPACES_NEED
    assert not any(loosened.values())


def test_no_part_has_more_rights_than_it_needs() -> None:
    assert all("no-new-privileges:true" in service["security_opt"] for service in services.values())
    assert all(services[name]["cap_drop"] == ["ALL"] for name in OURS)
    assert all(services[name]["read_only"] is True for name in OURS)
    assert not any("privileged" in service or "cap_add" in service for service in services.values())


def test_the_store_keeps_everything_and_is_reached_from_inside_only() -> None:
    settings = compose["configs"]["valkey"]["content"].splitlines()
    assert {"appendonly yes", "appendfsync always", "maxmemory-policy noeviction"} <= set(settings)
    assert services["valkey"]["networks"] == ["store"]
    assert compose["networks"]["store"] == {"internal": True}
    assert "ports" not in services["valkey"]


def test_what_must_survive_lies_in_named_volumes() -> None:
    assert set(compose["volumes"]) == {"mergebot-home", "valkey-data"}
    assert services["valkey"]["volumes"] == ["valkey-data:/data"]
    assert all("mergebot-home:/var/lib/mergebot" in services[name]["volumes"] for name in OURS)


def test_no_secret_is_written_into_the_compose_file() -> None:
    assert all(services[name]["env_file"] == [".env"] for name in OURS)
    assert (
        re.findall(r"(?:://:|requirepass )(?!\$\{VALKEY_PASSWORD:\?)", text("compose.yaml")) == []
    )


@pytest.mark.parametrize("path", workflows)
def test_a_workflow_may_only_read_and_is_given_no_secret(path: str) -> None:
    assert workflows[path]["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflows[path]["jobs"].values())
    assert "secrets." not in text(path)
    assert "pull_request_target" not in text(path)


@pytest.mark.parametrize("path", workflows)
def test_a_workflow_never_pastes_a_value_into_a_script(path: str) -> None:
    assert [
        step["run"] for step in steps(workflows[path]) if UNTRUSTED.search(step.get("run", ""))
    ] == []


@pytest.mark.parametrize("path", workflows)
def test_a_workflow_uses_actions_by_version_and_leaves_no_token_behind(path: str) -> None:
    used = [step for step in steps(workflows[path]) if "uses" in step]
    assert all(re.fullmatch(r"[\w./-]+@(v\d+|[0-9a-f]{40})", step["uses"]) for step in used)
    assert all(step["with"]["persist-credentials"] is False for step in used)


def test_the_gate_runs_on_trial_branches_only() -> None:
    # YAML 1.1 reads the key `on` as true.
    assert workflows["workflows/mergebot-gate.yml"][True] == {
        "push": {"branches": ["mergebot/trial/**"]}
    }


def test_the_scope_check_never_checks_out_the_pull_request() -> None:
    used = [step for step in steps(workflows["workflows/mergebot-scope.yml"]) if "uses" in step]
    assert [step["with"]["ref"] for step in used] == ["${{ github.event.pull_request.base.sha }}"]


def test_one_version_is_named_everywhere() -> None:
    assert {services[name]["image"] for name in OURS} == {f"mergebot:{version()}"}
    scope = workflows["workflows/mergebot-scope.yml"]["jobs"]["scope"]
    assert scope["env"]["MERGEBOT_VERSION"] == version()
