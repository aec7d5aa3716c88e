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
    "statuses": "read",
    "workflows": "write",
    "administration": "read",
    "metadata": "read",
}
"""`statuses` to read what others report on a merged commit; `workflows` only because GitHub refuses pushes of commits that touch workflow files without it;
`administration` only to read branch protection, which `doctor` and early refusals use."""

EVENTS = (
    "pull_request",
    "pull_request_review",
    "issue_comment",
    "push",
    "check_run",
    "check_suite",
    "status",
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


AGENTS_BEGIN = "<!-- mergebot: begin -->"
AGENTS_END = "<!-- mergebot: end -->"
AGENTS = """\
## Landing changes: mergebot

Changes reach the trunk through mergebot's queue alone. `mergebot mcp` offers these steps as tools.

1. Take a task: `mergebot claim next`, or claim the files of your own before you change them:
   `mergebot claim add 'src/auth/**' --task '#12' --branch task-12`. If somebody holds them, take
   another task; never work on files that you did not claim.
2. Work on the branch that the claim names. Need more files? `mergebot claim extend ID docs/x.md`.
3. Before pushing, check the diff (`check_diff`); the pre-push hook refuses what lies outside.
4. Open a pull request whose description has this block, then `mergebot enqueue PR`:

   ```mergebot
   task = "#12"
   claims = ["src/auth/**"]
   ```

5. Wait for `landed` or `ejected` (`wait`, `mergebot show PR --json`). Ejected: do what `next_action`
   says, and queue again only where `may_requeue` is true. Never queue the same head unchanged.
6. Not going to finish? `mergebot claim release ID`. Waiting for a person? `mergebot claim park ID`.
"""


def with_agents_section(text: str) -> str:
    """Return an AGENTS.md or CLAUDE.md with the section in it, once, in place of an older one."""
    section = f"{AGENTS_BEGIN}\n{AGENTS}{AGENTS_END}\n"
    begin, end = text.find(AGENTS_BEGIN), text.find(AGENTS_END)
    if 0 <= begin < end:
        return text[:begin] + section + text[end + len(AGENTS_END) :].removeprefix("\n")
    before = text.rstrip("\n")
    return f"{before}\n\n{section}" if before else section


@dataclass(frozen=True, slots=True)
class NewApp:
    """An App as it was just made; its key and its two secrets are told this once.

    `secret` signs its webhook, and `client_secret` belongs to `client_id`, by which people sign in.
    """

    app_id: int
    slug: str
    key: str
    secret: str
    client_id: str
    client_secret: str


def manifest(name: str, public_url: str, redirect_url: str) -> dict[str, object]:
    """Return the manifest from which GitHub makes the App; `redirect_url` gets the code back."""
    return {
        "name": name,
        "url": public_url,
        "hook_attributes": {"url": f"{public_url}/hooks/github", "active": True},
        "redirect_url": redirect_url,
        "callback_urls": [sign_in_address(public_url)],
        "public": False,
        "default_permissions": PERMISSIONS,
        "default_events": list(EVENTS),
    }


def sign_in_address(public_url: str) -> str:
    """Return where the forge sends people back who sign in to the pages."""
    return f"{public_url}/login/back"


def app_settings(name: str, public_url: str) -> str:
    """Return what to enter by hand where the App is not made from a manifest."""
    permissions = "\n".join(f"    {key}: {level}" for key, level in sorted(PERMISSIONS.items()))
    return (
        f"GitHub App name: {name}\n"
        f"Homepage URL: {public_url}\n"
        f"Callback URL: {sign_in_address(public_url)}\n"
        f"Webhook URL: {public_url}/hooks/github\n"
        "Webhook secret: the value of MERGEBOT_WEBHOOK_SECRET\n"
        "Webhook content type: application/json\n"
        f"Repository permissions:\n{permissions}\n"
        f"Subscribe to events: {', '.join(EVENTS)}\n"
        "Where can it be installed: only on this account, or any, as you like\n"
    )
