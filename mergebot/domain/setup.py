"""What a repository or a new GitHub App needs: a first guess at the gate, and the App's settings."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

PERMISSIONS = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "workflows": "write",
    "administration": "read",
    "metadata": "read",
}
"""`workflows` only because GitHub refuses pushes of commits that touch workflow files without it;
`administration` only to read branch protection, which `doctor` and early refusals use."""

EVENTS = (
    "pull_request",
    "pull_request_review",
    "issue_comment",
    "push",
    "check_run",
    "check_suite",
    "status",
    "workflow_run",
    "repository",
)
"""`installation` and `installation_repositories` come to every App unasked."""

_TARGET = re.compile(r"^(?P<name>test|check)\s*:(?!=)", re.MULTILINE)
_PLACEHOLDER = "no test specified"


@dataclass(frozen=True, slots=True)
class Guess:
    """A command that seems to be the repository's tests, and the file that says so."""

    run: str
    because: str


def guess_step(files: Mapping[str, str]) -> Guess | None:
    """Return the likeliest gate of a repository, from the files in its top directory."""
    if (target := _TARGET.search(files.get("Makefile", ""))) is not None:
        return Guess(f"make {target['name']}", f"the Makefile has a target {target['name']}")
    if _has_npm_test(files.get("package.json", "")):
        return Guess("npm test", "package.json has a script named test")
    if "Cargo.toml" in files:
        return Guess("cargo test", "there is a Cargo.toml")
    if "go.mod" in files:
        return Guess("go test ./...", "there is a go.mod")
    if _has_pytest(files.get("pyproject.toml", "")):
        return Guess("pytest -q", "pyproject.toml speaks of pytest")
    return None


def _has_npm_test(text: str) -> bool:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return False
    scripts = found.get("scripts") if isinstance(found, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(script, str) and _PLACEHOLDER not in script


def _has_pytest(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return "pytest" in text


def rules_file(guess: Guess) -> str:
    """Return a first `.mergebot.toml`."""
    return (
        "# What must be green on the exact commit that lands; docs/configuration.md has the rest.\n"
        f'[[gate.steps]]\nname = "test"\nrun = {json.dumps(guess.run)}\n'
    )


def manifest(name: str, public_url: str, redirect_url: str) -> dict[str, object]:
    """Return the manifest from which GitHub makes the App; `redirect_url` gets the code back."""
    return {
        "name": name,
        "url": public_url,
        "hook_attributes": {"url": f"{public_url}/hooks/github", "active": True},
        "redirect_url": redirect_url,
        "public": False,
        "default_permissions": PERMISSIONS,
        "default_events": list(EVENTS),
    }


def app_settings(name: str, public_url: str) -> str:
    """Return what to enter by hand where the App is not made from a manifest."""
    permissions = "\n".join(f"    {key}: {level}" for key, level in sorted(PERMISSIONS.items()))
    return (
        f"GitHub App name: {name}\n"
        f"Homepage URL: {public_url}\n"
        f"Webhook URL: {public_url}/hooks/github\n"
        "Webhook secret: the value of MERGEBOT_WEBHOOK_SECRET\n"
        "Webhook content type: application/json\n"
        f"Repository permissions:\n{permissions}\n"
        f"Subscribe to events: {', '.join(EVENTS)}\n"
        "Where can it be installed: only on this account, or any, as you like\n"
    )
