"""`mergebot init`: a first guess that somebody sees before it is written, and an App by one button."""

import html
import json
import re
import subprocess
from pathlib import Path

import pytest
import requests

from tests.support.forge import ForgeProcess
from tests.support.product import COMMAND, clean_environment, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        ("Makefile", "build:\n\ttrue\ntest: build\n\ttrue\n", "make test"),
        ("package.json", '{"scripts": {"test": "vitest"}}', "npm test"),
        ("Cargo.toml", "[package]\n", "cargo test"),
        ("go.mod", "module x\n", "go test ./..."),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "pytest -q"),
    ],
)
def test_the_gate_is_guessed_shown_and_valid(
    tmp_path: Path, file: str, text: str, command: str
) -> None:
    (tmp_path / file).write_text(text)
    done = run("init", "--yes", cwd=tmp_path)
    assert (done.code, f"`{command}`" in done.out) == (0, True)
    assert f'run = "{command}"' in (tmp_path / ".mergebot.toml").read_text()
    assert run("config", "check", cwd=tmp_path).code == 0


def test_nothing_is_written_without_a_yes_a_guess_or_over_what_is_there(tmp_path: Path) -> None:
    nothing = run("init", "--yes", cwd=tmp_path)
    assert (nothing.code, "give one with --run" in nothing.err) == (1, True)
    (tmp_path / "go.mod").write_text("module x\n")
    unanswered = run("init", cwd=tmp_path)
    assert unanswered.code != 0
    assert not (tmp_path / ".mergebot.toml").exists()
    assert run("init", "--run", "make", "--workflows", cwd=tmp_path).code == 0
    assert (tmp_path / ".github/workflows/mergebot-gate.yml").is_file()
    again = run("init", "--run", "true", cwd=tmp_path)
    assert (again.code, "left alone" in again.err) == (1, True)


def test_the_settings_of_the_app_can_be_printed() -> None:
    done = run("init", "--app", "--print", "--public-url", "https://queue.example.org")
    assert "Webhook URL: https://queue.example.org/hooks/github" in done.out
    assert "contents: write" in done.out
    assert "Callback URL: https://queue.example.org/login/back" in done.out


def test_one_button_makes_the_app_and_its_key_opens_the_forge(tmp_path: Path) -> None:
    with ForgeProcess(tmp_path / "forge") as forge:
        settings = {"MERGEBOT_GITHUB_URL": forge.api_url, "BROWSER": "true"}
        flow = subprocess.Popen(
            [COMMAND, "init", "--app", "--public-url", "http://127.0.0.1:9", "--name", "Lander"],
            env=clean_environment() | settings | {"PYTHONUNBUFFERED": "1"}, cwd=tmp_path,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert flow.stdout
        address = re.search(r"http://127\.0\.0\.1:\d+/", flow.stdout.readline())
        assert address
        page = requests.get(address[0], timeout=10).text
        action = html.unescape(re.search(r'action="([^"]+)"', page)[1])  # type: ignore[index]  # a page without a form fails the test
        manifest = html.unescape(re.search(r'value="([^"]+)"', page)[1])  # type: ignore[index]  # as above
        assert json.loads(manifest)["default_permissions"]["contents"] == "write"
        assert json.loads(manifest)["callback_urls"] == ["http://127.0.0.1:9/login/back"]
        deaf = json.dumps(json.loads(manifest) | {"default_events": ["workflow_run"]})
        assert requests.post(action, data={"manifest": deaf}, timeout=10).status_code == 422
        done = requests.post(action, data={"manifest": manifest}, timeout=10)
        told = flow.communicate(timeout=30)[0]
        assert (done.status_code, flow.returncode) == (200, 0)
        assert "MERGEBOT_GITHUB_APP_ID=" in told
        signs_in = re.search(r"MERGEBOT_OAUTH_CLIENT_ID=(Iv23\w+)", told)
        assert signs_in
        query = {"client_id": signs_in[1], "redirect_uri": "http://127.0.0.1:9/login/back"}
        asked = requests.get(f"{forge.url}/login/oauth/authorize", params=query, timeout=10)
        assert (asked.status_code, "Lander" in asked.text) == (200, True)
        key = tmp_path / "lander.private-key.pem"
        assert key.stat().st_mode & 0o777 == 0o600
        assert "PRIVATE KEY" in key.read_text()
    for name in ("webhook", "client"):
        kept = tmp_path / f"lander.{name}-secret"
        assert kept.stat().st_mode & 0o777 == 0o600
        secret = kept.read_text()
        assert len(secret) == 40
        assert secret not in told
